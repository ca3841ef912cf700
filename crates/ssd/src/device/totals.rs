//! What a device counts.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, counters};

/// How many components there are.
const COMPONENTS: usize = 9;

/// How many of them are outside of flash: the first ones.
const OUTSIDE: usize = 4;

/// Where the time of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Component {
    /// In the queue, because the device works on as many commands as it can.
    Queue,
    /// On the link to the host, and waiting for it.
    Link,
    /// Firmware.
    Controller,
    /// In the buffer: waiting for room, for a program unit to fill, and the access itself.
    Buffer,
    /// Looking up where the page is. Zero while the whole map is in memory.
    Mapping,
    /// Waiting for a die that collects garbage.
    GcWait,
    /// Waiting for a die that does something else.
    DieWait,
    /// Waiting for the channel's bus, and on it.
    Bus,
    /// While the array senses or programs.
    Array,
}

impl Component {
    /// All components.
    pub const ALL: [Self; COMPONENTS] = [
        Self::Queue,
        Self::Link,
        Self::Controller,
        Self::Buffer,
        Self::Mapping,
        Self::GcWait,
        Self::DieWait,
        Self::Bus,
        Self::Array,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        ["queue", "link", "controller", "buffer", "mapping", "gc_wait", "die_wait", "bus", "array"]
            [self as usize]
    }
}

/// The time that one command spent on flash and waiting for it, by component: from [`Component::Mapping`] on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent([u64; COMPONENTS - OUTSIDE]);

impl Spent {
    /// Sets a component.
    #[inline]
    pub fn set(&mut self, component: Component, time: Duration) {
        self.0[component as usize - OUTSIDE] = time.ps();
    }

    /// All components together.
    #[inline]
    pub fn total(&self) -> Duration {
        Duration::from_ps(self.0.iter().sum())
    }

    /// Adds it to the sums of all components, with the time of the others: queue, link, controller and buffer.
    #[inline]
    pub fn add_to(&self, sums: &mut [u128; COMPONENTS], outside: [Duration; OUTSIDE]) {
        let (outer, of_flash) = sums.split_at_mut(OUTSIDE);
        outer.iter_mut().zip(outside).for_each(|(sum, time)| *sum += u128::from(time.ps()));
        of_flash.iter_mut().zip(self.0).for_each(|(sum, ps)| *sum += u128::from(ps));
    }
}

/// Commands of the chips, and where their time went since they were queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTimes {
    /// How many there were.
    pub commands: u64,
    spent: [u128; COMPONENTS - OUTSIDE],
}

impl CommandTimes {
    /// Adds a command.
    #[inline]
    pub fn add(&mut self, spent: &Spent) {
        self.commands += 1;
        self.spent.iter_mut().zip(spent.0).for_each(|(sum, ps)| *sum += u128::from(ps));
    }

    /// The mean of a component, in microseconds; 0 without any command, and of those outside of flash.
    pub fn mean_us(&self, component: Component) -> f64 {
        let sum = (component as usize).checked_sub(OUTSIDE).map_or(0, |part| self.spent[part]);
        sum as f64 / 1e6 / self.commands.max(1) as f64
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            spent: std::array::from_fn(|part| self.spent[part] - earlier.spent[part]),
        }
    }
}

/// What takes pages of the host from the buffer to a pool. With it goes the time that writes wait for room in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteBack {
    /// Reads from the pool of the rest of a page, or of a unit that is programmed as a whole.
    pub fills: CommandTimes,
    /// Programs in the pool.
    pub programs: CommandTimes,
}

/// Where the time of commands went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Picoseconds that finished commands of the chips spent on the bus and in the array.
    pub served_ps: u128,
    /// Picoseconds of reads and of writes by component.
    pub spent: [[u128; COMPONENTS]; 2],
}

impl Times {
    /// Adds those of another device.
    pub fn add(&mut self, other: &Self) {
        self.served_ps += other.served_ps;
        let sums = self.spent.iter_mut().flatten();
        sums.zip(other.spent.iter().flatten()).for_each(|(sum, ps)| *sum += ps);
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let component = |kind: usize, part: usize| self.spent[kind][part] - earlier.spent[kind][part];
        Self {
            served_ps: self.served_ps.saturating_sub(earlier.served_ps),
            spent: std::array::from_fn(|kind| std::array::from_fn(|part| component(kind, part))),
        }
    }
}

counters! {
    /// What a device counted since it was made.
    pub struct Totals {
        host_reads: "flash.host_reads", LogicalPages, "Logical pages read for the host.";
        fill_reads: "flash.fill_reads", LogicalPages, "Pages read to complete a partial write (read-modify-write).";
        read_ahead_reads: "flash.read_ahead_reads", LogicalPages, "Logical pages read ahead of the host.";
        gc_reads: "flash.gc_reads", LogicalPages, "Pages read by garbage collection.";
        host_programs: "flash.host_programs", LogicalPages, "Logical pages (mapping units) programmed for the host.";
        slc_programs: "flash.slc_programs", LogicalPages, "Logical pages among those of the host that were programmed in SLC mode.";
        programs_away: "flash.programs_away", LogicalPages, "Logical pages that went to another row of planes than their home.";
        unit_programs: "flash.unit_programs", LogicalPages, "Logical pages programmed because others of their unit were written, in a pool that is mapped by whole units.";
        gc_programs: "flash.gc_programs", LogicalPages, "Logical pages (mapping units) programmed by garbage collection.";
        folded: "flash.folded", LogicalPages, "Logical pages among those of garbage collection that came out of the SLC cache.";
        gc_copied: "flash.gc_copied", LogicalPages, "Logical pages among those of garbage collection that were moved inside their chip.";
        translation_programs: "flash.translation_programs", LogicalPages, "Translation pages programmed because they changed; those that were moved are among the collector's pages.";
        translation_reads: "flash.translation_reads", LogicalPages, "Pages read for translation pages.";
        map_hits: "flash.map_hits", Count, "Look-ups of the map that found the place of a page in memory; 0 where the whole map is there.";
        map_misses: "flash.map_misses", Count, "Look-ups that did not.";
        padding: "flash.padding", LogicalPages, "Room for logical pages programmed without data, to complete a program unit.";
        erases: "flash.block_set_erases", BlockSets, "Erases; blocks that are erased together count as one.";
        program_failures: "faults.program_failures", Count, "Program commands that failed.";
        erase_failures: "faults.erase_failures", Count, "Erase commands that failed.";
        read_retries: "faults.read_retries", Count, "Reads that were tried again because pages could not be read.";
        unreadable_pages: "faults.unreadable_pages", Pages, "Flash pages that no retry read.";
        lost_pages: "faults.lost_pages", LogicalPages, "Logical pages of which something was lost.";
        grown_bad_blocks: "faults.grown_bad_block_sets", BlockSets, "Blocks that went out of use during the run; those that are erased together count as one.";
        dead_dies: "faults.dead_dies", Count, "Dies that were lost.";
        reads_without_flash: "buffer.reads_without_flash", LogicalPages, "Pages that reads found in write buffer or read cache, or never written.";
        read_cache_hits: "buffer.read_cache_hits", LogicalPages, "Those that were in the read cache or on their way into it.";
        read_ahead_pages: "buffer.read_ahead_pages", LogicalPages, "Pages fetched ahead of reads.";
        read_ahead_used: "buffer.read_ahead_used", LogicalPages, "Those that the host then read.";
        merged_writes: "buffer.merged_writes", LogicalPages, "Page writes that merged with one that waited.";
    }
    beside {
        /// Where the time of commands went.
        times: Times;
    }
}
