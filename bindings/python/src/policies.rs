//! Policies of a device that a Python object replaces: designs in Rust do not make these decisions.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Bytes, Instant, Seed, Stream};
use wordline_nand::PlaneGroupId;
use wordline_ssd::map::LogicalPage;
use wordline_ssd::policy::destage::Destage;
use wordline_ssd::policy::wear::{PlaneGroupBlocks, WearLeveller};

use crate::design_object::DesignObject;
use crate::kind::Decision;
use crate::views::{Arriving, Block, Wearing};

/// Erases of a plane group since its design was last consulted.
#[derive(Clone, Default, Serialize, Deserialize)]
struct PlaneGroupErases {
    /// Blocks that were erased, counted from 0 in the plane group, in order.
    erased: Vec<u32>,
    /// Whether it is to be consulted again: something was erased since it last selected no block.
    is_due: bool,
    /// Erases for reasons other than wear levelling, minus the blocks selected. It selects no more than that:
    /// otherwise a design that always selects a block would keep the device busy forever.
    left: u32,
    /// Blocks that were selected and are not yet erased.
    named: BTreeSet<u32>,
}

/// Wear levelling by a Python object.
pub struct Leveller {
    asked: DesignObject,
    rows: Vec<PlaneGroupErases>,
}

impl Leveller {
    /// Creates it for a device with this many plane groups.
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

/// Decisions of a Python object about pages that arrive at the write buffer.
#[derive(Clone, Serialize, Deserialize)]
struct AdmissionState {
    random: Stream,
    /// Page that it decided on and that is not yet written, and whether it is destaged at once.
    waiting: Option<(u32, bool)>,
}

/// Admission to the write buffer by a Python object.
pub struct Admission {
    asked: DesignObject,
    in_flight: Bytes,
    decisions: Mutex<AdmissionState>,
}

impl Admission {
    /// Creates it with this upper bound on bytes in flight.
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

    /// Consulted once for each page written, however often the write has to wait.
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
