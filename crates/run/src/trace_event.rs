//! Helpers for the Chrome trace-event format, used by the time lines of chips and of devices.

use wordline_nand::Stage;

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a stage occupies the bus.
pub fn is_on_bus(stage: Stage) -> bool {
    matches!(stage, Stage::Cle | Stage::Ale | Stage::Tir | Stage::Tor)
}

/// `ps` in units of `unit` picoseconds as a decimal number, without rounding. `unit` is a power of ten.
pub fn decimal(ps: u64, unit: u64) -> String {
    let (whole, rest) = (ps / unit, ps % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}
