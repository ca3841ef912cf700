//! What a device counts.

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

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

/// What a device counted since it was made, in logical pages where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Pages of flash read for the host.
    pub host_reads: u64,
    /// Pages of flash read to complete partly written ones.
    pub fill_reads: u64,
    /// Pages of flash read ahead of the host.
    pub read_ahead_reads: u64,
    /// Pages of flash read by the collector.
    pub gc_reads: u64,
    /// Pages programmed for the host.
    pub host_programs: u64,
    /// Pages among those that were programmed in SLC mode.
    pub slc_programs: u64,
    /// Pages among those of the host that went to another row than their home.
    pub programs_away: u64,
    /// Pages programmed because they are of a unit that is programmed as a whole, and others of it were written.
    pub unit_programs: u64,
    /// Pages programmed by the collector.
    pub gc_programs: u64,
    /// Pages among those that came out of the SLC cache.
    pub folded: u64,
    /// Pages among those of the collector that were moved inside the chip.
    pub gc_copied: u64,
    /// Translation pages programmed because they changed; those that the collector moved are among its pages.
    pub translation_programs: u64,
    /// Pages of flash read for translation pages.
    pub translation_reads: u64,
    /// Look-ups that found the place of a page in memory, where only a part of the map is there.
    pub map_hits: u64,
    /// Look-ups that did not.
    pub map_misses: u64,
    /// Pages programmed with nothing in them.
    pub padding: u64,
    /// Row blocks erased.
    pub erases: u64,
    /// Program commands that failed.
    pub program_failures: u64,
    /// Erase commands that failed.
    pub erase_failures: u64,
    /// Read commands that were tried again because some of their pages could not be read.
    pub read_retries: u64,
    /// Flash pages that no retry read.
    pub unreadable_pages: u64,
    /// Logical pages of which something was lost.
    pub lost_pages: u64,
    /// Row blocks that were put out of use since the device was new.
    pub grown_bad_blocks: u64,
    /// Dies that are lost.
    pub dead_dies: u32,
    /// Pages that reads found in the buffer, or never written.
    pub reads_without_flash: u64,
    /// Pages that reads found in the read cache or on their way into it, of those without flash.
    pub read_cache_hits: u64,
    /// Logical pages that were fetched ahead.
    pub read_ahead_pages: u64,
    /// Logical pages that were fetched ahead and then read by the host.
    pub read_ahead_used: u64,
    /// Page writes that merged with one in the buffer.
    pub merged_writes: u64,
    /// Picoseconds that finished commands of the chips spent on the bus and in the array.
    pub served_ps: u128,
    /// Picoseconds of reads and of writes by component.
    pub spent: [[u128; COMPONENTS]; 2],
}

/// The differences of two totals, field by field.
macro_rules! differences {
    ($later:ident - $earlier:ident: $($field:ident),*; $spent:ident) => {
        Totals {
            $($field: $later.$field.saturating_sub($earlier.$field),)*
            $spent: std::array::from_fn(|kind| {
                std::array::from_fn(|part| $later.$spent[kind][part] - $earlier.$spent[kind][part])
            }),
        }
    };
}

impl Totals {
    /// What was counted since `earlier`; nothing where a power cut took more back than was counted.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        differences!(
            self - earlier:
            host_reads, fill_reads, read_ahead_reads, gc_reads, host_programs, gc_programs, gc_copied,
            translation_programs, translation_reads, map_hits, map_misses, padding, erases, program_failures,
            erase_failures, read_retries, unreadable_pages, lost_pages, grown_bad_blocks, dead_dies,
            reads_without_flash, read_cache_hits, read_ahead_pages, read_ahead_used, merged_writes, served_ps,
            folded, programs_away, slc_programs, unit_programs;
            spent
        )
    }
}
