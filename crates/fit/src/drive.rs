//! The drive to be fitted: what its maker says, and what was measured on it.

use std::path::Path;

use serde::Deserialize;
use wordline_lab::words::found_and_wanted;
use wordline_lab::{Error, input};

use crate::load::Load;
use crate::measurement::{Measurement, Quantity};

/// A drive and its measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drive {
    /// Name of the twin, from the id of the drive.
    pub name: String,
    /// The model, as its maker calls it.
    pub model: String,
    /// The measurements, one for each quantity and load.
    pub measured: Vec<Measurement>,
}

/// A description of a drive: a file with a table `[drive]`. Other tables and keys are not used.
#[derive(Deserialize)]
struct DescriptionFile {
    drive: Description,
}

#[derive(Deserialize)]
struct Description {
    id: String,
    model: String,
    capacity_gb: Option<f64>,
    link: Option<String>,
    bits_per_cell: Option<f64>,
    zones: Option<f64>,
    zone_size_mib: Option<f64>,
    zone_capacity_mib: Option<f64>,
    open_zones: Option<f64>,
}

/// Part of the saturating writes up to which latencies beside writes are those of a drive that keeps up. Chosen: next
/// to saturation repetitions of a measurement differ by half.
const SATURATED: f64 = 0.95;

/// Part of the capacity in use from which a drive is full. Chosen: capacities are given in rounded GB.
const FULL: f64 = 0.98;

impl Drive {
    /// The drive that the file at `path` describes: id, model and known properties.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::Content`] if it describes no drive.
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        let text = input::text(path, "the description of a drive")?;
        let read: DescriptionFile = toml::from_str(&text).map_err(|fault| {
            let (found, wanted) = found_and_wanted(fault.message(), "valid TOML");
            let whole = "a table [drive] with id and model, and capacity_gb and link if they are known";
            Error::Content { path: path.to_owned(), found, wanted: format!("{wanted}, in {whole}") }
        })?;
        let whole = read.drive;
        let mut drive = Self { name: whole.id, model: whole.model, measured: Vec::new() };
        let source = path.display().to_string();
        for (quantity, value) in [
            (Quantity::Capacity, whole.capacity_gb),
            (Quantity::BitsPerCell, whole.bits_per_cell),
            (Quantity::Zones, whole.zones),
            (Quantity::ZoneSize, whole.zone_size_mib),
            (Quantity::ZoneCapacity, whole.zone_capacity_mib),
            (Quantity::OpenZones, whole.open_zones),
        ] {
            let Some(value) = value else { continue };
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::Content {
                    path: path.to_owned(),
                    found: format!("drive.{quantity} = {value}"),
                    wanted: "a number above 0".into(),
                });
            }
            drive.add(quantity, value, &source);
        }
        for (quantity, value) in whole.link.as_deref().map(link).unwrap_or_default() {
            drive.add(quantity, value, &source);
        }
        Ok(drive)
    }

    /// Adds a property of the drive.
    fn add(&mut self, quantity: Quantity, value: f64, source: &str) {
        let source = source.to_owned();
        self.measured.push(Measurement { quantity, load: Load::Drive, value, spread: None, source });
    }

    /// The value of a property; `None` if it was not measured.
    pub fn property(&self, quantity: Quantity) -> Option<f64> {
        self.value(quantity, Load::Drive)
    }

    /// The value of a quantity under a load; `None` if it was not measured.
    pub fn value(&self, quantity: Quantity, load: Load) -> Option<f64> {
        self.measured.iter().find(|one| one.quantity == quantity && one.load == load).map(|one| one.value)
    }

    /// The simulated loads under which something was measured, each once.
    pub fn loads(&self) -> Vec<Load> {
        let mut loads: Vec<Load> = self.measured.iter().map(|one| one.load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.retain(|load| load.is_simulated());
        loads
    }

    /// Writes of a drive that is in use nearly as a whole are those of a full drive. Write amplification is
    /// relative to that of sequential writes, in which the counters show what the drive writes for itself: a twin
    /// writes nothing for itself. Returns the measurements that are left out, with the reason: rates of an SLC cache
    /// of unknown size, and latencies beside more writes than the drive takes.
    pub fn normalise(&mut self) -> Vec<String> {
        let capacity = self.property(Quantity::Capacity).unwrap_or(f64::INFINITY);
        let own = self.value(Quantity::WriteAmplification, Load::NativeWrites).unwrap_or(1.0).max(1.0);
        self.measured
            .retain(|one| !(one.quantity == Quantity::WriteAmplification && one.load == Load::NativeWrites));
        for one in &mut self.measured {
            if matches!(one.load, Load::SteadyPart { used } if f64::from(used) >= FULL * capacity) {
                one.load = Load::SteadyWrites;
            }
            if one.quantity == Quantity::WriteAmplification {
                one.value = (one.value / own).max(1.0);
            }
        }
        self.add_all(Vec::new());
        let saturating = self
            .value(Quantity::Throughput, Load::SteadyWrites)
            .map(|rate| rate * 1e6 / 4096.0)
            .or_else(|| self.value(Quantity::Iops, Load::SteadyWrites))
            .unwrap_or(f64::INFINITY);
        let has_cache = self.property(Quantity::SlcCache).is_some();
        let reason = |one: &Measurement| match one.load {
            Load::CacheWrites if !has_cache => Some("no slc_cache_gb was measured".to_owned()),
            Load::Beside { rate } if f64::from(rate) > SATURATED * saturating => {
                Some(format!("the drive takes {saturating:.0} saturating writes a second"))
            }
            _ => None,
        };
        let mut left_out = Vec::new();
        self.measured.retain(|one| {
            let reason = reason(one);
            let Measurement { source, quantity, load, .. } = one;
            left_out
                .extend(reason.as_ref().map(|reason| format!("{source}: {quantity} under {load}: {reason}")));
            reason.is_none()
        });
        left_out
    }

    /// Adds measurements. Repetitions of a quantity under a load become their mean, and their deviation its
    /// spread.
    pub fn add_all(&mut self, measured: Vec<Measurement>) {
        self.measured.extend(measured);
        let mut merged: Vec<Measurement> = Vec::new();
        for one in std::mem::take(&mut self.measured) {
            let of_same = |other: &Measurement| other.quantity == one.quantity && other.load == one.load;
            if merged.iter().any(of_same) {
                self.measured.push(one);
            } else {
                merged.push(one);
            }
        }
        for repeated in &mut merged {
            let of_same =
                |other: &&Measurement| other.quantity == repeated.quantity && other.load == repeated.load;
            let values: Vec<f64> = [repeated.value]
                .into_iter()
                .chain(self.measured.iter().filter(of_same).map(|one| one.value))
                .collect();
            if values.len() > 1 && repeated.quantity == Quantity::Capacity {
                // Tables give the part in use, which is no more than the capacity.
                repeated.value = values.iter().copied().fold(0.0, f64::max);
            } else if values.len() > 1 {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
                repeated.value = mean;
                repeated.spread = Some((squares / (values.len() - 1) as f64).sqrt() / mean);
            }
        }
        self.measured = merged;
    }
}

/// The properties of a link such as `PCIe 4.0 x4` or `SATA 3`; none for other texts.
fn link(text: &str) -> Vec<(Quantity, f64)> {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    if let Some(rest) = text.strip_prefix("SATA ") {
        let generation = number(rest.split_whitespace().next());
        return generation
            .map(|generation| (Quantity::SataGeneration, generation.floor()))
            .into_iter()
            .collect();
    }
    let mut words = text.strip_prefix("PCIe ").unwrap_or("").split_whitespace();
    let generation = number(words.next());
    match (generation, number(words.next().and_then(|word| word.strip_prefix('x')))) {
        (Some(generation), Some(lanes)) => {
            vec![(Quantity::LinkGeneration, generation.floor()), (Quantity::LinkLanes, lanes)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Statistic;

    #[test]
    fn repetitions_become_a_mean_with_its_spread() {
        let one = |value| Measurement {
            quantity: Quantity::Iops,
            load: Load::SteadyWrites,
            value,
            spread: None,
            source: String::new(),
        };
        let mut drive = Drive::default();
        drive.add_all(vec![one(90.0), one(100.0), one(110.0)]);
        let [merged] = drive.measured.try_into().expect("one measurement");
        assert!((merged.value - 100.0).abs() < 1e-9);
        assert!((merged.spread.expect("three repetitions") - 0.1).abs() < 1e-9);
    }

    #[test]
    fn parts_in_use_and_the_writes_of_the_drive_itself_are_set_apart() {
        let one = |quantity, load, value| Measurement {
            quantity,
            load,
            value,
            spread: None,
            source: String::new(),
        };
        let mut drive = Drive::default();
        drive.add_all(vec![
            one(Quantity::Capacity, Load::Drive, 400.0),
            one(Quantity::Capacity, Load::Drive, 800.0),
            one(Quantity::WriteAmplification, Load::NativeWrites, 1.03),
            one(Quantity::WriteAmplification, Load::SteadyPart { used: 799 }, 2.06),
            one(Quantity::WriteAmplification, Load::SteadyPart { used: 400 }, 1.02),
            one(Quantity::Throughput, Load::SteadyPart { used: 800 }, 600.0),
            one(Quantity::Throughput, Load::SteadyWrites, 600.0),
            one(Quantity::Throughput, Load::CacheWrites, 3000.0),
            one(Quantity::Read(Statistic::Mean), Load::Beside { rate: 100_000 }, 90.0),
            one(Quantity::Read(Statistic::Mean), Load::Beside { rate: 150_000 }, 900.0),
        ]);
        let wanted = [
            ": mb_s under write cache: no slc_cache_gb was measured",
            ": read_mean_us under beside rate_iops=150000: the drive takes 146484 saturating writes a second",
        ];
        assert_eq!(drive.normalise(), wanted);
        assert_eq!(drive.property(Quantity::Capacity), Some(800.0));
        assert_eq!(drive.value(Quantity::WriteAmplification, Load::SteadyWrites), Some(2.0));
        assert_eq!(drive.value(Quantity::WriteAmplification, Load::SteadyPart { used: 400 }), Some(1.0));
        let loads = [Load::SteadyWrites, Load::Beside { rate: 100_000 }, Load::SteadyPart { used: 400 }];
        assert_eq!(drive.loads(), loads);
        assert_eq!(drive.value(Quantity::Throughput, Load::SteadyWrites), Some(600.0));
    }

    #[test]
    fn a_link_is_read() {
        let express = [(Quantity::LinkGeneration, 4.0), (Quantity::LinkLanes, 4.0)];
        assert_eq!(link("PCIe 4.0 x4 drive"), express);
        assert_eq!(link("SATA 3"), [(Quantity::SataGeneration, 3.0)]);
        assert_eq!(link("USB"), []);
    }
}
