//! What becomes of the buffer when the power fails: how many of its pages the charge of capacitors brings to flash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Energy, Power};
use wordline_nand::{Geometry, Part, Slots};

/// Whether written pages in the buffer outlive the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// They do not: a flush and a forced unit access wait for flash.
    None,
    /// All of them do, so that flushes and forced unit accesses are answered from the buffer at once.
    Full,
    /// The buffer holds no more written pages than `buffer.capacitors` can bring to flash; the rest is as with `full`.
    Capacitors,
}

/// Charge for each joule that flash takes. Chosen: half is left for controller and memory, which the power table does
/// not know, and for capacitors that age.
const SAFETY: u128 = 2;

/// Energy that brings a program unit from the buffer to flash, and the reads that complete its pages if only parts of
/// them were written, at the longest times of the part.
pub fn energy_of_unit(part: &Part, geometry: &Geometry, slots: &Slots) -> Energy {
    let draw = &part.power;
    let planes = if draw.per_plane { geometry.planes_per_row } else { 1 };
    let drawn = |power: Power| Power(power.0 * u64::from(planes));
    let sensing = part.timing.read.iter().map(|range| range.most).max().unwrap_or_default();
    let pages = u64::from(geometry.pages_per_program / geometry.planes_per_row);
    let data = slots.size * u64::from(slots.per_program);
    let bus = part.bus.burst_in(data) + part.bus.burst_out(data);
    drawn(draw.program).over(part.worst_program_time())
        + drawn(draw.read).over(sensing * pages)
        + draw.interface.over(bus)
}

/// Logical pages that this charge brings to flash, in whole program units.
pub fn pages_for(charge: Energy, part: &Part, geometry: &Geometry, slots: &Slots) -> u32 {
    let unit = energy_of_unit(part, geometry, slots).0.max(1) * SAFETY;
    let units = (charge.0 / unit).min(u128::from(u32::MAX / slots.per_program)) as u32;
    units * slots.per_program
}

/// The least charge for so many program units.
pub fn charge_for(units: u32, part: &Part, geometry: &Geometry, slots: &Slots) -> Energy {
    Energy(energy_of_unit(part, geometry, slots).0 * SAFETY * u128::from(units))
}
