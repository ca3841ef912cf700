//! Values that follow from a configuration: design, counts, capacity, memory, unloaded latency and peak
//! throughput.

use wordline_designs::SelectedDesigns;
use wordline_device::link::Direction;
use wordline_ftl::pools::ChannelsFile;
use wordline_kernel::{Bytes, Duration};
use wordline_nand::chain::{self, BusPhase};
use wordline_nand::{Geometry, Part, Pool};
use wordline_run::quantity::Quantity;
use wordline_ssd::Config;
use wordline_ssd::front::link_of;

use crate::memory::Memory;

/// A heading, and the names and values under it.
pub type Section = (String, Vec<(String, String)>);

/// The values that follow from the configuration of an SSD.
pub(crate) fn sections(config: &Config, designs: &SelectedDesigns) -> Vec<Section> {
    let of_pools = |rows: fn(&Config, usize) -> Rows, title: &str| {
        let title = |n: usize| match config.ftl.pools.count() {
            1 => title.to_owned(),
            _ => format!("{title} of pool {}: {}", n + 1, config.ftl.pools.get(n).part.name),
        };
        (0..config.ftl.pools.count()).map(|n| (title(n), rows(config, n))).collect::<Vec<_>>()
    };
    let sections = [
        designs
            .settings()
            .map(|(name, key, table)| (format!("design {name}"), settings(&key, table)))
            .collect(),
        of_pools(numbers, "geometry"),
        vec![("capacity".to_owned(), capacity(config))],
        of_pools(collection, "garbage collection"),
        vec![
            ("map of the device".to_owned(), map(config)),
            ("memory of the simulator, about".to_owned(), memory(config)),
        ],
        of_pools(latency, "unloaded latency"),
        of_pools(peak, "peak throughput"),
    ];
    sections.into_iter().flatten().collect()
}

/// A geometry in words.
pub(crate) fn geometry_in_words(geometry: &Geometry) -> String {
    let count = |number: u32, what: &str| {
        format!("{} {what}{}", Quantity::Count(number.into()), if number == 1 { "" } else { "s" })
    };
    format!(
        "{}, {}, {} of {} blocks of {} pages of {}",
        count(geometry.channels, "channel"),
        count(geometry.dies(), "die"),
        count(geometry.dies() * geometry.groups_per_die * geometry.planes_per_row, "plane"),
        Quantity::Count(geometry.blocks_per_plane.into()),
        Quantity::Count(geometry.pages_per_block.into()),
        human(geometry.page_size),
    )
}

type Rows = Vec<(String, String)>;

fn row(what: impl Into<String>, value: impl Into<String>) -> (String, String) {
    (what.into(), value.into())
}

/// The settings of a design, defaults included.
fn settings(key: &str, table: toml::Table) -> Rows {
    let value = |value: toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    table.into_iter().map(|(name, setting)| row(format!("{key}.{name}"), value(setting))).collect()
}

fn numbers(config: &Config, n: usize) -> Rows {
    let Pool { part, geometry: g, .. } = config.ftl.pools.get(n);
    let mut rows = vec![
        row("part", format!("{} ({})", part.name, part.source)),
        row("channels x dies", channels_and_dies(g)),
        row("planes", format!("{} a die, {} programmed together", part.geometry.planes, g.planes_per_row)),
        row(
            "blocks x pages",
            format!(
                "{} a plane x {} pages of {}",
                count(g.blocks_per_plane),
                count(g.pages_per_block),
                human(g.page_size)
            ),
        ),
        row("program unit", human(g.page_size * u64::from(g.pages_per_program))),
        row("erase unit", human(block_set(g))),
        row("pages", count(g.pages())),
    ];
    if let Some(pool) = n.checked_sub(1).map(|n| &config.file.pools[n]) {
        let channels = match pool.channels {
            ChannelsFile::Shared => "shared with pool 1",
            ChannelsFile::Dedicated => "its own",
        };
        rows.push(row("channels", channels));
    }
    if config.ftl.pools.count() > 1 {
        rows.push(row("capacity", human(g.capacity())));
    }
    rows
}

fn channels_and_dies(g: &Geometry) -> String {
    let short = match g.short_channels {
        0 => String::new(),
        some => format!(", less {} on {some} of them", g.missing_dies),
    };
    format!("{} x {}{short} = {} dies", g.channels, g.dies_per_channel, g.dies())
}

fn block_set(g: &Geometry) -> Bytes {
    g.page_size * u64::from(g.pages_per_block_set())
}

fn capacity(config: &Config) -> Rows {
    let (all, seen) = (config.ftl.pools.capacity(), config.ftl.capacity());
    let spare = (all.0 - seen.0) as f64;
    let of = match config.file.ftl.reserved_blocks {
        0 => "ftl.over_provisioning".to_owned(),
        some => format!("ftl.over_provisioning, and {some} reserved blocks in a plane group"),
    };
    let mut rows = vec![
        row("physical", human(all)),
        row("logical", human(seen)),
        row("spare / physical", format!("{} ({of})", Quantity::Fraction(spare / all.0 as f64))),
        row(
            "spare / logical",
            format!("{} (as drives are advertised)", Quantity::Fraction(spare / seen.0 as f64)),
        ),
    ];
    rows.extend(slc_cache(config));
    rows
}

/// The size of the SLC cache of an erased device, and the write rates before and after it is full. Written
/// data reduce the spare blocks of which the cache takes a share.
fn slc_cache(config: &Config) -> Option<(String, String)> {
    if !config.ftl.file.uses_slc_cache() {
        return None;
    }
    let Pool { part, geometry: g, .. } = config.ftl.pools.get(0);
    let (cache, slc) = (config.ftl.file.slc_cache_of(0)?, part.timing.slc.as_ref()?);
    let (bits, groups) = (f64::from(part.geometry.bits_per_cell), u64::from(g.rows()));
    let kept = config.ftl.file.streams().active_blocks() + cache.blocks;
    let spare = f64::from(g.blocks_per_plane.saturating_sub(kept));
    let blocks = f64::from(cache.blocks) + cache.spare * spare / (1.0 + cache.spare / bits);
    let size = blocks * block_set(g).0 as f64 / bits * groups as f64;
    let (_, native) = array_times(part);
    let before = rate(g.page_size * u64::from(g.planes_per_row), slc.program, groups);
    let after = rate(g.page_size * u64::from(g.pages_per_program), native, groups);
    let [before, after] = [before, after].map(|rate| Quantity::Throughput(rate * 1e6));
    let size = Quantity::Bytes(size);
    Some(row("SLC cache", format!("about {size} on an erased device; arrays write {before}, then {after}")))
}

fn collection(config: &Config, n: usize) -> Rows {
    let (gc, geometry) = (&config.file.ftl.gc, &config.ftl.pools.get(n).geometry);
    let own = n.checked_sub(1).and_then(|n| config.file.pools.get(n));
    let start = own.and_then(|pool| pool.start_below_free_blocks).unwrap_or(gc.start_below_free_blocks);
    let stop = own.and_then(|pool| pool.stop_at_free_blocks).unwrap_or(gc.stop_at_free_blocks).max(start);
    let bytes = |blocks: u32| {
        let all = block_set(geometry) * u64::from(blocks) * u64::from(geometry.rows());
        format!("{blocks} free blocks in a plane group, {} in all", human(all))
    };
    vec![row("starts below", bytes(start)), row("stops at", bytes(stop))]
}

/// The rows about the L2P map.
fn map(config: &Config) -> Rows {
    let mapping = &config.file.ftl.mapping;
    let what = match (mapping.cache, config.ftl.map_cache()) {
        (Some(cache), Some(size)) => format!(
            "{} for {} of {} entries, and the addresses of {} translation pages",
            human(cache),
            count(size.entries),
            count(config.ftl.logical_pages),
            count(size.tables)
        ),
        _ if mapping.block.is_some() => format!("{} logical blocks", count(config.ftl.logical_blocks())),
        _ => format!("{} entries of {}", count(config.ftl.logical_pages), human(mapping.entry)),
    };
    let what = match config.ftl.mapped_units() {
        Some(units) => format!("{what}, and {} of units", count(units)),
        None => what,
    };
    let unit = config.ftl.unit;
    let together = (config.ftl.pools.count() > 1).then(|| {
        let size = human(unit * u64::from(config.ftl.pages_per_sub_request()));
        let how = if mapping.whole_units { ", which pool 1 holds whole" } else { "" };
        row("destaged together", format!("what was written of {size}{how}"))
    });
    let mut rows = vec![row("mapping unit", human(unit))];
    rows.extend(together);
    rows.push(row("in DRAM", format!("{} ({what})", human(config.ftl.map_memory()))));
    rows.push(row("in flash", human(unit * u64::from(config.ftl.translation_pages()))));
    rows
}

fn memory(config: &Config) -> Rows {
    let memory = Memory::of_ssd(config);
    let pages = count(config.ftl.mapped_pages());
    vec![
        row("map and versions, 5 B a logical page", format!("{} of {pages} pages", human(memory.map))),
        row("data tags, 5 B a mapping unit, and valid bits", human(memory.tags)),
        row("blocks, 32 B each", human(memory.blocks)),
        row("cache of the map, 56 B an entry", human(memory.cache)),
        row("together", human(memory.sum())),
    ]
}

fn mean(times: impl ExactSizeIterator<Item = Duration>) -> Duration {
    let count = times.len().max(1) as u64;
    times.sum::<Duration>() / count
}

/// Mean array read and program time over the pages of a block. A one-shot part programs a whole word line at
/// once.
fn array_times(part: &Part) -> (Duration, Duration) {
    let pages = 0..part.geometry.pages_per_block;
    let read = mean(pages.clone().map(|page| part.read_time(page)));
    (read, mean(pages.map(|page| part.program_time(page))))
}

fn latency(config: &Config, n: usize) -> Rows {
    let Pool { part, geometry: g, .. } = config.ftl.pools.get(n);
    let size = Bytes::kib(4).min(g.page_size);
    let bus = BusPhase::Read.total(part, 1) + chain::data_out_of(part, size);
    let sense = part.read_times().iter();
    let front = &config.file.front;
    let link = link_of(front).map_or(Duration::ZERO, |link| link.unloaded(Direction::ToHost, size.0));
    let reads: Vec<String> = sense.map(|time| micros(link + front.command_time + bus + *time)).collect();
    let load = BusPhase::Program.total(part, g.planes_per_row);
    let programs: Vec<String> = part.program_times().iter().map(|time| micros(load + *time)).collect();
    let erase = BusPhase::Erase.total(part, g.planes_per_row) + part.timing.erase;
    vec![
        row(
            format!("read of {size}, by page type"),
            format!("{} (link + command_time + command + tR + data out)", reads.join(", ")),
        ),
        row("program of a unit", format!("{} (command + data in + tPROG)", programs.join(", "))),
        row("erase", format!("{} (command + tBERS)", micros(erase))),
    ]
}

fn peak(config: &Config, n: usize) -> Rows {
    let Pool { part, geometry: g, .. } = config.ftl.pools.get(n);
    let (t_read, t_program) = array_times(part);
    let sensed = g.page_size * u64::from(g.planes_per_row);
    let unit = g.page_size * u64::from(g.pages_per_program);
    let read = BusPhase::Read.total(part, g.planes_per_row) + BusPhase::DataOut.total(part, g.planes_per_row);
    let write = BusPhase::Program.total(part, g.planes_per_row);
    let (channels, rows) = (u64::from(g.channels), u64::from(g.rows()));
    let pair = |bus: f64, array: f64| {
        let least = if bus < array { "the buses limit" } else { "the arrays limit" };
        format!(
            "buses {}, arrays {}: {least}",
            Quantity::Throughput(bus * 1e6),
            Quantity::Throughput(array * 1e6)
        )
    };
    let mut rows = vec![
        row("read", pair(rate(sensed, read, channels), rate(sensed, t_read, rows))),
        row("program", pair(rate(unit, write, channels), rate(unit, t_program, rows))),
        row("", "buses: channels x size / bus time; arrays: plane groups x size / tR or tPROG (mean)"),
    ];
    let interval = config.file.front.command_interval;
    if interval > Duration::ZERO {
        let most = Quantity::Count((1e6 / interval.us()) as u64);
        rows.push(row("firmware", format!("{most} commands a second (front.command_interval)")));
    }
    if let Some(link) = link_of(&config.file.front) {
        let rate = |way| Quantity::Throughput(link.peak(way));
        rows.push(row(
            "link",
            format!("to the device {}, to the host {}", rate(Direction::ToDevice), rate(Direction::ToHost)),
        ));
    }
    rows
}

/// Megabytes per second, if `count` times `size` are moved in each `time`.
fn rate(size: Bytes, time: Duration, count: u64) -> f64 {
    (size * count).0 as f64 / time.us()
}

fn micros(time: Duration) -> String {
    Quantity::Latency(time.us()).to_string()
}

/// A size with a unit for readers.
pub(crate) fn human(size: Bytes) -> String {
    Quantity::Bytes(size.0 as f64).to_string()
}

fn count(number: impl Into<u64>) -> String {
    Quantity::Count(number.into()).to_string()
}
