//! The hardware of a device in one sentence, for pages and titles.

use wordline_run::quantity::Quantity;

use super::markup::escaped;
use crate::device::Device;
use crate::devices::{ChipsInfo, Configured, Registry};
use crate::summary::Summary;

/// Capacity and geometry of the device of a run, from its configuration. `None` if the device uses a design
/// of an outside crate, because only that crate's program can read the configuration.
pub fn hardware(run: &Summary) -> Option<String> {
    of_configuration(&run.device, &run.configuration)
}

/// Capacity and geometry of the device that a configuration describes.
pub fn of_configuration(name: &str, configuration: &str) -> Option<String> {
    let device = Device::of_keys(&Registry::default(), name, configuration.parse().ok()?).ok()?;
    Some(of_device(&*device.configured))
}

/// Capacity and geometry of a device.
pub fn of_device(device: &dyn Configured) -> String {
    let shape = device.shape();
    let mut chips: Vec<(ChipsInfo, usize)> = Vec::new();
    for one in device.chips() {
        match chips.iter_mut().find(|(known, _)| *known == one) {
            Some((_, count)) => *count += 1,
            None => chips.push((one, 1)),
        }
    }
    let of_chips = chips.into_iter().map(|(ChipsInfo { part, geometry, .. }, count)| {
        let times = if count == 1 { String::new() } else { format!("{count} × ") };
        format!("{times}{part}: {geometry}")
    });
    let capacity = format!("capacity {}", Quantity::Bytes(shape.capacity.0 as f64));
    std::iter::once(capacity).chain(of_chips).collect::<Vec<_>>().join("; ")
}

/// Greatest number of devices whose hardware a page lists. Chosen: few enough to read before the charts.
const LISTED: usize = 4;

/// The hardware of several devices in HTML. Each description appears once.
pub fn list_of_hardware(all: impl IntoIterator<Item = String>) -> String {
    let mut each: Vec<String> = Vec::new();
    for one in all {
        if !each.contains(&one) {
            each.push(one);
        }
    }
    let more = each.len().saturating_sub(LISTED);
    let mut out: String = each
        .iter()
        .take(LISTED)
        .map(|one| format!("<p class=\"soft hardware\">{}.</p>\n", escaped(one)))
        .collect();
    if more > 0 {
        out += &format!("<p class=\"soft\">And {more} more, by the varied keys.</p>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_hardware_is_capacity_and_geometry() {
        let of = |preset: &str| {
            let device = Device::preset(preset).expect("it is embedded");
            of_configuration(preset, &device.text).expect("it loads again")
        };
        let tiny = of("tiny");
        assert!(
            tiny.starts_with("capacity ") && tiny.contains(" channel") && tiny.contains(" pages of "),
            "{tiny}"
        );
        let array = of("raid5-tiny");
        assert!(array.contains("× "), "equal members are counted: {array}");
        assert!(of("ft-passd-open-channel").contains(" blocks of "), "all devices of flash have one");
        assert_eq!(hardware(&sample::mixed()), None, "a configuration that is none");
    }
}
