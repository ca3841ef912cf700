//! Policies of a device that a Python object replaces. They take the decisions for which designs have no
//! extension point.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::wear::{PlaneGroupBlocks, WearLeveller};
use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Bytes, Instant, Seed, Stream};
use wordline_nand::PlaneGroupId;
use wordline_ssd::policy::destage::Destage;

use crate::design_object::DesignObject;
use crate::kind::Decision;
use crate::views::{Arriving, Block, Wearing};

/// Erases of a plane group since its design was last called.
#[derive(Clone, Default, Serialize, Deserialize)]
struct PlaneGroupErases {
    /// Blocks that were erased, in order. Numbers count from 0 in the plane group.
    erased: Vec<u32>,
    /// Whether to call the design again, because a block was erased since it last selected none.
    is_due: bool,
    /// Number of erases for reasons other than wear levelling, minus the number of selected blocks. The
    /// design cannot select more, because a design that always selects a block would keep the device busy
    /// forever.
    left: u32,
    /// Selected blocks that are not erased yet.
    named: BTreeSet<u32>,
}

/// A wear-levelling policy whose decisions a Python object takes.
pub struct Leveller {
    asked: DesignObject,
    rows: Vec<PlaneGroupErases>,
}

impl Leveller {
    /// Creates the policy for a device with this many plane groups.
    pub fn new(asked: DesignObject, rows: u32) -> Self {
        Self { asked, rows: vec![PlaneGroupErases::default(); rows as usize] }
    }
}

impl State for Leveller {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.value("rows", &self.rows)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let rows: Vec<PlaneGroupErases> = from.value("rows")?;
        let (found, wanted) = (rows.len() as u64, self.rows.len() as u64);
        if found != wanted {
            return Err(SnapshotError::WrongLength { found, wanted });
        }
        self.rows = rows;
        Ok(())
    }
}

impl WearLeveller for Leveller {
    fn is_on(&self) -> bool {
        true
    }

    fn erased(&mut self, row: PlaneGroupId, block: u32) {
        let erases = &mut self.rows[row.0 as usize];
        erases.erased.push(block);
        erases.is_due = true;
        if !erases.named.remove(&block) {
            erases.left = erases.left.saturating_add(1);
        }
    }

    fn next(&mut self, blocks: &PlaneGroupBlocks<'_>, random: &mut Stream) -> Option<Range<u32>> {
        let erases = &mut self.rows[blocks.row().0 as usize];
        if !erases.is_due || erases.left == 0 {
            return None;
        }
        let view = Wearing::of(blocks, std::mem::take(&mut erases.erased));
        let first = blocks.block(0).0;
        let named = self.asked.decide(Decision::Wear, view, random, None, |decision| {
            if decision.is_none() {
                return Ok(None);
            }
            let number =
                decision.cast::<Block>().ok().and_then(|block| block.get().number.checked_sub(first));
            let may_move = number.filter(|number| blocks.may_move(*number));
            may_move.map(Some).ok_or("a block of the row whose data may move now, or None")
        });
        let Some(number) = named else {
            erases.is_due = false;
            return None;
        };
        erases.left -= 1;
        erases.named.insert(number);
        Some(number..number + 1)
    }
}

/// State of the admission policy.
#[derive(Clone, Serialize, Deserialize)]
struct AdmissionState {
    random: Stream,
    /// The last page that the object decided on, if it is not written yet, and whether it is destaged at
    /// once.
    waiting: Option<(u32, bool)>,
}

/// A policy for admission to the write buffer, whose decisions a Python object takes.
pub struct Admission {
    asked: DesignObject,
    in_flight: Bytes,
    decisions: Mutex<AdmissionState>,
}

impl Admission {
    /// Creates the policy. Writes wait while more than `in_flight` bytes are in flight to flash.
    pub fn new(asked: DesignObject, in_flight: Bytes) -> Self {
        let random = Seed(0).stream("ssd.destage", 0);
        Self { asked, in_flight, decisions: Mutex::new(AdmissionState { random, waiting: None }) }
    }

    fn decisions(&mut self) -> &mut AdmissionState {
        self.decisions.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State for Admission {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.value("answers", &*self.decisions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        *self.decisions() = from.value("answers")?;
        Ok(())
    }
}

impl Destage for Admission {
    fn in_flight(&self) -> Option<Bytes> {
        Some(self.in_flight)
    }

    fn set_random(&mut self, random: Stream) {
        self.decisions().random = random;
    }

    fn prepare(&mut self, _pages: u32) {
        self.decisions().waiting = None;
    }

    /// Whether a page is destaged at once. Calls the object once for each written page, even if the write has
    /// to wait several times.
    fn leaves(&self, page: LogicalPage, now: Instant) -> bool {
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, leaves)) = decisions.waiting.filter(|(waiting, _)| *waiting == page.0) {
            return leaves;
        }
        let view = Arriving::of(page, now);
        let stays = self.asked.decide(Decision::Admit, view, &mut decisions.random, true, |decision| {
            decision.extract::<bool>().map_err(|_| "True for a page that stays in the buffer, or False")
        });
        decisions.waiting = Some((page.0, !stays));
        !stays
    }

    fn written(&mut self, _page: LogicalPage, _now: Instant) {
        self.decisions().waiting = None;
    }
}
