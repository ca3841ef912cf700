//! The drive to be fitted: what its maker says, and what was measured on it.

use std::path::Path;

use serde::Deserialize;
use wordline_lab::words::found_and_wanted;
use wordline_lab::{Error, input};

use crate::measurement::{Load, Measurement, Quantity};

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

/// A description of a drive: a file with a table `[drive]`. Other tables and keys are of no use here.
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
}

impl Drive {
    /// The drive that the file at `path` describes: id, model, capacity and link.
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
        let Description { id, model, capacity_gb, link } = read.drive;
        let mut drive = Self { name: id, model, measured: Vec::new() };
        let source = path.display().to_string();
        if let Some(capacity) = capacity_gb {
            drive.add(Quantity::Capacity, capacity, &source);
        }
        if let Some((generation, lanes)) = link.as_deref().and_then(pci_express) {
            drive.add(Quantity::LinkGeneration, generation, &source);
            drive.add(Quantity::LinkLanes, lanes, &source);
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

    /// The loads under which something was measured, each once.
    pub fn loads(&self) -> Vec<Load> {
        let mut loads: Vec<Load> = self.measured.iter().map(|one| one.load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.retain(|load| *load != Load::Drive);
        loads
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
            if values.len() > 1 {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
                repeated.value = mean;
                repeated.spread = Some((squares / (values.len() - 1) as f64).sqrt() / mean);
            }
        }
        self.measured = merged;
    }
}

/// Generation and lanes of a link such as `PCIe 4.0 x4`.
fn pci_express(link: &str) -> Option<(f64, f64)> {
    let mut words = link.strip_prefix("PCIe ")?.split_whitespace();
    let generation: f64 = words.next()?.parse().ok()?;
    let lanes: f64 = words.next()?.strip_prefix('x')?.parse().ok()?;
    Some((generation.floor(), lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_link_is_read() {
        assert_eq!(pci_express("PCIe 4.0 x4 drive"), Some((4.0, 4.0)));
        assert_eq!(pci_express("SATA 3"), None);
    }
}
