//! Text in charts: columns and keys in words, and the runs.

use wordline_lab::report::{Quantity, capitalised, three_digits};

use crate::file::Study;
use crate::table::Table;

/// Words that are written in capitals.
const CAPITALS: [&str; 8] = ["iops", "gc", "slc", "mlc", "tlc", "qlc", "ecc", "rmw"];

/// Words of keys that are ambiguous without the word before them.
const VAGUE: [&str; 9] =
    ["policy", "size", "kind", "mode", "fraction", "time", "count", "depth", "page_size"];

/// Device, workload and precondition of the runs of a study.
pub(super) struct ChartContext {
    /// Device, workload and precondition, separated by commas.
    pub runs: String,
    axes: Vec<String>,
}

impl ChartContext {
    pub fn of(study: &Study, table: &Table) -> Self {
        let is_varied = table.axes.iter().any(|axis| axis == "preset");
        let preset = study.sweep.preset.clone().filter(|_| !is_varied);
        let devices = preset.map_or_else(|| table.told("/device"), |preset| vec![preset]);
        let workloads = table.told("/workload/name");
        let one_or = |all: Vec<String>, many: &str| match &all[..] {
            [one] => Some(one.clone()),
            [] => None,
            several => Some(format!("{} {many}", several.len())),
        };
        let state = study.sweep.state_in_words(&study.path, &study.options(study.repeat.first));
        let all = [one_or(devices, "devices"), one_or(workloads, "workloads"), state];
        let runs = all.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Self { runs, axes: table.axes.clone() }
    }

    /// Names of a column and of the keys, as in files and options.
    pub fn varied(&self, column: &str) -> String {
        format!("Drawn is {column} over {}.", self.axes.join(", "))
    }
}

/// A column and its description.
pub(super) struct Column {
    pub words: String,
    /// Whether the column is in microseconds. Axes show it in a suitable unit.
    pub is_latency: bool,
    unit: &'static str,
}

impl Column {
    pub fn of(name: &str) -> Self {
        let is_latency = name.split('.').any(|part| part.ends_with("_us"));
        let parts: Vec<&str> = name.split('.').collect();
        let own = match parts.as_slice() {
            ["host" | "flash", rest @ ..] if !rest.is_empty() => rest,
            all => all,
        };
        let units = |part: &str| {
            let ends = ["_us", "_bytes", "_seconds"].into_iter();
            ends.filter_map(|unit| part.strip_suffix(unit)).next().map_or_else(|| spaced(part), spaced)
        };
        let word = |part: &&str| percentile(part).unwrap_or_else(|| units(part));
        let words: Vec<String> = own.iter().map(word).collect();
        let unit = match parts.last() {
            Some(last) if last.ends_with("_bytes") => "B",
            Some(last) if last.ends_with("_seconds") => "s",
            _ => "",
        };
        Self { words: capitalised(&words.join(", ")), is_latency, unit }
    }

    /// Title of the column's axis.
    pub fn title(&self) -> String {
        match self.unit {
            "" => self.words.clone(),
            unit => format!("{} ({unit})", self.words),
        }
    }

    /// Formats a value with a few characters.
    pub fn short(&self, value: f64) -> String {
        match () {
            () if self.is_latency => Quantity::Latency(value).to_string(),
            () if value.abs() >= 1e6 => format!("{}M", three_digits(value / 1e6)),
            () if value.abs() >= 1e4 => format!("{}k", three_digits(value / 1e3)),
            () => three_digits(value),
        }
    }
}

/// Describes a varied key by its last part, with the part before it if the last part is ambiguous.
pub(super) fn key_in_words(key: &str) -> String {
    let parts: Vec<&str> = key.split('.').collect();
    let words = match parts.as_slice() {
        [.., before, last] if VAGUE.contains(last) => format!("{} {}", spaced(before), spaced(last)),
        [.., last] => spaced(last),
        [] => String::new(),
    };
    // The spelling of the glossary.
    words.replace("over provisioning", "over-provisioning")
}

/// Formats a percentile: `p999` is p99.9.
fn percentile(part: &str) -> Option<String> {
    let digits = part
        .strip_prefix('p')
        .filter(|digits| digits.len() > 2 && digits.bytes().all(|byte| byte == b'9'))?;
    Some(format!("p{}.{}", &digits[..2], &digits[2..]))
}

fn spaced(part: &str) -> String {
    let word = |word: &str| match CAPITALS.contains(&word) {
        true => word.to_uppercase(),
        false => word.to_owned(),
    };
    part.split(['_', '-']).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_keys_have_words() {
        for (name, words) in [
            ("host.iops", "IOPS"),
            ("host.read_latency_us.p999", "Read latency, p99.9"),
            ("host.write_latency_us.mean", "Write latency, mean"),
            ("write_amplification", "Write amplification"),
            ("flash.gc_programs", "GC programs"),
            ("flash.programmed_bytes", "Programmed"),
            ("time.gc_wait.read_us", "Time, GC wait, read"),
        ] {
            assert_eq!(Column::of(name).words, words, "{name}");
        }
        assert_eq!(Column::of("flash.programmed_bytes").title(), "Programmed (B)");
        for (key, words) in [
            ("ftl.over_provisioning", "over-provisioning"),
            ("ftl.gc.victim.policy", "victim policy"),
            ("workload.named.queue_depth", "queue depth"),
            ("buffer.size", "buffer size"),
            ("preset", "preset"),
        ] {
            assert_eq!(key_in_words(key), words, "{key}");
        }
        let latency = Column::of("host.read_latency_us.p99");
        assert_eq!(
            (latency.short(1_234.0), Column::of("host.iops").short(123_456.0)),
            ("1.23 ms".into(), "123k".into())
        );
    }
}
