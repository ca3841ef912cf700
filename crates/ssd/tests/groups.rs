//! Victims by the stream that wrote a block, as designs with groups of blocks select them.

use std::sync::{Arc, Mutex};

use wordline_ftl::Design;
use wordline_ftl::design::{Combination, DeviceEvent, EventMask, ExtensionPoint, Needs, OpenedBy, View};
use wordline_ftl::policy::victim::Candidates;
use wordline_kernel::state;
use wordline_nand::{BlockSetId, PlaneGroupId};
use wordline_ssd::contract;

use crate::common::small;
use crate::designs::{overwrite, rig};

/// Design that collects blocks of relocated pages only while they have few valid pages, because these pages are
/// rarely written. It records the stream of each block when it is opened, and compares it with the view.
struct ByGroup {
    opened: Vec<Option<OpenedBy>>,
    /// Victims with host pages and with relocated pages.
    victims: Arc<Mutex<[u64; 2]>>,
}

state!(ByGroup { values { opened } fixed { victims } });

impl ByGroup {
    fn boxed(victims: &Arc<Mutex<[u64; 2]>>) -> Box<dyn Design> {
        Box::new(Self { opened: Vec::new(), victims: victims.clone() })
    }
}

impl Design for ByGroup {
    fn name(&self) -> &'static str {
        "by-group"
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::BLOCKS | EventMask::POWER_LOST, ..Needs::of(&[ExtensionPoint::Victim]) }
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, _: &mut View<'_>) {
        match *seen {
            DeviceEvent::Opened { block, by, .. } => {
                let block = block.0 as usize;
                self.opened.resize(self.opened.len().max(block + 1), None);
                self.opened[block] = Some(by);
            }
            DeviceEvent::PowerLost => self.opened.clear(),
            _ => {}
        }
    }

    fn victim(&mut self, from: Candidates<'_>, _: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
        let few = from.pages_per_block() / 4;
        let is_relocated = |block: BlockSetId| {
            let by = view.block(block).opened_by;
            let noted = self.opened.get(block.0 as usize).copied().flatten();
            assert!(noted.is_none_or(|noted| noted == by), "{block:?}: {noted:?} at its opening, now {by:?}");
            by.gc().is_some()
        };
        let wanted = |block: &BlockSetId| from.valid(*block) <= few || !is_relocated(*block);
        let victim = from.fewest_first().find(wanted).or_else(|| from.fewest_first().next())?;
        self.victims.lock().expect("no test fails with the lock")[usize::from(is_relocated(victim))] += 1;
        Some(victim)
    }
}

#[test]
fn a_design_selects_victims_by_the_streams_that_opened_their_blocks() {
    let victims = Arc::default();
    let mut rig = rig(&small(), Combination::of(vec![ByGroup::boxed(&victims)]));
    overwrite(&mut rig, 6_000);
    let [host, relocated] = *victims.lock().expect("no test fails with the lock");
    assert!(host > relocated && relocated > 0, "{host} victims with host pages, {relocated} others");
    contract::check(&contract::small(), |_| ByGroup::boxed(&victims));
}
