//! Memory that the simulator needs for a device, and that the machine has.

use wordline_device::block_device::Shape;
use wordline_kernel::Bytes;

use crate::config::explain::human;
use crate::devices::ChipsInfo;
use crate::error::{Error, Result};

/// Bytes of the entry of a logical page, and of a mapping unit of flash, while
/// [few pages have many versions](wordline_kernel::Pairs).
pub(crate) const ENTRY: u64 = 5;

/// Memory for the entries of all logical pages and mapping units. Each mapping unit also has a valid bit.
pub(crate) fn tables(shape: &Shape, chips: &[ChipsInfo]) -> Bytes {
    let unit = shape.logical_page.0;
    let flash: u64 = chips.iter().map(|chips| chips.bytes / unit).sum();
    Bytes(ENTRY * (shape.capacity.0 / unit + flash) + flash / 8)
}

/// Checks that this memory is free.
///
/// # Errors
/// [`Error::Argument`] with both sizes.
pub(crate) fn check(needed: Bytes, free: Option<Bytes>) -> Result<()> {
    match free {
        Some(free) if needed > free => Err(Error::Argument {
            what: "memory for the device".into(),
            found: format!("{} needed", human(needed)),
            wanted: format!(
                "at most the {} that are free; scale the device down (`part.geometry.blocks_per_plane`), or \
                 choose a larger mapping unit (`ftl.mapping.unit`)",
                human(free)
            ),
        }),
        _ => Ok(()),
    }
}

/// Memory that is free on this machine, and in the control group of the process; `None` if unknown.
pub(crate) fn free() -> Option<Bytes> {
    let number =
        |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok();
    let of_group = number("memory.max").zip(number("memory.current"));
    let of_group = of_group.map(|(most, used): (u64, u64)| Bytes(most.saturating_sub(used)));
    [of_machine("MemAvailable"), of_group].into_iter().flatten().min()
}

/// A field of `/proc/meminfo`, such as `MemTotal`. `None` on other systems than Linux.
pub fn of_machine(field: &str) -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kibibytes = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::kib(kibibytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    #[test]
    fn a_device_that_does_not_fit_is_refused_with_both_sizes() {
        assert!(check(gib(4), Some(gib(4))).is_ok());
        assert!(check(gib(4), None).is_ok());
        let error = check(gib(5), Some(gib(4))).expect_err("1 GiB too few").to_string();
        assert_eq!(
            error,
            "memory for the device: found 5.00 GiB needed, wanted at most the 4.00 GiB that are free; scale the \
             device down (`part.geometry.blocks_per_plane`), or choose a larger mapping unit (`ftl.mapping.unit`)"
        );
    }

    #[test]
    fn an_array_needs_the_memory_of_its_members() {
        let needed = |preset| Device::preset(preset).expect("a preset").configured.memory().0;
        assert_eq!(needed("raid5-tlc"), 4 * needed("ressd-baseline"));
    }
}
