//! Makes an imported configuration one that loads. The loader itself checks it.

use wordline_kernel::{Bytes, Complaint, Complaints};

use super::parameters::Parameters;
use super::text::Toml;
use crate::device::Device;
use crate::devices::Registry;
use crate::error::{Error, Result};

/// Tables whose keys may be left out: without them, the device is the same but for a policy or a limit. The
/// keys of the other tables are the chip and its number.
const OPTIONAL: [&str; 3] = ["ftl.", "buffer.", "front."];

/// Most keys that are left out before the import fails. Chosen.
const MOST_LEFT_OUT: usize = 8;

/// Words for what comes from a simulator.
pub(super) struct Origins {
    /// Parameter from which the watermarks of GC come.
    pub watermark: &'static str,
    /// Parameter from which the over-provisioning comes.
    pub spare: &'static str,
    /// Noun in the comment on a parameter that the simulator does not know.
    pub parameter: &'static str,
    /// Participle in the note on parameters whose effect is lost.
    pub lost: &'static str,
}

/// Ends an import of a device: unknown parameters become comments, and those whose effect is `lost` a note.
/// Returns a configuration that loads, the capacity of its device, and all notes.
///
/// # Errors
/// The complaints about the parameters, and those of [`settle`].
pub(super) fn finish(
    registry: &Registry,
    name: &str,
    (given, mut out): (Parameters, Toml),
    lost: &[String],
    origins: &Origins,
) -> Result<(Toml, Bytes, Vec<String>)> {
    out.written = given.written().clone();
    let (unknown, wrong, mut notes) = given.end();
    let mut out = wrong.into_result(out).map_err(Error::Config)?;
    let Origins { parameter, lost: is_lost, .. } = origins;
    out.lines.extend(unknown.iter().map(|(key, value)| format!("# {key} = {value}: not {parameter}.")));
    if !lost.is_empty() {
        notes.push(format!("{name}: {is_lost}, for reasons in the comments: {}", lost.join(", ")));
    }
    let (out, capacity) = settle(registry, name, out, origins, &mut notes)?;
    Ok((out, capacity, notes))
}

/// A configuration that loads, and the capacity of its device. GC watermarks that leave no room for data are lowered, then the
/// over-provisioning is raised; other values that are refused are left out. Each change is a note.
///
/// # Errors
/// The complaints of the loader, with the parameters that the keys come from, if the device cannot
/// be had.
pub(super) fn settle(
    registry: &Registry,
    name: &str,
    mut out: Toml,
    origins: &Origins,
    notes: &mut Vec<String>,
) -> Result<(Toml, Bytes)> {
    for _ in 0..MOST_LEFT_OUT {
        let wrong = match loads(registry, name, &out) {
            Ok(capacity) => return Ok((out, capacity)),
            Err(Error::Config(wrong)) => wrong,
            Err(error) => return Err(error),
        };
        if lacks_spare(&wrong) {
            match make_room(registry, name, &out, origins, notes) {
                Some(roomy) => out = roomy,
                None => return Err(blamed(name, wrong, &out)),
            }
            continue;
        }
        let mut left_out = 0;
        for complaint in &wrong.0 {
            let key = key_of(complaint);
            let Some(at) = out.position(key).filter(|_| OPTIONAL.iter().any(|table| key.starts_with(table)))
            else {
                continue;
            };
            let Complaint { found, wanted, .. } = complaint;
            notes.push(format!("{}: found {found}, wanted {wanted}: left out", out.origin(name, at, key)));
            out.lines[at] = format!("# {}", out.lines[at]);
            left_out += 1;
        }
        if left_out == 0 {
            return Err(blamed(name, wrong, &out));
        }
    }
    loads(registry, name, &out).map(|capacity| (out, capacity))
}

/// Loads a configuration. Returns the capacity of the device.
fn loads(registry: &Registry, name: &str, out: &Toml) -> Result<Bytes> {
    let table = out.text().parse().expect("the importer writes TOML");
    Device::of_keys(registry, name, table).map(|device| device.capacity())
}

/// Whether the complaints say that there are too few spare blocks.
fn lacks_spare(wrong: &Complaints) -> bool {
    wrong.0.iter().any(|complaint| key_of(complaint) == "ftl.over_provisioning")
}

/// The key of a complaint without the name of the source.
fn key_of(complaint: &Complaint) -> &str {
    complaint.key.rsplit_once(": ").map_or(complaint.key.as_str(), |(_, key)| key)
}

/// The complaints with the parameters that their keys come from.
fn blamed(name: &str, mut wrong: Complaints, out: &Toml) -> Error {
    for complaint in &mut wrong.0 {
        let key = key_of(complaint);
        if let Some(at) = out.position(key) {
            complaint.key = out.origin(name, at, key);
        }
    }
    Error::Config(wrong)
}

/// The device with the highest GC watermark for which its spare blocks are enough. If the lowest watermark
/// needs more spare blocks than there are, the over-provisioning is raised.
fn make_room(
    registry: &Registry,
    name: &str,
    out: &Toml,
    Origins { watermark, spare, .. }: &Origins,
    notes: &mut Vec<String>,
) -> Option<Toml> {
    let with = |free: u64, why: &str| {
        let mut other = out.clone();
        other.replace("start_below_free_blocks", free, why);
        other.replace("stop_at_free_blocks", free, why);
        other
    };
    let fits =
        |out: &Toml| !matches!(loads(registry, name, out), Err(Error::Config(wrong)) if lacks_spare(&wrong));
    let wanted = out.number("start_below_free_blocks")? as u64;
    let why = &format!("{watermark}, as far as spare blocks allow");
    let (mut fitting, mut failing) = (3, wanted);
    if fits(&with(fitting, why)) {
        while failing - fitting > 1 {
            let middle = fitting.midpoint(failing);
            if fits(&with(middle, why)) { fitting = middle } else { failing = middle }
        }
        notes.push(format!(
            "{name}: {watermark}: {wanted} free blocks of a plane are more than its over-provisioning: GC starts below {fitting}"
        ));
        return Some(with(fitting, why));
    }
    let (given, lowest) = (out.number("over_provisioning")?, with(3, why));
    // Steps of half a per cent, chosen: the next round number for which the device has enough blocks.
    let raised = (1..200_u32).map(|step| (1e3 * given).ceil() / 1e3 + f64::from(step) * 0.005);
    for ratio in raised.take_while(|ratio| *ratio < 1.0) {
        let mut other = lowest.clone();
        let shown = (1e3 * ratio).round() / 1e3;
        other.replace(
            "over_provisioning",
            shown,
            &format!("{spare}, raised: the least with which GC works here"),
        );
        if fits(&other) {
            notes.push(format!(
                "{name}: {spare}: {given} leaves too few spare blocks for GC: {shown} is used, so the device is smaller"
            ));
            return Some(other);
        }
    }
    None
}
