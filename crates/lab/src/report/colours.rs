//! Colours of style sheets, and their contrast.

use std::collections::BTreeMap;

/// The custom properties of a style sheet, for the light page and for the dark page.
pub(crate) fn palettes(style: &'static str) -> [BTreeMap<&'static str, [f64; 3]>; 2] {
    let (light, rest) =
        style.split_once("@media (prefers-color-scheme: dark)").expect("there is a dark page");
    let dark = rest.split("\n}\n").next().expect("a split has a first part");
    let light = palette(light);
    let mut both = light.clone();
    both.extend(palette(dark));
    assert_eq!(light.len(), both.len(), "the dark page has no colours of its own names");
    assert_eq!(palette(dark).len(), light.len(), "each colour is there twice");
    [light, both]
}

fn palette(text: &'static str) -> BTreeMap<&'static str, [f64; 3]> {
    let colour = |declaration: &'static str| {
        let (name, value) = declaration.trim().rsplit_once("--")?.1.split_once(": #")?;
        let channel =
            |n: usize| f64::from(u8::from_str_radix(&value[n..n + 2], 16).expect("a colour")) / 255.0;
        Some((name, [0, 2, 4].map(channel)))
    };
    text.split(';').filter_map(colour).collect()
}

/// Contrast of two colours, as WCAG 2.2 defines it.
pub(crate) fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) };
    let luminance = |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}
