//! Rules for failed reads, for all oracles. A read may fail if some of its data are lost, if another command
//! changed its data at the same time, or if the device rejects all commands.

use wordline_device::{Command, Completion, Operation};
use wordline_ftl::Sectors;
use wordline_ftl::map::LogicalPage;
use wordline_ssd::device::Device;

/// Outstanding command. `first` is its first sector, counted within the device.
#[derive(Clone, Debug)]
struct Pending {
    begun: u64,
    first: u64,
    command: Command,
}

impl Pending {
    fn covers(&self, sector: u64) -> bool {
        (self.first..self.first + self.command.sectors).contains(&sector)
    }

    fn reads(&self) -> bool {
        matches!(self.command.operation, Operation::Read | Operation::Compare)
    }
}

/// Log of the outstanding commands that change data.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    now: u64,
    pending: Vec<Pending>,
    /// Completed changes, with the time of their completion, that overlapped a read which is still
    /// outstanding.
    over: Vec<(u64, Pending)>,
}

impl UnderWay {
    /// Records the submission of a command. `first` is its first sector, counted within the device.
    pub fn on_submit(&mut self, command: Command, first: u64) {
        self.now += 1;
        self.pending.push(Pending { begun: self.now, first, command });
    }

    /// Records a completion, and checks that a failed read was allowed to fail. Ignores commands that were
    /// not recorded.
    pub fn completed(&mut self, completion: &Completion, is_lost: impl Fn(u64) -> bool, refuses: bool) {
        self.now += 1;
        let Some(at) = self.pending.iter().position(|pending| pending.command == completion.command) else {
            return;
        };
        let pending = self.pending.remove(at);
        if pending.reads() {
            let changed = |sector: u64| {
                let over =
                    self.over.iter().filter(|(over, _)| *over > pending.begun).map(|(_, change)| change);
                let mut changes = over.chain(self.pending.iter().filter(|other| !other.reads()));
                changes.any(|change| change.covers(sector))
            };
            let mut all = pending.first..pending.first + pending.command.sectors;
            // A compare with a version other than the latest must fail.
            let differs = pending.command.expected != 0;
            let may_fail = refuses || differs || all.any(|sector| is_lost(sector) || changed(sector));
            assert!(may_fail || !completion.failed, "nothing of a read that failed is lost: {completion:?}");
        } else {
            self.over.push((self.now, pending));
        }
        let oldest = self.pending.iter().filter(|pending| pending.reads()).map(|pending| pending.begun).min();
        self.over.retain(|(over, _)| oldest.is_some_and(|oldest| *over > oldest));
    }

    /// Drops all outstanding commands, at a power loss.
    pub fn loses_power(&mut self) {
        self.pending.clear();
        self.over.clear();
    }
}

/// Whether a sector, counted within the device, is lost.
pub fn is_lost(device: &Device, sector: u64) -> bool {
    let per_page = device.config().ftl.unit.0 / 512;
    let at = (sector % per_page) as u32;
    device.map().lost_sectors(LogicalPage((sector / per_page) as u32)).covers(Sectors::range(at, at + 1))
}
