//! Latency breakdown.

use serde::{Deserialize, Serialize};
use wordline_flash::{FLASH_COMPONENTS, FlashComponent, FlashTime};
use wordline_kernel::Duration;

/// Number of components.
pub const COMPONENTS: usize = OUTSIDE + FLASH_COMPONENTS;

/// Number of components outside the flash. They come first.
pub const OUTSIDE: usize = 4;

/// Components of the time of a command. Those after [`Component::Buffer`] are the
/// [components of its flash command](FlashComponent), in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Component {
    /// Waiting in the queue, because the device already executes as many commands as it can.
    Queue,
    /// Waiting for the host link, and using it.
    Link,
    /// Firmware.
    Controller,
    /// In the buffer: waiting for space, waiting until a program unit is full, and the access itself.
    Buffer,
    /// L2P lookup of the page. Zero while the whole map is in memory.
    Mapping,
    /// Waiting for a die that is busy with garbage collection.
    GcWait,
    /// Waiting for a die that is busy with other work.
    DieWait,
    /// Waiting for the channel's bus, and using it.
    Bus,
    /// Array time of a sense or program.
    Array,
    /// Waiting for the ECC decoder, and using it.
    Decoding,
    /// Earlier tries of a read retry: bus and array time.
    Retries,
}

const _: () = {
    assert!(Component::Mapping as usize == OUTSIDE + FlashComponent::Mapping as usize);
    assert!(Component::GcWait as usize == OUTSIDE + FlashComponent::GcWait as usize);
    assert!(Component::DieWait as usize == OUTSIDE + FlashComponent::DieWait as usize);
    assert!(Component::Bus as usize == OUTSIDE + FlashComponent::Bus as usize);
    assert!(Component::Array as usize == OUTSIDE + FlashComponent::Array as usize);
    assert!(Component::Decoding as usize == OUTSIDE + FlashComponent::Decoding as usize);
    assert!(Component::Retries as usize == OUTSIDE + FlashComponent::Retries as usize);
};

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

/// All components of a command: `outside` has the times in the queue, on the link, in the controller and in
/// the buffer, and `spent` the times of its flash command.
pub fn with_outside(spent: &FlashTime, outside: [Duration; OUTSIDE]) -> [Duration; COMPONENTS] {
    std::array::from_fn(|part| match part.checked_sub(OUTSIDE) {
        None => outside[part],
        Some(of_flash) => Duration::from_ps(spent.ps()[of_flash]),
    })
}

/// Adds all components of a command to `sums`; the arguments are as in [`with_outside`].
#[inline]
pub fn add_to(sums: &mut [u128; COMPONENTS], spent: &FlashTime, outside: [Duration; OUTSIDE]) {
    let (outer, of_flash) = sums.split_at_mut(OUTSIDE);
    outer.iter_mut().zip(outside).for_each(|(sum, time)| *sum += u128::from(time.ps()));
    of_flash.iter_mut().zip(spent.ps()).for_each(|(sum, ps)| *sum += u128::from(*ps));
}

/// Latency breakdown of chip commands, from the time they were queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTimes {
    /// Number of commands.
    pub commands: u64,
    spent: [u128; FLASH_COMPONENTS],
}

impl CommandTimes {
    /// Adds a command.
    #[inline]
    pub fn add(&mut self, spent: &FlashTime) {
        self.commands += 1;
        self.spent.iter_mut().zip(spent.ps()).for_each(|(sum, ps)| *sum += u128::from(*ps));
    }

    /// Mean of a component in microseconds. It is 0 without commands, and for components outside the flash.
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

/// Latency breakdown of the commands that destage pages from the buffer to a pool. They determine how long
/// writes wait for space in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteBack {
    /// RMW reads from the pool. They read the rest of a page, or the rest of a unit that is programmed as a
    /// whole.
    pub fills: CommandTimes,
    /// Programs in the pool.
    pub programs: CommandTimes,
}

/// Latency breakdown of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Time of reads and of writes, by component, in picoseconds.
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
