//! Power-loss protection of the buffer: how many of its pages the capacitors can bring to flash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Energy, Power};
use wordline_nand::{Pool, Pools};

/// Whether written pages in the buffer survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// No written page in the buffer survives. Flushes and FUA writes wait until the data are in flash.
    None,
    /// All written pages survive. Flushes and FUA writes complete from the buffer at once.
    Full,
    /// All written pages survive, because the buffer accepts no more of them than `buffer.capacitors` can
    /// bring to flash. Flushes and FUA writes complete from the buffer at once.
    Capacitors,
}

/// Energy to store for each joule that flash consumes. Chosen: half of the stored energy is left for the
/// controller and memory, which are not in the power table, and for ageing of the capacitors.
const SAFETY: u128 = 2;

/// Energy that brings a program unit from the buffer to flash, at the part's longest times. It includes the
/// RMW reads for pages written in part.
pub fn energy_of_unit(pool: &Pool) -> Energy {
    let Pool { part, geometry, locations } = pool;
    let draw = &part.power;
    let planes = if draw.per_plane { geometry.planes_per_row } else { 1 };
    let drawn = |power: Power| Power(power.0 * u64::from(planes));
    let sensing = part.timing.read.iter().map(|range| range.most).max().unwrap_or_default();
    let pages = u64::from(geometry.pages_per_program / geometry.planes_per_row);
    let data = locations.size * u64::from(locations.per_program);
    let bus = part.bus.burst_in(data) + part.bus.burst_out(data);
    drawn(draw.program).over(part.worst_program_time())
        + drawn(draw.read).over(sensing * pages)
        + draw.interface.over(bus)
}

/// Number of logical pages that this energy brings to flash, in whole program units and to any pool.
pub fn pages_for(charge: Energy, pools: &Pools) -> u32 {
    let pages = |pool: &Pool| {
        let unit = energy_of_unit(pool).0.max(1) * SAFETY;
        let per_program = pool.locations.per_program;
        (charge.0 / unit).min(u128::from(u32::MAX / per_program)) as u32 * per_program
    };
    pools.iter().map(pages).min().unwrap_or(0)
}

/// Smallest energy that brings this many logical pages to flash, to any pool.
pub fn charge_for(pages: u32, pools: &Pools) -> Energy {
    let charge = |pool: &Pool| {
        energy_of_unit(pool).0 * SAFETY * u128::from(pages.div_ceil(pool.locations.per_program))
    };
    Energy(pools.iter().map(charge).max().unwrap_or(0))
}
