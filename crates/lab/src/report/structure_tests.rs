//! Tests of the structure and the colours of pages.

use super::colours::{contrast, palettes};
use super::structure::assert_sound;
use super::style::STYLE;
use super::{Origin, html, sample};

const ORIGIN: Origin<'_> = Origin { config: "[device]\n", command: "wordline run" };

#[test]
fn a_page_of_runs_can_be_read_and_operated_without_eyes_and_mouse() {
    for runs in [
        vec![sample::mixed()],
        vec![sample::mixed(), sample::faster(), sample::only_writes()],
        vec![sample::pooled()],
        vec![sample::only_reads()],
        vec![sample::empty()],
    ] {
        assert_sound(&html(&runs, ORIGIN));
    }
}

#[test]
fn pages_that_cannot_be_are_found_out() {
    let page = html(&[sample::mixed()], ORIGIN);
    for (old, new) in [
        ("</figcaption>", ""),
        ("<main>", "<div>"),
        ("<h2 ", "<h4 "),
        ("role=\"img\" ", ""),
        (" tabindex=\"0\"", ""),
        ("id=\"figure-dies-title\"", "id=\"figure-channels-title\""),
        ("<details class=\"numbers\">", "<details>"),
    ] {
        assert!(page.contains(old), "{old}");
        let spoilt = page.replacen(old, new, 1);
        assert!(std::panic::catch_unwind(|| assert_sound(&spoilt)).is_err(), "{old}");
    }
}

#[test]
fn the_formula_of_contrast_has_its_known_values() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
    let grey = 119.0 / 255.0; // #777777 on white, the known example that just fails
    assert!((contrast([grey; 3], [1.0; 3]) - 4.48).abs() < 0.005);
}

#[test]
fn text_has_a_contrast_of_four_and_a_half_and_drawings_one_of_three_in_light_and_dark() {
    let mut pairs: Vec<(String, &str, f64)> = Vec::new();
    for ground in ["paper", "panel"] {
        pairs.extend(["ink", "soft", "accent"].map(|text| (text.to_owned(), ground, 4.5)));
    }
    pairs.push(("warn-ink".to_owned(), "warn", 4.5));
    pairs.extend((1..=super::print::COLOURS).map(|n| (format!("series-{n}"), "paper", 3.0)));
    for (palette, page) in palettes(STYLE).into_iter().zip(["light", "dark"]) {
        for (colour, ground, least) in &pairs {
            let found = contrast(palette[colour.as_str()], palette[ground]);
            assert!(found >= *least, "{colour} on {ground}, {page}: {found:.2}, wanted {least}");
        }
        // The least value of a map must differ from the white page.
        assert!(contrast(palette["ramp-low"], palette["paper"]) > 1.25, "{page}");
        assert!(contrast(palette["ramp-low"], palette["ramp-high"]) > 4.5, "{page}");
    }
}
