//! The Chrome trace-event format as the time lines of chips and of devices need it.

use wordline_nand::Stage;

/// Text as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a stage holds the bus.
pub(crate) fn is_on_bus(stage: Stage) -> bool {
    matches!(stage, Stage::Cle | Stage::Ale | Stage::Tir | Stage::Tor)
}

/// `ps` in units of `unit` picoseconds, a power of ten, exactly.
pub(crate) fn decimal(ps: u64, unit: u64) -> String {
    let (whole, rest) = (ps / unit, ps % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}
