//! The values of `ftl.over_provisioning` that suffice.

/// They in words: from `least` on, where so many of `all` pages are left for the host.
pub(super) fn enough(least: f64, all: f64, logical: u32) -> String {
    let digits = 1e4;
    match (least * digits).ceil() / digits {
        _ if logical == 0 => {
            let most = ((1.0 - 1.0 / all) * digits).floor() / digits;
            format!("at most {most:.4}, so that a page is left for the host")
        }
        least if least < 1.0 => format!("at least {least:.4} and below 1"),
        _ => "more blocks, for no value suffices".to_owned(),
    }
}
