//! Tests that keys without effect are attributed to the layer that set them.

use super::*;

#[test]
fn a_key_that_does_nothing_at_a_point_is_refused_unless_a_higher_layer_made_the_device_another() {
    let with = |device: &str, axis: &str| {
        let text = TWO_PRESETS.replacen("[[kind.sweep.vary]]", &format!("{device}[[kind.sweep.vary]]"), 1);
        parse(&text.replace("sets.3D = { ", &format!("sets.3D = {{ {axis}")))
    };
    let device = "[kind.sweep.device.buffer]\nflush_above = 0.2\n";
    assert!(with(device, "").is_ok(), "it writes back");
    assert!(with(device, "\"buffer.mode\" = \"off\", ").is_ok(), "left out by who wants no buffer");
    let both = "\"buffer.mode\" = \"off\", \"buffer.flush_above\" = 0.2, ";
    let error = with("", both).expect_err("in one layer").to_string();
    let wanted = "kind.sweep.vary ssd: buffer.flush_above: found 0.2, wanted buffer.mode = \"write-back\", or the key left out: ";
    assert!(error.contains(wanted), "{error}");
    let error =
        with("[kind.sweep.device.front.sata]\ngeneration = 1\n", "").expect_err("no SATA").to_string();
    assert!(
        error.contains("kind.sweep.device: front.sata.generation: found 1, wanted front.interface"),
        "{error}"
    );
}
