//! Where the time of commands goes.

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

/// How many components there are.
pub(crate) const COMPONENTS: usize = 11;

/// How many of them are outside of flash: the first ones.
pub(crate) const OUTSIDE: usize = 4;

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
    /// Waiting for the decoder of the error correction, and in it.
    Decoding,
    /// Earlier tries of a read that could not be read: on the bus and in the array, and until the next try could begin.
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

    /// Its name in results.
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

    /// Every component of a command, with the time of those outside of flash: queue, link, controller and buffer.
    pub fn with(&self, outside: [Duration; OUTSIDE]) -> [Duration; COMPONENTS] {
        std::array::from_fn(|part| match part.checked_sub(OUTSIDE) {
            None => outside[part],
            Some(of_flash) => Duration::from_ps(self.0[of_flash]),
        })
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

    /// The times since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            commands: self.commands - earlier.commands,
            spent: std::array::from_fn(|part| self.spent[part] - earlier.spent[part]),
        }
    }
}

/// The commands that bring pages of the host from the buffer to a pool. With it goes the time that writes wait for room
/// in the buffer.
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
    /// Picoseconds of reads and of writes by component.
    pub spent: [[u128; COMPONENTS]; 2],
}

impl Times {
    /// The times since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let component = |kind: usize, part: usize| self.spent[kind][part] - earlier.spent[kind][part];
        Self { spent: std::array::from_fn(|kind| std::array::from_fn(|part| component(kind, part))) }
    }
}
