//! Pools of other parts beside the first one, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_nand::{Pool, Pools, Slots};

/// A pool of dies beside the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// The NAND part.
    pub part: PartFile,
    /// How many dies there are, and on how many channels.
    pub layout: Layout,
    /// Which channels these are.
    #[serde(default)]
    pub channels: ChannelsFile,
}

/// The channels of a pool beside the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelsFile {
    /// Those of the first pool, from the first one on.
    #[default]
    Shared,
    /// Channels of its own.
    Dedicated,
}

/// The pools with those of `files`; none if something is wrong with one of them.
pub fn add(files: &[PoolFile], mut pools: Pools, unit: Bytes, wrong: &mut Complaints) -> Option<Pools> {
    let mut sound = true;
    for (n, file) in files.iter().enumerate() {
        match check(file, &pools, unit) {
            Ok(pool) => {
                let channel = if file.channels == ChannelsFile::Dedicated { pools.channels() } else { 0 };
                pools.add(pool, channel);
            }
            Err(inner) => {
                wrong.nest(&format!("pools[{n}]"), inner);
                sound = false;
            }
        }
    }
    let slots: u64 = pools.iter().map(|pool| u64::from(pool.slots.count())).sum();
    wrong.require(
        slots < 1 << 31,
        "pools",
        format!("{slots} mapping units in all"),
        "fewer than 2^31 mapping units: take fewer dies or a larger ftl.mapping.unit",
    );
    (sound && slots < 1 << 31).then_some(pools)
}

fn check(file: &PoolFile, pools: &Pools, unit: Bytes) -> Result<Pool, Complaints> {
    let mut wrong = Complaints::default();
    let part = file.part.clone().check().map_err(|inner| wrong.nest("part", inner)).ok();
    let geometry = part
        .as_ref()
        .and_then(|part| file.layout.check(part).map_err(|inner| wrong.nest("layout", inner)).ok());
    let (Some(part), Some(geometry)) = (part, geometry) else { return Err(wrong) };
    let of_first = pools.first().geometry.channels;
    wrong.require(
        file.channels == ChannelsFile::Dedicated || geometry.channels <= of_first,
        "layout.channels",
        geometry.channels,
        format!("at most the {of_first} channels of the first pool, which it shares"),
    );
    let slots = Slots::of_size(&geometry, unit);
    wrong.require(
        slots.is_some(),
        "part",
        format!("pages of {}", geometry.page_size),
        format!(
            "pages that divide into mapping units of {unit}, or program units that are a multiple of one"
        ),
    );
    let Some(slots) = slots else { return Err(wrong) };
    wrong.or_ok(Pool { part, geometry, slots })
}
