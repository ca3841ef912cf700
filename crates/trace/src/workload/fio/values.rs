//! Values of a job file, as fio parses them: numbers with units, and one value for each of reads, writes and
//! trims.

use wordline_kernel::Duration;

/// Values for reads, writes and trims.
pub type Each<T> = [T; 3];

/// Factors of the units of sizes: `k`, and `ki`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    k: u64,
    ki: u64,
}

impl Default for Units {
    /// fio's `kb_base=1024`, where `ki` is the smaller unit.
    fn default() -> Self {
        Self { k: 1024, ki: 1000 }
    }
}

impl Units {
    /// Parses `kb_base`.
    pub fn of_base(base: &str) -> Option<Self> {
        match base {
            "1024" => Some(Self::default()),
            "1000" => Some(Self { k: 1000, ki: 1024 }),
            _ => None,
        }
    }
}

/// Number of bytes, a share of the device, or a number of zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percentage.
    Percent(u64),
    /// Zones of the device, as `8z`.
    Zones(u64),
}

impl Amount {
    /// Converts the amount to bytes. A share is one of `whole` bytes, and a zone has `zone` bytes.
    pub fn of(self, whole: u64, zone: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
            Self::Zones(zones) => zones.saturating_mul(zone),
        }
    }
}

/// Description of the syntax of [`number`].
pub const NUMBER: &str = "a whole number, such as 64 or 4k (1024 times 4)";

/// Parses a number with a unit: `k`, `m`, `g`, `t` and `p` are powers of `units.k`, and `ki`, `mi`, ... powers
/// of `units.ki`. `0x` begins a hexadecimal number.
pub fn number(text: &str, units: Units) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let (digits, unit) = split(&text);
    let number: u64 = digits.parse().ok()?;
    let mut letters = unit.chars();
    let Some(power) = letters.next().filter(|letter| *letter != 'b' || unit.len() > 1) else {
        return Some(number);
    };
    let power = "kmgtp".find(power)? as u32 + 1;
    let base = match letters.as_str() {
        "" | "b" => units.k,
        "i" | "ib" => units.ki,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

/// Parses a number with a unit and a sign.
pub fn signed(text: &str, units: Units) -> Option<i64> {
    let text = text.trim();
    let (digits, is_negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    let number = i64::try_from(number(digits, units)?).ok()?;
    Some(if is_negative { -number } else { number })
}

/// Description of the syntax of [`amount`].
pub const AMOUNT: &str = "a size, such as 16g, a share of the device, such as 10%, or zones, such as 8z";

/// Parses a size, a share of the device, or a number of zones.
pub fn amount(text: &str, units: Units) -> Option<Amount> {
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        return percent.parse().ok().filter(|percent| *percent <= 100).map(Amount::Percent);
    }
    match text.strip_suffix('z') {
        Some(zones) => zones.parse().ok().map(Amount::Zones),
        None => number(text, units).map(Amount::Bytes),
    }
}

/// Description of the syntax of [`time`].
pub const TIME: &str = "a time of at most 106 days, such as 90s, 5m or 100us";

/// Parses a time. A number without unit counts in units of `without`.
pub fn time(text: &str, without: Duration) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, unit) = split(&text);
    let second = 1_000_000_000_000_u64;
    let unit = match unit {
        "" => without.ps(),
        "d" => 86_400 * second,
        "h" => 3_600 * second,
        "m" => 60 * second,
        "s" => second,
        "ms" | "msec" => second / 1_000,
        "us" | "usec" => second / 1_000_000,
        "ns" | "nsec" => second / 1_000_000_000,
        _ => return None,
    };
    let ps = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Duration::from_ps(ps)).filter(|time| *time <= Duration::LIMIT)
}

/// Description of the syntax of [`flag`].
pub const FLAG: &str = "0 or 1";

/// Parses a flag; the key alone sets it.
pub fn flag(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("1" | "true") => Some(true),
        Some("0" | "false") => Some(false),
        Some(_) => None,
    }
}

/// Parses one value for each of reads, writes and trims, separated by commas. An empty value is `default`.
/// The last value applies to the values that are not given.
pub fn each<T: Clone>(text: &str, default: &T, read: impl Fn(&str) -> Option<T>) -> Option<Each<T>> {
    let mut values = Vec::new();
    for part in text.split(',').map(str::trim) {
        values.push(if part.is_empty() { default.clone() } else { read(part)? });
    }
    let last = values.last()?.clone();
    (values.len() <= 3).then(|| {
        values.resize(3, last);
        values.try_into().unwrap_or_else(|_| unreachable!("three are three"))
    })
}

/// Description of the syntax of [`shares`].
pub const SHARES: &str = "values with their percentages, 100 in all, such as 4k/60:64k/40";

/// Parses values with their percentages, `4k/10:64k/50:32k/40`. Values without a percentage divide the rest
/// of 100 among them.
pub fn shares<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, f64)>> {
    let mut all = Vec::new();
    for part in text.split(':') {
        let (value, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent.trim() {
            "" => None,
            given => Some(given.parse::<u64>().ok().filter(|percent| *percent <= 100)?),
        };
        all.push((read(value.trim())?, percent));
    }
    let given: u64 = all.iter().filter_map(|(_, percent)| *percent).sum();
    let open = all.iter().filter(|(_, percent)| percent.is_none()).count();
    if given > 100 || open == 0 && given < 100 {
        return None;
    }
    let rest = (100 - given) as f64 / open.max(1) as f64;
    Some(all.into_iter().map(|(value, percent)| (value, percent.map_or(rest, |p| p as f64))).collect())
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()))
}
