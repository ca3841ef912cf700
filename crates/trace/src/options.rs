//! Options for properties that a trace file does not state: format, units, columns, devices, events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, one_of};

use super::columns::Columns;
use super::formats::{Format, TimeUnit, Units};
use crate::{Error, error::Result};

/// Length to which the gap of a clock jump is closed. Chosen: 1 ms keeps the order of the requests around it
/// and changes no statistic of a trace that lasts minutes.
pub(super) const CLOSED_GAP_PS: i128 = 1_000_000_000;

/// Event that gives the time of a request, in formats that record several events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Q: the request entered the block layer, before merging.
    Queue,
    /// D: the request was sent to the device, after merging.
    Issue,
    /// C: the device completed the request. There is no response time then.
    Complete,
}

impl Action {
    /// Every kind, in order of preference for the time of a request.
    pub(super) const ALL: [Self; 3] = [Self::Queue, Self::Issue, Self::Complete];

    /// Name in options and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Issue => "issue",
            Self::Complete => "complete",
        }
    }
}

/// Layout of several traced devices in one address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Devices {
    /// One after another in the order of their numbers. Each device begins at the next whole MiB after the
    /// last byte of the previous device that the trace touches.
    #[default]
    Stack,
    /// Offsets stay as recorded; devices differ only in [`Request::device`](super::Request).
    Keep,
}

impl Devices {
    /// Both layouts.
    const ALL: [Self; 2] = [Self::Stack, Self::Keep];

    /// The name in options.
    const fn name(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Keep => "keep",
        }
    }
}

/// Treatment of recorded zone operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zones {
    /// They stay what they are, for a zoned namespace.
    Keep,
    /// Appends become writes, and zone management is left out, for a conventional device. Notes count both.
    Map,
}

impl Zones {
    /// Both ways.
    const ALL: [Self; 2] = [Self::Keep, Self::Map];

    /// The name in options.
    const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Map => "map",
        }
    }
}

/// Treatment of recorded operations of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// They are requests.
    #[default]
    Keep,
    /// They are left out. A note counts them.
    Skip,
}

impl Filter {
    /// Both ways.
    const ALL: [Self; 2] = [Self::Keep, Self::Skip];

    /// The name in options.
    const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Skip => "skip",
        }
    }

    /// Count of the operations that are left out; `None` if they are kept.
    pub(super) fn left_out(self) -> Option<u64> {
        (self == Self::Skip).then_some(0)
    }
}

/// Options for reading a trace. An option that is `None` follows from the format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Format; detected from the content if not given.
    pub format: Option<Format>,
    /// Unit of time stamps.
    pub time_unit: Option<TimeUnit>,
    /// Unit of addresses, such as `512B`.
    pub address_unit: Option<Bytes>,
    /// Unit of sizes, such as `4KiB`.
    pub size_unit: Option<Bytes>,
    /// Sector size: the unit of addresses and sizes in formats that count sectors, 512 B by default.
    pub sector: Option<Bytes>,
    /// Recorded device whose requests are kept; all others are dropped.
    pub device: Option<u32>,
    /// Layout of several devices in one address space.
    pub devices: Devices,
    /// Event that gives the time of a request. Default: `queue` if the trace has it, else `issue`, else
    /// `complete`.
    pub action: Option<Action>,
    /// Longest gap between two requests that is no jump of the clock, from 1ms to 106d; 10d by default. A longer gap is
    /// closed to 1ms.
    pub jump: Duration,
    /// Map of the columns of a Parquet file, or of a text file that is in no other format: the fields in their order,
    /// each with its unit, such as `ts:s,off:512,len:512,op:0=R|1=W`.
    pub columns: Option<Box<Columns>>,
    /// Bytes of the keys and values of a token in a trace of a KV cache; 320KiB by default, as in LLaMA2-70B.
    pub token_bytes: Option<Bytes>,
    /// Tokens of a block in a trace of a KV cache, from 1 to 65,536; 512 by default, as in Mooncake's traces.
    pub block_tokens: Option<u32>,
    /// Treatment of zone operations. Default: `keep` for a run on a zoned namespace, `map` for a run on another
    /// device. Without a run they are kept in formats that have operations of zones (`csv`, `columns`), and
    /// mapped in recordings.
    pub zones: Option<Zones>,
    /// Treatment of recorded discards: `keep` or `skip`. Skipping them, as if the recorded file system had been mounted
    /// without them, shows what TRIM gains.
    pub discards: Filter,
    /// Treatment of recorded writes of zeroes: `keep` or `skip`. A zoned namespace takes none here.
    pub write_zeroes: Filter,
    /// Number of requests held to sort them by time, from 1,000 to 16,777,216; 65,536 by default. A request
    /// that is further out of order is an error.
    pub window: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            time_unit: None,
            address_unit: None,
            size_unit: None,
            sector: None,
            device: None,
            devices: Devices::default(),
            action: None,
            // Chosen: longer than a week, the length of the longest published traces; shorter than a step of
            // the clock from 1970 to the present.
            jump: Duration::from_ms(10 * 86_400_000),
            columns: None,
            token_bytes: None,
            block_tokens: None,
            zones: None,
            discards: Filter::Keep,
            write_zeroes: Filter::Keep,
            window: None,
        }
    }
}

impl Options {
    /// Names of the options.
    const KEYS: [&str; 16] = [
        "format",
        "time_unit",
        "address_unit",
        "size_unit",
        "sector",
        "device",
        "devices",
        "action",
        "jump",
        "columns",
        "token_bytes",
        "block_tokens",
        "zones",
        "discards",
        "write_zeroes",
        "window",
    ];

    /// Parses options written as `key=value`, such as `time_unit=us`; the keys are the field names.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut options = Self::default();
        for pair in pairs {
            let (key, value) = pair.split_once('=').ok_or_else(|| Error::Argument {
                what: "trace option".into(),
                found: format!("\"{pair}\""),
                wanted: "key=value".into(),
            })?;
            options.set(key.trim(), value.trim())?;
        }
        Ok(options)
    }

    /// Sets one option by name.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if key == "columns" {
            self.columns = Some(Box::new(Columns::parse(value)?));
            return Ok(());
        }
        let mut fields = serde_json::to_value(&*self).expect("options hold texts and numbers only");
        let is_number = matches!(key, "device" | "window" | "block_tokens");
        let number = is_number.then(|| value.parse::<u32>().ok()).flatten();
        fields[key] = number.map_or_else(|| value.into(), Into::into);
        *self = serde_json::from_value(fields).map_err(|_| Error::Argument {
            what: format!("trace option {key}"),
            found: Self::found(key, value),
            wanted: Self::wanted(key, value),
        })?;
        Ok(())
    }

    fn found(key: &str, value: &str) -> String {
        if Self::KEYS.contains(&key) { format!("{value:?}") } else { "an unknown option".into() }
    }

    fn wanted(key: &str, value: &str) -> String {
        match key {
            "format" => one_of(value, &Format::ALL.map(Format::name)),
            "time_unit" => one_of(value, &TimeUnit::ALL.map(TimeUnit::name)),
            "address_unit" | "size_unit" | "sector" | "token_bytes" => "a size such as \"512B\"".into(),
            "device" => "the number of a device".into(),
            "devices" => one_of(value, &Devices::ALL.map(Devices::name)),
            "action" => one_of(value, &Action::ALL.map(Action::name)),
            "zones" => one_of(value, &Zones::ALL.map(Zones::name)),
            "discards" | "write_zeroes" => one_of(value, &Filter::ALL.map(Filter::name)),
            "block_tokens" => format!("a whole number from 1 to {MAX_BLOCK_TOKENS}"),
            "jump" => "a time such as \"10d\", from 1ms to 106d".into(),
            "window" => format!("a whole number from {MIN_WINDOW} to {MAX_WINDOW}"),
            _ => one_of(key, &Self::KEYS),
        }
    }

    /// Number of rows held to sort them.
    pub(super) fn window(&self) -> Result<usize> {
        let window = self.window.unwrap_or(DEFAULT_WINDOW);
        if (MIN_WINDOW..=MAX_WINDOW).contains(&window) {
            return Ok(window as usize);
        }
        Err(Error::Argument {
            what: "trace option window".into(),
            found: window.to_string(),
            wanted: Self::wanted("window", &window.to_string()),
        })
    }

    /// Longest gap that is no jump of the clock.
    pub(super) fn jump(&self) -> Result<Duration> {
        if i128::from(self.jump.ps()) >= CLOSED_GAP_PS && self.jump <= Duration::LIMIT {
            return Ok(self.jump);
        }
        Err(Error::Argument {
            what: "trace option jump".into(),
            found: self.jump.to_string(),
            wanted: Self::wanted("jump", ""),
        })
    }

    /// Returns the units that apply to `format`. An option without effect for the format is an error.
    pub(super) fn units(&self, format: Format) -> Result<Units> {
        let said = [
            ("time_unit", self.time_unit.is_some()),
            ("address_unit", self.address_unit.is_some()),
            ("size_unit", self.size_unit.is_some()),
            ("sector", self.sector.is_some()),
        ];
        let is_open = |key: &str| match key {
            "time_unit" => format.has_open_units(),
            _ => format.has_open_ranges(),
        };
        if let Some((key, _)) = said.iter().find(|(key, said)| *said && !is_open(key)) {
            return Err(refused(key, format, "which fixes its units"));
        }
        if self.action.is_some() && !format.has_events() {
            return Err(refused("action", format, "which records one event a request"));
        }
        let of_tokens =
            [("token_bytes", self.token_bytes.is_some()), ("block_tokens", self.block_tokens.is_some())];
        if let Some((key, _)) = of_tokens.iter().find(|(_, said)| *said && !format.has_tokens()) {
            return Err(refused(key, format, "which has no tokens"));
        }
        if self.block_tokens.is_some() && format == Format::Lmcache {
            return Err(refused("block_tokens", format, "whose lines have the tokens of a chunk"));
        }
        if let Some(tokens) = self.block_tokens.filter(|tokens| !(1..=MAX_BLOCK_TOKENS).contains(tokens)) {
            return Err(Error::Argument {
                what: "trace option block_tokens".into(),
                found: tokens.to_string(),
                wanted: Self::wanted("block_tokens", ""),
            });
        }
        if self.columns.is_some() && !format.has_columns() {
            return Err(refused("columns", format, "which has columns of its own"));
        }
        for (key, unit) in [
            ("address_unit", self.address_unit),
            ("size_unit", self.size_unit),
            ("sector", self.sector),
            ("token_bytes", self.token_bytes),
        ] {
            // Chosen: 1 GiB is far above any unit (sector, page or block) in which a trace counts.
            if unit.is_some_and(|unit| unit.0 == 0 || unit > Bytes::gib(1)) {
                return Err(Error::Argument {
                    what: format!("trace option {key}"),
                    found: unit.unwrap_or_default().to_string(),
                    wanted: "a size from 1 B to 1 GiB".into(),
                });
            }
        }
        let usual = format.units();
        let sectors = |unit: Bytes| if unit == Bytes(512) { self.sector.unwrap_or(unit) } else { unit };
        Ok(Units {
            time: self.time_unit.unwrap_or(usual.time),
            address: self.address_unit.unwrap_or(sectors(usual.address)),
            size: self.size_unit.unwrap_or(sectors(usual.size)),
        })
    }
}

/// Maximum of tokens in a block. Chosen: far above the blocks of any cache.
const MAX_BLOCK_TOKENS: u32 = 1 << 16;

/// Default number of rows held to sort them. Chosen: no public trace at hand is out of order by more than a
/// few thousand rows. This window takes 7 MB and a few milliseconds.
const DEFAULT_WINDOW: u32 = 1 << 16;
/// Minimum window. Chosen: the least number of requests for which strays are dropped
/// (`MIN_REQUESTS_FOR_STRAYS`).
const MIN_WINDOW: u32 = 1_000;
/// Maximum window. Chosen: its rows take less than 2 GB.
const MAX_WINDOW: u32 = 1 << 24;

fn refused(key: &str, format: Format, why: &str) -> Error {
    Error::Argument {
        what: format!("trace option {key}"),
        found: format!("it together with format {}, {why}", format.name()),
        wanted: "no such option, or another format".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_read_as_pairs() {
        let options = Options::from_pairs([
            "format=fio-iolog",
            "time_unit=100ns",
            "size_unit=4KiB",
            "device=3",
            "devices=keep",
            "action=issue",
            "jump=30d",
        ])
        .expect("they are all valid");
        assert_eq!(options.format, Some(Format::FioIolog));
        assert_eq!(options.time_unit, Some(TimeUnit::HundredNs));
        assert_eq!(options.size_unit, Some(Bytes::kib(4)));
        assert_eq!((options.device, options.devices), (Some(3), Devices::Keep));
        assert_eq!(options.action, Some(Action::Issue));
        assert_eq!(options.jump, Duration::from_ms(30 * 86_400_000));
    }

    #[test]
    fn a_wrong_option_names_the_key_and_what_was_wanted() {
        for (pair, wanted) in [
            ("format=nonsense", "one of csv, msr, spc"),
            ("time_unit=fortnight", "one of ps, ns"),
            ("size_unit=4", "a size such as"),
            ("device=x", "the number of a device"),
            ("tiem_unit=s", "time_unit, or another of"),
            ("format", "key=value"),
        ] {
            let error = Options::from_pairs([pair]).expect_err(pair).to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    /// The error for two requests of device 0 at 0 and 5 ms, read with an option.
    fn refusal(pair: &str) -> String {
        let options = match Options::from_pairs([pair]) {
            Ok(options) => options,
            Err(error) => return error.to_string(),
        };
        let text = b"t_ms,op,offset,size\n0,R,0,512\n5,R,512,512\n";
        crate::read_bytes("t", text, &options).expect_err(pair).to_string()
    }

    #[test]
    fn a_jump_shorter_than_its_closed_gap_or_longer_than_a_trace_is_refused() {
        for jump in ["0s", "1ns", "999us"] {
            let wanted = "wanted a time such as \"10d\", from 1ms to 106d";
            assert_eq!(
                refusal(&format!("jump={jump}")),
                format!("trace option jump: found {jump}, {wanted}")
            );
        }
        assert!(refusal("jump=107d").ends_with("from 1ms to 106d"), "{}", refusal("jump=107d"));
        let beyond = Options { jump: Duration::LIMIT + Duration::from_ps(1), ..Options::default() };
        assert!(beyond.jump().is_err());
        for jump in ["1ms", "106d"] {
            let options = Options::from_pairs([format!("jump={jump}").as_str()]).expect(jump);
            assert_eq!(options.jump().expect(jump), options.jump);
        }
    }

    #[test]
    fn a_device_that_a_trace_does_not_have_is_named() {
        assert_eq!(
            refusal("device=4"),
            "t: found no requests of device 4 but 2 of others (option device), wanted the number of a device of the trace"
        );
    }

    #[test]
    fn a_trace_that_falls_apart_into_single_requests_names_the_option() {
        let rows: String = (0..1_000).map(|n| format!("{n},R,0,512\n")).collect();
        let options = Options::from_pairs(["jump=1ms"]).expect("valid");
        let text = format!("t_s,op,offset,size\n{rows}");
        let error =
            crate::read_bytes("t", text.as_bytes(), &options).expect_err("all are strays").to_string();
        assert!(
            error.contains(
                "found no requests but 1,000 single requests across jumps of the clock (option jump)"
            ),
            "{error}"
        );
    }

    #[test]
    fn names_match_the_serialised_form() {
        for format in Format::ALL {
            assert_eq!(serde_json::to_value(format).expect("a name"), format.name());
        }
    }

    #[test]
    fn an_option_that_would_be_ignored_is_refused() {
        let options = Options::from_pairs(["time_unit=s"]).expect("valid");
        assert!(options.units(Format::Vscsi).is_err());
        let options = Options::from_pairs(["action=queue"]).expect("valid");
        assert!(options.units(Format::Msr).is_err());
        let options = Options::from_pairs(["sector=0B"]).expect("a size");
        assert!(options.units(Format::Disksim).is_err());
    }
}
