//! Converts a configuration of SimpleSSD 2.0 (`ssd.cfg`) to a configuration. Sources: `config.cc` of each part
//! in SimpleSSD/SimpleSSD, 2be37161.

use wordline_kernel::{Bytes, Duration};

use super::Imported;
use super::ini;
use super::not_mapped::{NotMapped, not, write_not_mapped};
use super::parameters::Parameters;
use super::settle::{Origins, finish};
use super::text::Toml;
use crate::devices::Registry;
use crate::error::Result;

/// The interface of the host, which a run configuration selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// None: requests reach the cache directly.
    Direct,
    Nvme,
    Sata,
    Ufs,
}

/// A device that loads, and the state in which SimpleSSD begins.
pub(super) struct ImportedDevice {
    pub imported: Imported,
    /// Capacity that the host sees.
    pub capacity: Bytes,
    /// Value of `--precondition`.
    pub precondition: String,
}

const ORIGINS: Origins = Origins {
    watermark: "ftl.GCThreshold",
    spare: "ftl.OverProvisioningRatio",
    parameter: "a parameter of SimpleSSD",
    lost: "not simulated",
};

/// One second in picoseconds, the upper limit of a chip's times.
const SECOND: u64 = 1_000_000_000_000;

/// The device that a configuration of SimpleSSD describes, as TOML, behind NVMe; `name` is the name of the
/// file. Comments are as for MQSim.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn device(registry: &Registry, name: &str, text: &str) -> Result<Imported> {
    device_for(registry, name, text, Interface::Nvme).map(|device| device.imported)
}

/// The device behind an interface.
pub(super) fn device_for(
    registry: &Registry,
    name: &str,
    text: &str,
    interface: Interface,
) -> Result<ImportedDevice> {
    let mut given = Parameters::of_list((name, "SimpleSSD"), ini::parse(name, text)?, DEFAULTS);
    let what = "a configuration of SimpleSSD (SimpleSSD/SimpleSSD)";
    let described = ("the device of a configuration of SimpleSSD", "");
    let mut out = Toml::of_device((name, "SimpleSSD"), what, described);
    let flash = part(&mut given, &mut out);
    layout(&mut out, &flash);
    let namespaces = front(&mut given, &mut out, interface);
    buffer(&mut given, &mut out, &flash);
    let precondition = ftl(&mut given, &mut out, &flash);
    let mut lost = write_not_mapped(&mut given, &mut out, NOT_MAPPED);
    lost.extend(sections(&mut given, &mut out, interface));
    if namespaces > 1 {
        out.lines.push(format!("# nvme.DefaultNamespace = {namespaces}: namespaces of equal size."));
        let fraction = (1e6 / namespaces as f64).floor() / 1e6;
        for _ in 0..namespaces {
            out.lines.extend([String::new(), "[[namespaces]]".into(), format!("fraction = {fraction}")]);
        }
    }
    let (out, capacity, notes) = finish(registry, name, (given, out), &lost, &ORIGINS)?;
    Ok(ImportedDevice { imported: Imported { text: out.text(), notes }, capacity, precondition })
}

/// The properties of the flash that other parts of the device depend on.
struct Flash {
    /// Channels, packages, dies and planes.
    counts: [u64; 4],
    blocks: u64,
    /// Whether all planes of a die work together.
    is_multi_plane: bool,
}

fn part(given: &mut Parameters, out: &mut Toml) -> Flash {
    let bits = match given.word("pal.NANDType", &["0", "1", "2"]) {
        "0" => 1,
        "1" => 2,
        _ => 3_u64,
    };
    let counts = ["pal.Channel", "pal.Package", "pal.Die"].map(|key| given.whole(key, 1..=1024));
    let planes = given.whole("pal.Plane", 1..=16);
    let blocks = given.whole("pal.Block", 1..=1 << 20);
    let pages = given.whole("pal.Page", 1..=1 << 16);
    out.table("part");
    out.line("base", "\"simplessd-mlc\"", "the times between planes and the power, unless they are below");
    let endurance = given.whole("ftl.EraseThreshold", 1..=u64::from(u32::MAX));
    out.line("endurance", endurance, "ftl.EraseThreshold");
    out.table("part.geometry");
    out.line("bits_per_cell", bits, "pal.NANDType");
    out.line("planes", planes, "pal.Plane");
    out.line("blocks_per_plane", blocks, "pal.Block");
    let whole = (pages / bits * bits).max(bits);
    out.line(
        "pages_per_block",
        whole,
        if whole == pages { "pal.Page" } else { "pal.Page, in whole word lines" },
    );
    out.size("page_size", given.whole("pal.PageSize", 512..=1 << 20), "pal.PageSize");
    let (read, program) = (times(given, out, "Read", bits), times(given, out, "Write", bits));
    out.table("part.timing");
    out.line("read", read, "pal.LSBRead and others, by the page of a word line");
    out.line("program", program, "pal.LSBWrite and others, by the page of a word line");
    let erase = Duration::from_ps(given.whole("pal.Erase", 1..=SECOND));
    out.line("erase", format!("\"{erase}\""), "pal.Erase");
    power(given, out);
    bus(given, out);
    let [channels, packages, dies] = counts;
    let is_multi_plane = given.switch("pal.EnableMultiPlaneOperation");
    Flash { counts: [channels, packages, dies, planes], blocks, is_multi_plane }
}

/// The times of the pages of a word line. SimpleSSD gives them in picoseconds, also for pages that the cells
/// do not have.
fn times(given: &mut Parameters, out: &mut Toml, what: &str, bits: u64) -> String {
    let keys: [&'static str; 3] = match what {
        "Read" => ["pal.LSBRead", "pal.CSBRead", "pal.MSBRead"],
        _ => ["pal.LSBWrite", "pal.CSBWrite", "pal.MSBWrite"],
    };
    let used = |n: usize| n == 0 || n == 2 && bits > 1 || n == 1 && bits > 2;
    let mut all = Vec::new();
    for (n, key) in keys.into_iter().enumerate() {
        if used(n) {
            all.push(format!("\"{}\"", Duration::from_ps(given.whole(key, 1..=SECOND))));
        } else if let Some(value) = given.skip(key) {
            out.lines.push(format!("# {key} = {value}: cells of {bits} bits have no such page."));
        }
    }
    format!("[{}]", all.join(", "))
}

/// Writes the power of the array, where a configuration has it: a voltage in millivolts and currents in
/// microamperes.
fn power(given: &mut Parameters, out: &mut Toml) {
    let keys = [
        ("read", "pal.ReadCurrent"),
        ("program", "pal.ProgramCurrent"),
        ("erase", "pal.EraseCurrent"),
        ("idle", "pal.StandbyCurrent"),
    ];
    let voltage = given.skip("pal.Voltage").unwrap_or_else(|| "3300".into());
    let currents: Vec<(&str, &str, String)> =
        keys.into_iter().filter_map(|(key, from)| Some((key, from, given.skip(from)?))).collect();
    if currents.is_empty() {
        return;
    }
    out.table("part.power");
    for (key, from, current) in currents {
        match (voltage.parse::<u64>(), current.parse::<u64>()) {
            (Ok(millivolts), Ok(microamperes)) if millivolts <= 10_000 && microamperes <= 1_000_000 => {
                let microwatts = millivolts * microamperes / 1000;
                out.line(key, format!("\"{microwatts}uW\""), &format!("pal.Voltage times {from}"));
            }
            _ => out.lines.push(format!("# {from} = {current}, pal.Voltage = {voltage}: no such power.")),
        }
    }
}

/// Writes the keys of the bus. It has eight lines, so a wider bus becomes a faster one.
fn bus(given: &mut Parameters, out: &mut Toml) {
    let rate = given.whole("pal.DMASpeed", 1..=10_000);
    let width = given.whole("pal.DMAWidth", 8..=64);
    if !width.is_multiple_of(8) {
        given.complain("pal.DMAWidth", width, "8, or a multiple of 8: SimpleSSD has no other");
    }
    // SimpleSSD counts 2^20 transfers as a million.
    let exact = (rate as f64 * 1.048_576 * (width / 8).max(1) as f64).round() as u64;
    let possible = exact.min(10_000);
    if possible < exact {
        given.note("pal.DMASpeed", format!("{exact} MT/s is more than a bus can have: {possible} is used"));
    }
    if width > 8 {
        let text = format!("an NV-DDR2 bus has 8 lines: {possible} MT/s in place of {width} lines");
        given.note("pal.DMAWidth", text);
    }
    out.table("part.bus");
    out.line("interface", "\"NV-DDR2\"", "");
    out.line("rate", format!("\"{possible}MT/s\""), "pal.DMASpeed of 2^20 transfers, times pal.DMAWidth");
}

fn layout(out: &mut Toml, flash: &Flash) {
    let [channels, packages, dies, planes] = flash.counts;
    out.table("layout");
    out.line("channels", channels, "pal.Channel");
    out.line("packages_per_channel", packages, "pal.Package");
    out.line("dies_per_package", dies, "pal.Die");
    let together = if flash.is_multi_plane { planes } else { 1 };
    out.line("planes_per_row", together, "pal.EnableMultiPlaneOperation");
}

/// Writes the keys of the host interface. Returns the number of namespaces.
fn front(given: &mut Parameters, out: &mut Toml, interface: Interface) -> u64 {
    let (section, kind) = match interface {
        Interface::Direct => ("nvme", "direct"),
        Interface::Nvme => ("nvme", "nvme"),
        Interface::Sata => ("sata", "sata"),
        Interface::Ufs => ("ufs", "direct"),
    };
    let keys: [&'static str; 3] = match section {
        "sata" => ["sata.LBASize", "sata.WorkInterval", "sata.MaxRequestCount"],
        "ufs" => ["ufs.LBASize", "ufs.WorkInterval", "ufs.MaxRequestCount"],
        _ => ["nvme.LBASize", "nvme.WorkInterval", "nvme.MaxRequestCount"],
    };
    out.table("front");
    out.line("interface", format!("\"{kind}\""), "");
    if interface == Interface::Ufs {
        given.note("Interface", "UFS is not simulated: the device has no link");
    }
    let sector = given.whole(keys[0], 512..=1 << 20);
    out.size("sector_size", sector, keys[0]);
    out.line("queue_depth", 1024, "chosen: SimpleSSD has no limit");
    let interval = given.whole(keys[1], 1..=SECOND);
    let count = given.whole(keys[2], 1..=1 << 20);
    if interface == Interface::Direct {
        out.lines
            .push(format!("# {}, {}: without an interface there is no controller loop.", keys[1], keys[2]));
    } else {
        let each = Duration::from_ps(interval / count);
        out.line("command_interval", format!("\"{each}\""), &format!("{} / {}", keys[1], keys[2]));
    }
    match interface {
        Interface::Nvme => nvme(given, out),
        Interface::Sata => {
            let generation = given.whole("sata.SATAMode", 0..=2) + 1;
            out.table("front.sata");
            out.line("generation", generation, "sata.SATAMode");
        }
        Interface::Direct | Interface::Ufs => {}
    }
    if interface == Interface::Nvme { given.whole("nvme.DefaultNamespace", 1..=1024) } else { 1 }
}

fn nvme(given: &mut Parameters, out: &mut Toml) {
    out.table("front.nvme");
    out.line("queues", given.whole("nvme.MaxIOSQueue", 1..=65_535), "nvme.MaxIOSQueue");
    out.table("front.nvme.link");
    out.line("generation", given.whole("nvme.PCIEGeneration", 0..=2) + 1, "nvme.PCIEGeneration");
    let lanes = given.whole("nvme.PCIELane", 1..=32);
    let wide = [1, 2, 4, 8, 16].into_iter().find(|wide| *wide >= lanes).unwrap_or(16);
    if wide != lanes {
        given.note("nvme.PCIELane", format!("a link cannot have {lanes} lanes: {wide} are used"));
    }
    out.line("lanes", wide, "nvme.PCIELane");
}

/// Largest buffer of a device. Chosen: larger than the DRAM of any drive.
const LARGEST_BUFFER: u64 = 64 << 30;

fn buffer(given: &mut Parameters, out: &mut Toml, flash: &Flash) {
    let size = given.at_most("icl.CacheSize", 1, LARGEST_BUFFER);
    let [writes, reads, ahead] = ["icl.EnableWriteCache", "icl.EnableReadCache", "icl.EnableReadPrefetch"]
        .map(|key| given.switch(key));
    let policy = match given.word("icl.EvictPolicy", &["0", "1", "2"]) {
        "0" => {
            given.note("icl.EvictPolicy", "0, a random line: the least recently used page is evicted here");
            "lru"
        }
        "1" => "fifo",
        _ => "lru",
    };
    let pages = match given.word("icl.ReadPrefetchMode", &["0", "1"]) {
        "0" => 1,
        _ => flash.counts.iter().product(),
    };
    out.table("buffer");
    out.size("size", size, "icl.CacheSize");
    if writes {
        out.lines.push("# icl.EnableWriteCache = 1: a write completes in the buffer, as here.".into());
        out.line("eviction", format!("{{ policy = \"{policy}\" }}"), "icl.EvictPolicy");
        out.line("flush_above", 0.9, "the highest watermark here; SimpleSSD evicts when its cache is full");
        out.line("flush_interval", 0, "SimpleSSD has none");
    } else {
        out.line("mode", "\"write-through\"", "icl.EnableWriteCache = 0");
    }
    if reads {
        let told = "icl.EnableReadCache, icl.CacheSize: reads and writes share it in SimpleSSD";
        out.size("read_cache", size, told);
        out.line("read_eviction", format!("{{ policy = \"{policy}\" }}"), "icl.EvictPolicy");
        if ahead {
            let told = "icl.EnableReadPrefetch, icl.ReadPrefetchMode: a page of each plane, or one page";
            out.line("read_ahead", pages.min(65_535), told);
        }
    } else if ahead {
        out.lines.push("# icl.EnableReadPrefetch = 1: there is no read cache to prefetch into.".into());
    }
}

/// Writes the keys of the FTL. Returns the precondition.
fn ftl(given: &mut Parameters, out: &mut Toml, flash: &Flash) -> String {
    given.word("ftl.MappingMode", &["0"]);
    out.table("ftl");
    out.lines.push("# ftl.MappingMode = 0: pages are mapped, as here.".into());
    let spare = given.fraction("ftl.OverProvisioningRatio");
    out.line("over_provisioning", spare, "ftl.OverProvisioningRatio");
    let order = order(given, flash.is_multi_plane);
    out.line("placement", format!("{{ policy = \"fixed\", order = \"{order}\" }}"), "pal.PageAllocation");
    garbage_collection(given, out, flash);
    let filled = given.fraction_to_one("ftl.FillRatio");
    let mode = given.word("ftl.FillingMode", &["0", "1", "2"]);
    let invalid = given.fraction_to_one("ftl.InvalidPageRatio");
    let precondition = if filled == 0.0 { "empty".to_owned() } else { format!("{filled}") };
    out.lines.push(format!("# ftl.FillRatio = {filled}: run it with --precondition {precondition}."));
    out.lines.push(format!(
        "# ftl.FillingMode = {mode}, ftl.InvalidPageRatio = {invalid}: --precondition writes each page once, in order; `steady-state` overwrites pages too."
    ));
    if filled > 0.0 && (mode == "2" || invalid > 0.0) {
        given.note("ftl.FillingMode, ftl.InvalidPageRatio", "no overwritten pages: see the comments");
    }
    precondition
}

/// The order in which pages are placed. With multi-plane operations planes come first, as in SimpleSSD.
fn order(given: &mut Parameters, is_multi_plane: bool) -> String {
    let text = given.text("pal.PageAllocation").to_ascii_uppercase();
    let letters: String = text.chars().filter(|letter| "CWDP".contains(*letter)).take(4).collect();
    if !"CWDP".chars().all(|letter| letters.contains(letter)) {
        given.complain("pal.PageAllocation", format!("`{text}`"), "the letters C, W, D and P, such as CWDP");
        return "CWDP".into();
    }
    match is_multi_plane {
        true => format!("P{}", letters.replace('P', "")),
        false => letters,
    }
}

fn garbage_collection(given: &mut Parameters, out: &mut Toml, flash: &Flash) {
    let of_blocks = |share: f64| (flash.blocks as f64 * share).ceil() as u64;
    let start = of_blocks(given.fraction("ftl.GCThreshold")).max(3);
    let mode = given.word("ftl.GCMode", &["0", "1"]);
    let blocks = given.whole("ftl.GCReclaimBlocks", 1..=1 << 20);
    let until = given.fraction_to_one("ftl.GCReclaimThreshold");
    let (stop, from) = match mode {
        "0" => (
            start - 1 + blocks,
            "ftl.GCReclaimBlocks more than at the start (ftl.GCMode = 0, without ftl.GCReclaimThreshold)",
        ),
        _ => (of_blocks(until), "ftl.GCReclaimThreshold (ftl.GCMode = 1, without ftl.GCReclaimBlocks)"),
    };
    let choices = given.whole("ftl.DChoiceParam", 1..=65_535);
    let victim = match given.word("ftl.EvictPolicy", &["0", "1", "2", "3"]) {
        "0" => "{ policy = \"greedy\" }".to_owned(),
        "1" => "{ policy = \"cost-benefit\" }".to_owned(),
        "2" => "{ policy = \"random\" }".to_owned(),
        _ => format!("{{ policy = \"d-choices\", choices = {choices} }}"),
    };
    out.table("ftl.gc");
    out.line("start_below_free_blocks", start, "ftl.GCThreshold, of the blocks of a plane; at least 3");
    out.line("stop_at_free_blocks", stop.max(start), from);
    out.line("victim", victim, "ftl.EvictPolicy, ftl.DChoiceParam");
}

/// Parameters that are not mapped to keys, each with the values that need no key, and the reason.
const NOT_MAPPED: &[NotMapped] = &[
    not("pal.SuperblockSize", &["", "P"], "blocks are opened and collected in each die by itself"),
    not("pal.IdleCurrent", &["*"], "the current of an idle bus: see part.power.interface"),
    not("ftl.EnableRandomIOTweak", &["1", "true"], "a page is mapped by itself, as with 1"),
    not("icl.CacheWaySize", &["0"], "the buffer is fully associative, as with 0"),
    not("icl.EvictMode", &["0"], "one page is evicted at a time, to any plane"),
    not("icl.ReadPrefetchCount", &["*"], "the second sequential read starts the read-ahead"),
    not("icl.ReadPrefetchRatio", &["*"], "as icl.ReadPrefetchCount"),
    not("icl.CacheLatency", &["*"], "an access takes buffer.access_time"),
    not("nvme.AXIBusWidth", &["*"], "the bus inside the controller is faster than the link"),
    not("nvme.AXIClock", &["*"], "as nvme.AXIBusWidth"),
    not("nvme.FIFOTransferUnit", &["*"], "as nvme.AXIBusWidth"),
    not("nvme.MaxIOCQueue", &["*"], "each submission queue has a completion queue"),
    not("nvme.WRRHigh", &["*"], "queues take turns; see front.nvme.arbitration"),
    not("nvme.WRRMedium", &["*"], "as nvme.WRRHigh"),
    not("nvme.EnableDiskImage", &["*"], "data have no contents"),
    not("nvme.StrictSizeCheck", &["*"], "data have no contents"),
    not("nvme.UseCopyOnWriteDisk", &["*"], "data have no contents"),
    not("sata.SATAMode", &["*"], "the device has another interface"),
];

/// Writes comments about sections of which no parameter is mapped. Returns those whose effect is lost.
fn sections(given: &mut Parameters, out: &mut Toml, interface: Interface) -> Vec<String> {
    let firmware = "the firmware's instructions are not simulated; front.command_time is a time per command";
    let dram = "DRAM is not simulated; an access takes buffer.access_time";
    let other = "the device has another interface";
    let own = "buses of the host's controller are not simulated, and data have no contents";
    let of = |section: Interface| if interface == section { (own, true) } else { (other, false) };
    let (sata, ufs) = (of(Interface::Sata), of(Interface::Ufs));
    let all = [
        ("cpu.", firmware, true),
        ("dram.", dram, true),
        ("sata.", sata.0, sata.1),
        ("ufs.", ufs.0, ufs.1),
        ("nvme.DiskImageFile", "data have no contents", false),
        ("nvme.", other, false),
    ];
    let mut lost = Vec::new();
    for (start, reason, is_lost) in all {
        let is_of_nvme = start == "nvme." && interface == Interface::Nvme;
        let found = if is_of_nvme { Vec::new() } else { given.skip_all(start) };
        out.lines.extend(found.iter().map(|(key, value)| format!("# {key} = {value}: {reason}.")));
        if is_lost && !found.is_empty() {
            lost.push(format!("{start}* ({} keys)", found.len()));
        }
    }
    lost
}

/// Values that SimpleSSD gives to parameters which are not in a configuration.
const DEFAULTS: &[(&str, &str)] = &[
    ("pal.Channel", "8"),
    ("pal.Package", "4"),
    ("pal.Die", "2"),
    ("pal.Plane", "1"),
    ("pal.Block", "512"),
    ("pal.Page", "512"),
    ("pal.PageSize", "16384"),
    ("pal.EnableMultiPlaneOperation", "1"),
    ("pal.DMASpeed", "400"),
    ("pal.DMAWidth", "8"),
    ("pal.NANDType", "1"),
    ("pal.LSBRead", "40000000"),
    ("pal.LSBWrite", "500000000"),
    ("pal.MSBRead", "65000000"),
    ("pal.MSBWrite", "1300000000"),
    ("pal.Erase", "3500000000"),
    ("ftl.MappingMode", "0"),
    ("ftl.OverProvisioningRatio", "0.25"),
    ("ftl.GCThreshold", "0.05"),
    ("ftl.EraseThreshold", "100000"),
    ("ftl.FillingMode", "0"),
    ("ftl.FillRatio", "0"),
    ("ftl.InvalidPageRatio", "0"),
    ("ftl.GCMode", "0"),
    ("ftl.GCReclaimBlocks", "1"),
    ("ftl.GCReclaimThreshold", "0.1"),
    ("ftl.EvictPolicy", "0"),
    ("ftl.DChoiceParam", "3"),
    ("icl.EnableReadCache", "0"),
    ("icl.EnableWriteCache", "1"),
    ("icl.EnableReadPrefetch", "0"),
    ("icl.EvictPolicy", "2"),
    ("icl.CacheSize", "33554432"),
    ("icl.ReadPrefetchMode", "1"),
    ("nvme.PCIEGeneration", "2"),
    ("nvme.PCIELane", "4"),
    ("nvme.WorkInterval", "50000"),
    ("nvme.MaxRequestCount", "4"),
    ("nvme.MaxIOSQueue", "16"),
    ("nvme.LBASize", "512"),
    ("nvme.DefaultNamespace", "1"),
    ("sata.SATAMode", "2"),
    ("sata.WorkInterval", "50000"),
    ("sata.MaxRequestCount", "4"),
    ("sata.LBASize", "512"),
    ("ufs.WorkInterval", "50000"),
    ("ufs.MaxRequestCount", "4"),
    ("ufs.LBASize", "512"),
];
