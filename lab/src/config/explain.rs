//! What follows from a configuration: numbers of everything, capacity, memory, unloaded latency and peak speeds.

use std::fmt::Write;

use wordline_kernel::{Bytes, Duration};
use wordline_nand::chain::{self, Hold};
use wordline_ssd::Config;
use wordline_ssd::front::{Link, Way};

use super::Device;

/// The derived values of `device` as text, each with the formula that it follows from.
pub fn explain(device: &Device) -> String {
    let config = &device.config;
    let mut out = format!("device {}\n", device.name);
    if !device.description.is_empty() {
        out += &format!("  {}\n", device.description);
    }
    let lines = [
        numbers(config),
        capacity(config),
        collection(config),
        map(config),
        memory(config),
        latency(config),
        peak(config),
    ];
    for (title, rows) in lines {
        let _ = writeln!(out, "\n{title}");
        for (what, value) in rows {
            let _ = writeln!(out, "  {what:<34} {value}");
        }
    }
    out
}

type Section = (&'static str, Vec<(&'static str, String)>);

fn numbers(config: &Config) -> Section {
    let g = config.geometry();
    (
        "geometry",
        vec![
            ("part", format!("{} ({})", config.part().name, config.part().source)),
            ("channels x dies", format!("{} x {} = {} dies", g.channels, g.dies_per_channel, g.dies())),
            (
                "planes",
                format!("{} a die, {} programmed together", config.part().geometry.planes, g.planes_per_row),
            ),
            (
                "blocks x pages",
                format!("{} a plane x {} pages of {}", g.blocks_per_plane, g.pages_per_block, g.page_size),
            ),
            ("program unit", human(g.page_size * u64::from(g.pages_per_program))),
            ("erase unit", human(row_block(config))),
            ("pages", g.pages().to_string()),
        ],
    )
}

fn row_block(config: &Config) -> Bytes {
    config.geometry().page_size * u64::from(config.geometry().pages_per_row_block())
}

fn capacity(config: &Config) -> Section {
    let (all, seen) = (config.geometry().capacity(), config.capacity());
    let spare = (all.0 - seen.0) as f64;
    (
        "capacity",
        vec![
            ("physical", human(all)),
            ("logical", human(seen)),
            ("spare / physical", format!("{:.2}% (ftl.over_provisioning)", 100.0 * spare / all.0 as f64)),
            ("spare / logical", format!("{:.2}% (as drives are advertised)", 100.0 * spare / seen.0 as f64)),
        ],
    )
}

fn collection(config: &Config) -> Section {
    let gc = &config.file.ftl.gc;
    let bytes = |blocks: u32| {
        let all = row_block(config) * u64::from(blocks) * u64::from(config.pools.rows());
        format!("{blocks} free blocks in a row of planes, {} in all", human(all))
    };
    (
        "garbage collection",
        vec![
            ("starts below", bytes(gc.start_below_free_blocks)),
            ("stops at", bytes(gc.stop_at_free_blocks)),
        ],
    )
}

/// The map that the device itself needs.
fn map(config: &Config) -> Section {
    let mapping = &config.file.ftl.mapping;
    let what = match (mapping.cache, config.map_cache()) {
        (Some(cache), Some(size)) => format!(
            "{cache} for {} of {} entries, and the places of {} translation pages",
            size.entries, config.logical_pages, size.tables
        ),
        _ if mapping.block.is_some() => format!("{} logical blocks", config.logical_blocks()),
        _ => format!("{} entries of {}", config.logical_pages, mapping.entry),
    };
    let unit = config.unit;
    (
        "map of the device",
        vec![
            ("mapped as one", human(unit)),
            ("in DRAM", format!("{} ({what})", human(config.map_memory()))),
            ("in flash", human(unit * u64::from(config.translation_pages()))),
        ],
    )
}

/// Tables by their entries: map and shadow 4 B a logical page each, stamps 8 B a place for one, 32 B a block
/// (counters, state and list links, rounded up).
fn memory(config: &Config) -> Section {
    let g = config.geometry();
    let (map, stamps) =
        (Bytes(8 * u64::from(config.mapped_pages())), Bytes(8 * u64::from(config.slots().count())));
    let blocks = Bytes(32 * u64::from(g.row_blocks()));
    // Per entry of a cache: the page, two lists and a place in a table that is half full, rounded up.
    let cache = config
        .map_cache()
        .map_or(Bytes(0), |size| Bytes(56 * u64::from(size.entries) + 28 * u64::from(size.tables)));
    (
        "memory of the simulator, about",
        vec![
            ("map and shadow, 8 B a logical page", human(map)),
            ("stamps, 8 B a place for one", human(stamps)),
            ("blocks, 32 B each", human(blocks)),
            ("cache of the map, 56 B an entry", human(cache)),
            ("together", human(map + stamps + blocks + cache)),
        ],
    )
}

fn mean(times: impl ExactSizeIterator<Item = Duration>) -> Duration {
    let count = times.len().max(1) as u64;
    times.sum::<Duration>() / count
}

/// Mean sensing and programming time over the pages of a block, which may have more of one type than of another; a
/// one-shot part programs all of a word line at once.
fn array_times(config: &Config) -> (Duration, Duration) {
    let pages = 0..config.part().geometry.pages_per_block;
    let read = mean(pages.clone().map(|page| config.part().read_time(page)));
    (read, mean(pages.map(|page| config.part().program_time(page))))
}

fn latency(config: &Config) -> Section {
    let (part, g) = (config.part(), config.geometry());
    let size = Bytes::kib(4).min(g.page_size);
    let bus = Hold::Read.total(part, 1) + chain::data_out_of(part, size);
    let sense = part.read_times().iter();
    let front = &config.file.front;
    let link = Link::of(front).map_or(Duration::ZERO, |link| link.unloaded(Way::ToHost, size.0));
    let reads: Vec<String> = sense.map(|time| micros(link + front.command_time + bus + *time)).collect();
    let load = Hold::Program.total(part, g.planes_per_row);
    let programs: Vec<String> = part.program_times().iter().map(|time| micros(load + *time)).collect();
    let erase = Hold::Erase.total(part, g.planes_per_row) + part.timing.erase;
    (
        "unloaded latency",
        vec![
            (
                "read of 4KiB, by page type",
                format!("{} (link + command_time + command + tR + data out)", reads.join(", ")),
            ),
            ("program of a unit", format!("{} (command + data in + tPROG)", programs.join(", "))),
            ("erase", format!("{} (command + tBERS)", micros(erase))),
        ],
    )
}

fn peak(config: &Config) -> Section {
    let (part, g) = (config.part(), config.geometry());
    let (t_read, t_program) = array_times(config);
    let row = g.page_size * u64::from(g.planes_per_row);
    let unit = g.page_size * u64::from(g.pages_per_program);
    let read = Hold::Read.total(part, g.planes_per_row) + Hold::DataOut.total(part, g.planes_per_row);
    let write = Hold::Program.total(part, g.planes_per_row);
    let (channels, rows) = (u64::from(g.channels), u64::from(g.rows()));
    let pair = |bus: f64, array: f64| {
        let least = if bus < array { "the buses bind" } else { "the arrays bind" };
        format!("buses {bus:.0} MB/s, arrays {array:.0} MB/s: {least}")
    };
    let mut rows = vec![
        ("read", pair(rate(row, read, channels), rate(row, t_read, rows))),
        ("program", pair(rate(unit, write, channels), rate(unit, t_program, rows))),
        (
            "",
            "buses: channels x size / time on the bus; arrays: rows of planes x size / tR or tPROG (mean)"
                .into(),
        ),
    ];
    if let Some(link) = Link::of(&config.file.front) {
        let rate = |way| link.peak(way) / 1e6;
        rows.push((
            "link",
            format!(
                "to the device {:.0} MB/s, to the host {:.0} MB/s",
                rate(Way::ToDevice),
                rate(Way::ToHost)
            ),
        ));
    }
    ("peak throughput", rows)
}

/// Megabytes a second of `count` times `size` every `time`.
fn rate(size: Bytes, time: Duration, count: u64) -> f64 {
    (size * count).0 as f64 / time.us()
}

fn micros(time: Duration) -> String {
    format!("{:.3} us", time.us())
}

/// A size as people read it, two digits after the point.
fn human(size: Bytes) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| size.0 >= *unit);
    unit.map_or_else(|| size.to_string(), |(unit, name)| format!("{:.2} {name}", size.0 as f64 / unit as f64))
}
