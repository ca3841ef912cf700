//! Memory that the simulator needs for a device, and that the machine has.

use wordline_device::block_device::Shape;
use wordline_kernel::{Bytes, pairs};
use wordline_run::{Precondition, Start};
use wordline_ssd::Config;

use crate::config::explain::human;
use crate::devices::ChipsInfo;
use crate::error::{Error, Result};

/// Bytes of the entry of a logical page, and of a mapping unit of flash, while
/// [few pages have many versions](wordline_kernel::Pairs).
const ENTRY: u64 = pairs::ENTRY as u64;

/// Memory of the tables of an SSD.
pub(crate) struct Memory {
    pub(crate) map: Bytes,
    pub(crate) tags: Bytes,
    pub(crate) blocks: Bytes,
    pub(crate) cache: Bytes,
}

impl Memory {
    /// Memory of the tables of an SSD. The map has the location and the versions of each logical page. The data
    /// tag of a mapping unit is beside a valid bit. A block takes 32 B (counters, state and list links, rounded
    /// up). A cache entry has the page, two lists, and a slot in a half-full table, rounded up.
    pub(crate) fn of_ssd(config: &Config) -> Self {
        let (pages, units) = (u64::from(config.ftl.mapped_pages()), u64::from(config.ftl.pools.locations()));
        let cache = config.ftl.map_cache();
        Self {
            map: Bytes(ENTRY * pages),
            tags: Bytes(ENTRY * units + units / 8),
            blocks: Bytes(32 * u64::from(config.ftl.pools.block_sets())),
            cache: cache
                .map_or(Bytes(0), |size| Bytes(56 * u64::from(size.entries) + 28 * u64::from(size.tables))),
        }
    }

    /// All tables together.
    pub(crate) fn sum(&self) -> Bytes {
        self.map + self.tags + self.blocks + self.cache
    }
}

/// Memory for the entries of all logical pages and mapping units. Each mapping unit also has a valid bit.
pub(crate) fn tables(shape: &Shape, chips: &[ChipsInfo]) -> Bytes {
    let unit = shape.logical_page.0;
    let flash: u64 = chips.iter().map(|chips| chips.bytes / unit).sum();
    Bytes(ENTRY * (shape.capacity.0 / unit + flash) + flash / 8)
}

/// Checks that there is so much memory for a device that begins like this.
///
/// # Errors
/// [`Error::Argument`] with both sizes.
pub(crate) fn check(needed: Bytes, start: &Start) -> Result<()> {
    fits(needed, for_start(start))
}

fn fits(needed: Bytes, most: Option<Bytes>) -> Result<()> {
    match most {
        Some(most) if needed > most => Err(Error::Argument {
            what: "memory for the device".into(),
            found: format!("{} needed", human(needed)),
            wanted: format!(
                "at most the {} that there are; scale the device down (`part.geometry.blocks_per_plane`), or \
                 choose a larger mapping unit (`ftl.mapping.unit`)",
                human(most)
            ),
        }),
        _ => Ok(()),
    }
}

/// Memory for a device that begins like this. The tables of an empty device take memory as they are written, so
/// that they may be as large as the machine's memory.
fn for_start(start: &Start) -> Option<Bytes> {
    match start {
        Start::Preconditioned(Precondition::Empty) => of_machine("MemTotal"),
        _ => free(),
    }
}

/// Memory that is free on this machine, and in the control group of the process; `None` if unknown.
fn free() -> Option<Bytes> {
    let file = |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let of_group = file("memory.max").zip(file("memory.stat")).and_then(|(most, used)| left(&most, &used));
    [of_machine("MemAvailable"), of_group].into_iter().flatten().min()
}

/// Rest of the memory of a control group, by its files `memory.max` and `memory.stat`. Cached files are not used
/// memory: they give way.
fn left(most: &str, used: &str) -> Option<Bytes> {
    let most: u64 = most.trim().parse().ok()?;
    let used: u64 = used.lines().find_map(|line| line.strip_prefix("anon "))?.trim().parse().ok()?;
    Some(Bytes(most.saturating_sub(used)))
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
        assert!(fits(gib(4), Some(gib(4))).is_ok());
        assert!(fits(gib(4), None).is_ok());
        let error = fits(gib(5), Some(gib(4))).expect_err("1 GiB too few").to_string();
        assert_eq!(
            error,
            "memory for the device: found 5.00 GiB needed, wanted at most the 4.00 GiB that there are; scale the \
             device down (`part.geometry.blocks_per_plane`), or choose a larger mapping unit (`ftl.mapping.unit`)"
        );
    }

    #[test]
    fn cached_files_of_a_control_group_are_free() {
        let used = "anon 1000\nfile 900000\nkernel 10\n";
        assert_eq!(left("1000000\n", used), Some(Bytes(999_000)));
        assert_eq!(left("max\n", used), None, "no limit");
        assert_eq!(left("500\n", used), Some(Bytes(0)));
    }

    #[test]
    fn an_array_needs_the_memory_of_its_members() {
        let needed = |preset| Device::preset(preset).expect("a preset").configured.memory().0;
        assert_eq!(needed("raid5-tlc"), 4 * needed("ressd-baseline"));
    }
}
