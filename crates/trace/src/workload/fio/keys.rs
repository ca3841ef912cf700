//! Values of the keys that are simulated.

use wordline_kernel::{Duration, one_of};

use super::engines::engine;
use super::settings::{
    AddressSettings, Durability, Mix, Ops, Order, Pace, Queue, Rate, Scope, Service, ServiceOrder, Settings,
    SizeDistribution, Spread, Streams, Times, Verify, ZoneMode, ZoneSettings,
};
use super::values::{
    AMOUNT, Amount, Each, FLAG, NUMBER, SHARES, TIME, Units, amount, each, flag, number, shares, signed, time,
};

/// Values that would be valid.
type Wanted = String;

/// Result of setting a key.
type Set = Result<(), Wanted>;

/// A value as the file has it, with the units of its numbers.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub text: Option<&'a str>,
    pub units: Units,
}

impl<'a> Given<'a> {
    fn text(self) -> &'a str {
        self.text.unwrap_or("")
    }

    fn number(self) -> Option<u64> {
        number(self.text(), self.units)
    }

    fn amount(self) -> Option<Amount> {
        amount(self.text(), self.units)
    }

    fn time(self, without: Duration) -> Option<Duration> {
        time(self.text(), without)
    }

    fn flag(self) -> Option<bool> {
        flag(self.text)
    }

    /// A number within bounds.
    fn within(self, least: u64, most: u64) -> Result<u64, Wanted> {
        let found = self.number().filter(|number| (least..=most).contains(number));
        found.ok_or_else(|| match most {
            u64::MAX => format!("a number of at least {least}"),
            _ => format!("a number from {least} to {most}"),
        })
    }

    /// One of several words.
    fn word<T: Copy>(self, words: &[(&str, T)]) -> Result<T, Wanted> {
        let found = words.iter().find(|(word, _)| *word == self.text());
        let names = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        found.map(|(_, value)| *value).ok_or_else(|| format!("one of {}", names()))
    }
}

const EACH_SIZE: &str =
    "sizes from 512 to 1g in multiples of 512, one or with commas those of reads, writes and trims";
const RANGE: &str = "sizes from 512 to 1g in multiples of 512, such as 4k-64k";
const SPREAD: &str = "random, zipf:1.2 with an exponent above 0 and at most 5 and not 1, pareto:0.2 with a power above 0 and below 1, \
    normal:5 with a deviation below 100, zoned:60/10:40/90 or zoned_abs:60/1g:40/10g";
const EACH_RATE: &str = "a number above 0, one or with commas those of reads, writes and trims";
const PERCENT: &str = "a percentage from 0 to 100";
const FILES: &str = "one to 4096 names, separated by colons";
const STREAMS: &str = "numbers from 0 to 254, such as 0,1 or 4-7";

/// Stores a parsed value.
fn assign<T>(to: &mut T, read: Option<T>, wanted: &str) -> Set {
    *to = read.ok_or(wanted)?;
    Ok(())
}

const SECOND: Duration = Duration::from_ms(1000);
const MICROSECOND: Duration = Duration::from_us(1);

impl Settings {
    /// Sets a key, by its first name in the table. `None` for a key that is not simulated.
    pub fn set(&mut self, key: &str, given: Given<'_>) -> Option<Set> {
        Some(match key {
            "rw" | "rwmixread" | "rwmixwrite" | "rw_sequencer" | "percentage_random" => {
                self.mix.set(key, given)
            }
            "bs" | "bsrange" | "bssplit" | "ba" | "bs_unaligned" | "bs_is_seq_rand" => {
                self.set_size(key, given)
            }
            "iodepth"
            | "iodepth_low"
            | "iodepth_batch_complete_min"
            | "ioengine"
            | "direct"
            | "buffered"
            | "numjobs"
            | "io_submit_mode" => self.queue.set(key, given),
            "filename" | "filename_format" | "directory" | "nrfiles" | "file_service_type" => {
                self.place.set_files(key, given)
            }
            "offset"
            | "offset_increment"
            | "offset_align"
            | "size"
            | "filesize"
            | "fill_device"
            | "random_distribution"
            | "norandommap"
            | "randrepeat"
            | "randseed" => self.place.set(key, given),
            "zonemode" | "zonesize" | "zonecapacity" | "zonerange" | "zoneskip" | "max_open_zones"
            | "job_max_open_zones" | "read_beyond_wp" | "write_mode" => self.zones.set(key, given),
            "io_size" => {
                let size = given.amount().map(|size| Some(size).filter(|size| *size != Amount::Bytes(0)));
                assign(&mut self.total.bytes, size, AMOUNT)
            }
            "number_ios" => given.within(0, u64::MAX).map(|count| {
                self.total.requests = Some(count).filter(|count| *count > 0);
            }),
            "read_iolog" => {
                let path = Some(given.text()).filter(|path| !path.is_empty() && !path.contains(':'));
                assign(&mut self.replay, path.map(|path| Some(path.to_owned())), "the path of one trace")
            }
            "loops" => given.within(1, u64::from(u32::MAX)).map(|loops| self.total.loops = loops),
            "rate" | "rate_iops" | "rate_process" | "rate_ignore_thinktime" => self.pace.set_rate(key, given),
            "thinktime" | "thinktime_blocks" | "thinktime_blocks_type" | "thinktime_iotime" => {
                self.pace.set_think(key, given)
            }
            "startdelay" | "runtime" | "time_based" | "ramp_time" => self.times.set(key, given),
            "fsync" | "fdatasync" | "end_fsync" | "end_syncfs" | "fsync_on_close" | "sync" | "writefua" => {
                self.durability.set(key, given)
            }
            "verify" | "do_verify" | "verify_backlog" | "verify_backlog_batch" => self.verify.set(key, given),
            "fdp" | "dataplacement" | "plids" | "plid_select" => self.streams.set(key, given),
            "stonewall" | "new_group" | "wait_for" | "exitall" | "exit_what" | "flow" | "flow_id"
            | "flow_sleep" => self.order.set(key, given),
            _ => return None,
        })
    }

    fn set_size(&mut self, key: &str, given: Given<'_>) -> Set {
        let sizes = &mut self.sizes;
        let size = |text: &str| {
            number(text, given.units).filter(|size| *size > 0 && size.is_multiple_of(512) && *size <= 1 << 30)
        };
        let range = |text: &str| {
            let (least, most) = text.split_once(['-', ':'])?;
            let (least, most) = (size(least)?, size(most)?);
            Some(SizeDistribution::Range(least.min(most), least.max(most)))
        };
        let usual = SizeDistribution::Split(vec![(4096, 100.0)]);
        let fixed = |text: &str| Some(SizeDistribution::Split(vec![(size(text)?, 100.0)]));
        match key {
            "bssplit" => {
                let split = |text: &str| shares(text, size).map(SizeDistribution::Split);
                assign(&mut sizes.of, each(given.text(), &usual, split), SHARES)
            }
            "bsrange" => assign(&mut sizes.of, each(given.text(), &usual, range), RANGE),
            "ba" => {
                let align = |text: &str| {
                    number(text, given.units).filter(|size| *size > 0 && size.is_multiple_of(512)).map(Some)
                };
                assign(&mut sizes.align, each(given.text(), &None, align), EACH_SIZE)
            }
            "bs_unaligned" => assign(&mut sizes.unaligned, given.flag(), FLAG),
            "bs_is_seq_rand" => assign(&mut sizes.by_randomness, given.flag(), FLAG),
            _ => {
                let found = each(given.text(), &usual, fixed);
                let is_decimal = given.text().to_ascii_lowercase().contains("ki")
                    && number("1ki", given.units) == Some(1000);
                let wanted = if is_decimal {
                    format!("{EACH_SIZE}; in fio 4ki is 4,000 unless kb_base=1000, and 4k is 4,096")
                } else {
                    EACH_SIZE.into()
                };
                assign(&mut sizes.of, found, &wanted)
            }
        }
    }
}

impl Mix {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        let percent = || given.number().filter(|percent| *percent <= 100);
        match key {
            "rwmixread" => assign(&mut self.reads, percent(), PERCENT),
            "rwmixwrite" => assign(&mut self.reads, percent().map(|writes| 100 - writes), PERCENT),
            "percentage_random" => {
                let share = |text: &str| number(text, given.units).filter(|percent| *percent <= 100);
                assign(&mut self.random, each(given.text(), &100, share), PERCENT)
            }
            "rw_sequencer" => {
                given.word(&[("sequential", false), ("identical", true)]).map(|is| self.repeats = is)
            }
            _ => self.set_kinds(given),
        }
    }

    fn set_kinds(&mut self, given: Given<'_>) -> Set {
        const KINDS: [(&str, (Ops, bool)); 11] = [
            ("read", (Ops::Only(0), false)),
            ("write", (Ops::Only(1), false)),
            ("trim", (Ops::Only(2), false)),
            ("randread", (Ops::Only(0), true)),
            ("randwrite", (Ops::Only(1), true)),
            ("randtrim", (Ops::Only(2), true)),
            ("rw", (Ops::Both, false)),
            ("readwrite", (Ops::Both, false)),
            ("randrw", (Ops::Both, true)),
            ("trimwrite", (Ops::TrimWrite, false)),
            ("randtrimwrite", (Ops::TrimWrite, true)),
        ];
        let text = given.text();
        let (kind, more) = text.split_once(':').map_or((text, None), |(kind, more)| (kind, Some(more)));
        let (ops, is_random) = Given { text: Some(kind), ..given }.word(&KINDS)?;
        let (mut run, mut step) = (1, 0);
        match (more, is_random) {
            (None, _) => {}
            (Some(more), true) => {
                let found = number(more, given.units).filter(|run| (1..=u64::from(u32::MAX)).contains(run));
                run =
                    found.ok_or("the number of requests to each address, at least 1, such as randread:8")?;
            }
            (Some(more), false) => {
                let found = signed(more, given.units).filter(|step| step.unsigned_abs().is_multiple_of(512));
                step = found
                    .ok_or("bytes to add to each address, a multiple of 512, such as read:8k or read:-8k")?;
            }
        }
        *self = Self { ops, is_random, run, step, ..*self };
        Ok(())
    }
}

impl Queue {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "iodepth" => self.depth = given.within(1, 65_536)?,
            "iodepth_low" => self.low = given.within(0, 65_536)?,
            "iodepth_batch_complete_min" => self.reap = given.within(0, 65_536)?.max(1),
            "numjobs" => self.clones = given.within(1, 65_535)?,
            "direct" => self.is_direct = given.flag().ok_or(FLAG)?,
            "buffered" => self.is_direct = !given.flag().ok_or(FLAG)?,
            "io_submit_mode" => self.is_offloaded = given.word(&[("inline", false), ("offload", true)])?,
            _ => self.engine = engine(given.text())?,
        }
        Ok(())
    }
}

impl AddressSettings {
    fn set_files(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "directory" => self.folder = given.text().into(),
            "filename" => {
                let names = names(given.text());
                let is_good = (1..=4096).contains(&names.len()) && names.iter().all(|name| !name.is_empty());
                self.names = is_good.then_some(names).ok_or(FILES)?;
            }
            "filename_format" => {
                let text = Some(given.text()).filter(|text| !text.is_empty());
                self.format = text.ok_or("a name with $jobname, $jobnum or $filenum")?.into();
            }
            "nrfiles" => self.files = Some(given.within(1, 4096)?),
            _ => self.service = service(given)?,
        }
        Ok(())
    }

    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "offset" => assign(&mut self.offset, given.amount(), AMOUNT),
            "offset_increment" => assign(&mut self.increment, given.amount(), AMOUNT),
            "offset_align" => assign(&mut self.offset_align, given.number(), NUMBER),
            "random_distribution" => {
                let spread = spreads(given).ok_or(SPREAD)?;
                assign(&mut self.spread, Some(spread), SPREAD)
            }
            "norandommap" => assign(&mut self.has_map, given.flag().map(|is| !is), FLAG),
            "randrepeat" => assign(&mut self.repeats, given.flag(), FLAG),
            // A seed of the user's own means that passes differ.
            "randseed" => given.number().map(|_| self.repeats = false).ok_or_else(|| NUMBER.into()),
            "filesize" => {
                let wanted = "one size, such as 16g: files of random sizes are not simulated";
                assign(
                    &mut self.file_size,
                    given.number().map(|size| Some(size).filter(|size| *size > 0)),
                    wanted,
                )
            }
            // A job that fills the device goes on to its end.
            "fill_device" => given.flag().map(|_| ()).ok_or_else(|| FLAG.into()),
            _ => {
                let size = given.amount().map(|size| Some(size).filter(|size| *size != Amount::Bytes(0)));
                assign(&mut self.size, size, AMOUNT)
            }
        }
    }
}

/// Splits names at colons, but not at `\:`.
fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                names.last_mut().expect("there is one").push(':');
            }
            ':' => names.push(String::new()),
            _ => names.last_mut().expect("there is one").push(letter),
        }
    }
    names
}

fn service(given: Given<'_>) -> Result<Service, Wanted> {
    const WANTED: &str =
        "random, roundrobin or sequential, with the number of requests to each file, such as roundrobin:8";
    let (kind, run) = given.text().split_once(':').unwrap_or((given.text(), "1"));
    let by = match kind {
        "random" => ServiceOrder::Random,
        "roundrobin" => ServiceOrder::RoundRobin,
        "sequential" => ServiceOrder::Sequential,
        "zipf" | "pareto" | "normal" | "gauss" => {
            return Err(format!("{WANTED}: {kind} is not simulated for files"));
        }
        _ => return Err(WANTED.into()),
    };
    let run = number(run, given.units).filter(|run| *run > 0).ok_or(WANTED)?;
    Ok(Service { by, run })
}

/// Parses distributions of addresses, as in `random_distribution`.
fn spreads(given: Given<'_>) -> Option<Each<Spread>> {
    let text = given.text();
    let (kind, value) = text.split_once(':').map_or((text, None), |(kind, value)| (kind, Some(value)));
    let numbers = |default: f64| {
        let (number, centre) = value.map_or((None, None), |value| match value.split_once(':') {
            Some((number, centre)) => (Some(number), Some(centre)),
            None => (Some(value), None),
        });
        let parsed = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.map_or(Some(default), parsed)?;
        let centre =
            centre.map(|centre| parsed(centre).filter(|centre| (0.0..=1.0).contains(centre)).ok_or(()));
        Some((number, centre.transpose().ok()?))
    };
    let same = |spread: Spread| [spread.clone(), spread.clone(), spread];
    Some(match kind {
        "random" => value.is_none().then(|| same(Spread::Uniform))?,
        // fio's defaults: FIO_DEF_ZIPF, FIO_DEF_PARETO and 0.
        "zipf" => {
            let (theta, centre) =
                numbers(1.1).filter(|(theta, _)| *theta > 0.0 && *theta <= 5.0 && *theta != 1.0)?;
            same(Spread::Zipf(theta, centre))
        }
        "pareto" => {
            let (power, centre) = numbers(0.2).filter(|(power, _)| *power > 0.0 && *power < 1.0)?;
            same(Spread::Pareto(power, centre))
        }
        "normal" | "gauss" => {
            let (deviation, centre) =
                numbers(0.0).filter(|(deviation, _)| (0.0..100.0).contains(deviation))?;
            same(Spread::Normal(deviation, centre))
        }
        "zoned" => each(value?, &Spread::Uniform, zones)?,
        "zoned_abs" => each(value?, &Spread::Uniform, |text| {
            let one = |part: &str| {
                let (accesses, size) = part.split_once('/')?;
                Some((accesses.trim().parse().ok()?, number(size, given.units)?))
            };
            let zones: Vec<(u64, u64)> = text.split(':').map(one).collect::<Option<_>>()?;
            let is_whole = zones.iter().map(|(accesses, _)| accesses).sum::<u64>() == 100;
            is_whole.then_some(Spread::AbsoluteZones(zones))
        })?,
        _ => return None,
    })
}

fn zones(text: &str) -> Option<Spread> {
    let zones = shares(text, |accesses| accesses.parse::<u64>().ok())?;
    let is_whole = zones.iter().map(|(accesses, _)| *accesses).sum::<u64>() == 100;
    let has_room = zones.iter().all(|(accesses, part)| *accesses == 0 || *part > 0.0);
    (is_whole && has_room).then_some(Spread::Zones(zones))
}

impl ZoneSettings {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "zonemode" => {
                let modes =
                    [("none", ZoneMode::None), ("strided", ZoneMode::Strided), ("zbd", ZoneMode::Zbd)];
                self.mode = Some(given.word(&modes)?);
            }
            "zoneskip" => self.skip = given.amount().ok_or(AMOUNT)?,
            "max_open_zones" => self.max_open = given.within(0, u64::from(u32::MAX))?,
            "job_max_open_zones" => self.job_max_open = given.within(0, u64::from(u32::MAX))?,
            "read_beyond_wp" => self.reads_beyond = given.flag().ok_or(FLAG)?,
            "write_mode" => self.appends = given.word(&[("write", false), ("zone_append", true)])?,
            _ => {
                let size = given.number().filter(|size| size.is_multiple_of(512));
                let size = size.ok_or("a size in multiples of 512, such as 256m")?;
                match key {
                    "zonesize" => self.size = size,
                    "zonecapacity" => self.capacity = size,
                    _ => self.range = size,
                }
            }
        }
        Ok(())
    }
}

impl Pace {
    fn set_rate(&mut self, key: &str, given: Given<'_>) -> Set {
        let above = |part: &str| number(part, given.units).filter(|number| *number > 0);
        let rates = |of: fn(u64) -> Rate| each(given.text(), &Rate::None, |part| above(part).map(of));
        match key {
            "rate" => assign(&mut self.rates, rates(Rate::Bytes), EACH_RATE),
            "rate_iops" => assign(&mut self.rates, rates(Rate::Requests), EACH_RATE),
            "rate_process" => {
                given.word(&[("linear", false), ("poisson", true)]).map(|is| self.is_poisson = is)
            }
            _ => assign(&mut self.ignores_think, given.flag(), FLAG),
        }
    }

    fn set_think(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "thinktime" => self.think = given.time(MICROSECOND).ok_or(TIME)?,
            "thinktime_iotime" => self.think_every = given.time(SECOND).ok_or(TIME)?,
            "thinktime_blocks_type" => {
                self.think_by_issue = given.word(&[("complete", false), ("issue", true)])?;
            }
            _ => {
                self.think_blocks =
                    Some(given.number().filter(|count| *count > 0).ok_or("a number above 0")?);
            }
        }
        Ok(())
    }
}

impl Times {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "startdelay" => assign(&mut self.delay, given.time(SECOND), TIME),
            "ramp_time" => assign(&mut self.ramp, given.time(SECOND), TIME),
            "time_based" => assign(&mut self.is_time_based, given.flag(), FLAG),
            // In fio a runtime of 0 means no runtime.
            _ => {
                let time = given.time(SECOND).map(|time| Some(time).filter(|time| time.ps() > 0));
                assign(&mut self.runtime, time, TIME)
            }
        }
    }
}

impl Durability {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "fsync" => self.fsync = given.within(0, u64::MAX)?,
            "fdatasync" => self.fdatasync = given.within(0, u64::MAX)?,
            "sync" => {
                let words = [("none", false), ("0", false), ("sync", true), ("1", true), ("dsync", true)];
                self.is_sync = given.word(&words)?;
            }
            "writefua" => self.fua = given.flag().ok_or(FLAG)?,
            _ => self.at_end = given.flag().ok_or(FLAG)?,
        }
        Ok(())
    }
}

impl Verify {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "verify" => {
                const METHODS: [&str; 19] = [
                    "md5",
                    "crc64",
                    "crc32",
                    "crc32c-intel",
                    "crc32c",
                    "crc16",
                    "crc7",
                    "sha1",
                    "sha256",
                    "sha512",
                    "sha3-224",
                    "sha3-256",
                    "sha3-384",
                    "sha3-512",
                    "xxhash",
                    "meta",
                    "pattern",
                    "pattern_hdr",
                    "null",
                ];
                let found = given.text();
                if found != "0" && !METHODS.contains(&found) {
                    return Err(one_of(found, &METHODS));
                }
                self.is_on = found != "0";
            }
            "do_verify" => self.skips_reads = !given.flag().ok_or(FLAG)?,
            "verify_backlog" => self.backlog = given.within(0, u64::MAX)?,
            _ => self.batch = given.within(0, u64::MAX)?,
        }
        Ok(())
    }
}

impl Streams {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "fdp" => self.is_on = given.flag().ok_or(FLAG)?,
            "dataplacement" => {
                self.is_on = given.word(&[("none", false), ("fdp", true), ("streams", true)])?;
            }
            "plid_select" => {
                let words = [("roundrobin", Some(false)), ("random", Some(true)), ("scheme", None)];
                let chosen = given.word(&words)?;
                self.is_random = chosen.ok_or("roundrobin or random: a scheme in a file is not simulated")?;
            }
            _ => self.ids = streams(given.text()).ok_or(STREAMS)?,
        }
        Ok(())
    }
}

/// Parses placement identifiers and ranges of them.
fn streams(text: &str) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // A stream of the device is numbered from 1 in eight bits.
        all.extend((first <= last && last < 255).then_some(first..=last)?);
    }
    Some(all)
}

impl Order {
    fn set(&mut self, key: &str, given: Given<'_>) -> Set {
        match key {
            "stonewall" => self.stonewall = given.flag().ok_or(FLAG)?,
            "new_group" => self.new_group = given.flag().ok_or(FLAG)?,
            "wait_for" => {
                let name = given.text.filter(|name| !name.is_empty());
                self.wait_for = Some(name.ok_or("the name of a job before this one")?.into());
            }
            "exitall" => self.ends = given.flag().ok_or(FLAG)?,
            "exit_what" => {
                let words = [("group", Scope::Group), ("stonewall", Scope::Stonewall), ("all", Scope::All)];
                self.scope = given.word(&words)?;
            }
            "flow" => self.flow = given.within(0, 1_000_000)?,
            "flow_id" => self.flow_id = given.within(0, u64::from(u32::MAX))?,
            _ => self.flow_sleep = given.time(MICROSECOND).ok_or(TIME)?,
        }
        Ok(())
    }
}
