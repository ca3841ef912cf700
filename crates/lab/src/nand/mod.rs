//! NAND chips without a device: the cost of operations, and time lines of buses, dies and registers.

mod activity;
mod bench;
mod chrome;
mod operations;
mod script;
mod svg;
mod table;
mod timeline;

pub use bench::{Bench, CompletedOperation, Setup, Trace};
pub use chrome::chrome;
pub use operations::{Item, Kind, parse};
pub use script::ScriptRun;
pub use svg::svg;
pub use table::{OperationRow, OperationTable};
pub use timeline::{Summary, TimelineInput};

use wordline_kernel::Complaints;
use wordline_nand::Interface;
use wordline_nand::Part;
use wordline_nand::part::BusFile;

use crate::error::{Error, Result};

/// The part `name`, embedded or from a file. If the caller gives an interface or a timing mode, the bus times
/// come from this mode, and the bus times of the part are ignored.
pub fn part(name: &str, interface: Option<Interface>, mode: Option<u8>) -> Result<Part> {
    let part = crate::config::part(name)?;
    if interface.is_none() && mode.is_none() {
        return Ok(part);
    }
    let interface = interface.unwrap_or(part.bus.interface);
    let mode = mode.unwrap_or(interface.modes() - 1);
    let mut file = (*part).clone();
    file.bus = BusFile::new(interface, mode);
    file.check().map_err(|wrong| as_arguments(wrong, "--"))
}

/// Attributes complaints to the arguments that set the keys.
fn as_arguments(wrong: Complaints, prefix: &str) -> Error {
    let named = wrong.0.into_iter().map(|mut complaint| {
        let key = complaint.key.rsplit('.').next().unwrap_or_default().to_owned();
        complaint.key = format!("{prefix}{key}");
        complaint
    });
    Error::Config(Complaints(named.collect()))
}

#[cfg(test)]
mod tests;
