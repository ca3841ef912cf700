//! Fits a device to measurements of a drive.
//!
//! | step | module |
//! |---|---|
//! | the measurements: tables of several forms, outputs of fio, the description of the drive | [`load`], [`measurement`], [`table`], [`fio`], `logs`, [`drive`] |
//! | closed forms: a first guess, and the parameters that the measurements can identify | `identify` |
//! | the twin, as parameters and as a device | [`twin`], [`zones`], `document` |
//! | the loads of the measurements, simulated on a twin | `simulate` |
//! | the search for the parameters, with their intervals | `search`, `least_squares` |
//! | the outcome, as data, text and a page | [`outcome`], [`show`] |
//! | the jobs that a user runs on the drive | [`jobs`] |
//!
//! Parameters that the measurements do not identify stay *chosen*, and the device says so at each key.

mod document;
pub mod drive;
pub mod fio;
mod identify;
pub mod jobs;
mod least_squares;
pub mod load;
mod logs;
pub mod measurement;
pub mod outcome;
mod search;
pub mod show;
mod simulate;
pub mod table;
#[cfg(test)]
mod tests;
pub mod twin;
pub mod zones;

use wordline_lab::Error;
use wordline_lab::sweep::SweepOptions;

use crate::drive::Drive;
use crate::outcome::Fit;
use crate::search::Search;

/// Fits a twin to the measurements of a drive. `scale` shortens its blocks; it is one of
/// [`Twin::scales`](twin::Twin::scales). `source` names the measurements in the device.
///
/// # Errors
/// [`Error::Argument`] if the capacity was not measured. The errors of a run. [`Error::Stopped`] if the user
/// stopped it.
pub fn fit(drive: &Drive, scale: u32, source: &str, conduct: &SweepOptions<'_>) -> Result<Fit, Error> {
    let mut drive = drive.clone();
    let mut left_out = drive.normalise();
    let drive = &drive;
    let guess = identify::first_guess(drive, scale).ok_or_else(|| Error::Argument {
        what: drive.name.clone(),
        found: "no capacity".into(),
        wanted: "a description of the drive with capacity_gb, a measurement of it, or --capacity".into(),
    })?;
    identify::check(drive)?;
    let folder = tempfile::tempdir().map_err(|reason| Error::File {
        path: std::env::temp_dir(),
        action: "write a folder in",
        reason,
    })?;
    let found = Search::new(drive, conduct, folder.path()).run(&guess)?;
    let mut fit = Fit::of(drive, &found, source);
    left_out.append(&mut fit.left_out);
    fit.left_out = left_out;
    Ok(fit)
}

/// Whether the twin of a drive has zones.
pub fn is_zoned(drive: &Drive) -> bool {
    identify::zones(drive).is_some()
}
