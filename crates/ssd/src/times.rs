//! Latency breakdown.

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

/// Number of components.
pub(crate) const COMPONENTS: usize = 11;

/// Number of components outside of flash: the first ones.
pub(crate) const OUTSIDE: usize = 4;

/// Components of the time of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Component {
    /// In the queue, because the device executes as many commands as it can.
    Queue,
    /// On the link to the host, and waiting for it.
    Link,
    /// Firmware.
    Controller,
    /// In the buffer: waiting for space, for a program unit to fill, and the access itself.
    Buffer,
    /// L2P lookup of the page. Zero while the whole map is in memory.
    Mapping,
    /// Waiting for a die at garbage collection.
    GcWait,
    /// Waiting for a die at other work.
    DieWait,
    /// Waiting for the channel's bus, and on it.
    Bus,
    /// Array time of a sense or program.
    Array,
    /// Waiting for the ECC decoder, and in it.
    Decoding,
    /// Earlier tries of a read retry: on the bus and in the array, and until the next try could begin.
    Retries,
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
        Self::Decoding,
        Self::Retries,
    ];

    /// Name in results.
    pub fn name(self) -> &'static str {
        [
            "queue",
            "link",
            "controller",
            "buffer",
            "mapping",
            "gc_wait",
            "die_wait",
            "bus",
            "array",
            "decoding",
            "retries",
        ][self as usize]
    }
}

/// Time that one command spent on flash and waiting for it, by component: from [`Component::Mapping`] on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashTime([u64; COMPONENTS - OUTSIDE]);

impl FlashTime {
    /// Sets a component.
    #[inline]
    pub fn set(&mut self, component: Component, time: Duration) {
        self.0[component as usize - OUTSIDE] = time.ps();
    }

    /// Sum of all components.
    #[inline]
    pub fn total(&self) -> Duration {
        Duration::from_ps(self.0.iter().sum())
    }

    /// All components of a command, with the given times outside of flash: queue, link, controller and
    /// buffer.
    pub fn with(&self, outside: [Duration; OUTSIDE]) -> [Duration; COMPONENTS] {
        std::array::from_fn(|part| match part.checked_sub(OUTSIDE) {
            None => outside[part],
            Some(of_flash) => Duration::from_ps(self.0[of_flash]),
        })
    }

    /// Adds the command to the sums of all components, with the given times outside of flash: queue, link,
    /// controller and buffer.
    #[inline]
    pub fn add_to(&self, sums: &mut [u128; COMPONENTS], outside: [Duration; OUTSIDE]) {
        let (outer, of_flash) = sums.split_at_mut(OUTSIDE);
        outer.iter_mut().zip(outside).for_each(|(sum, time)| *sum += u128::from(time.ps()));
        of_flash.iter_mut().zip(self.0).for_each(|(sum, ps)| *sum += u128::from(ps));
    }
}

/// Times of chip commands since they were queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTimes {
    /// Number of commands.
    pub commands: u64,
    spent: [u128; COMPONENTS - OUTSIDE],
}

impl CommandTimes {
    /// Adds a command.
    #[inline]
    pub fn add(&mut self, spent: &FlashTime) {
        self.commands += 1;
        self.spent.iter_mut().zip(spent.0).for_each(|(sum, ps)| *sum += u128::from(ps));
    }

    /// Mean of a component, in microseconds; 0 without commands, and for components outside of flash.
    pub fn mean_us(&self, component: Component) -> f64 {
        let sum = (component as usize).checked_sub(OUTSIDE).map_or(0, |part| self.spent[part]);
        sum as f64 / 1e6 / self.commands.max(1) as f64
    }

    /// Times since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            spent: std::array::from_fn(|part| self.spent[part] - earlier.spent[part]),
        }
    }
}

/// Times of the commands that write host pages back from the buffer to a pool. They determine how long writes
/// wait for space in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteBack {
    /// RMW reads from the pool: of the rest of a page, or of a unit that is programmed as a whole.
    pub fills: CommandTimes,
    /// Programs in the pool.
    pub programs: CommandTimes,
}

/// Latency breakdown of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Time of reads and of writes by component, in picoseconds.
    pub spent: [[u128; COMPONENTS]; 2],
}

impl Times {
    /// Times since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let component = |kind: usize, part: usize| self.spent[kind][part] - earlier.spent[kind][part];
        Self { spent: std::array::from_fn(|kind| std::array::from_fn(|part| component(kind, part))) }
    }
}
