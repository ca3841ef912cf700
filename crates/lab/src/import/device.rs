//! Converts MQSim's `ssdconfig.xml` to a configuration.

use wordline_kernel::{Bytes, Duration};

use super::Imported;
use super::defaults::DEFAULTS;
use super::flows::Demands;
use super::not_mapped::{NotMapped, not, write_not_mapped};
use super::parameters::Parameters;
use super::settle::{Origins, finish};
use super::text::Toml;
use super::xml;
use crate::devices::Registry;
use crate::error::Result;

/// The device that an MQSim configuration describes, as TOML; `name` is the name of the file. A comment
/// beside each key names the parameter that it comes from. Comments at the end list the parameters without a
/// counterpart, with reasons. The text loads as a configuration: a value that no device here can have is
/// replaced by the nearest possible one, with a note.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn device(registry: &Registry, name: &str, text: &str) -> Result<Imported> {
    let ImportedDevice { out, mut notes, is_preconditioned, .. } = device_for(registry, name, text, None)?;
    let state = if is_preconditioned { "steady-state" } else { "empty" };
    notes.push(format!(
        "{name}: Enabled_Preconditioning = {is_preconditioned}: a run has the option --precondition {state}"
    ));
    Ok(Imported { text: out.text(), notes })
}

pub(super) const ORIGINS: Origins = Origins {
    watermark: "GC_Exec_Threshold",
    spare: "Overprovisioning_Ratio",
    parameter: "a parameter of MQSim",
    lost: "not had here",
};

/// A device that loads.
pub(super) struct ImportedDevice {
    pub out: Toml,
    pub notes: Vec<String>,
    pub dimensions: Dimensions,
    /// The capacity that the host sees.
    pub capacity: Bytes,
    /// Whether MQSim brings it into the steady state before the run.
    pub is_preconditioned: bool,
    pub seed: Option<u64>,
}

/// The device of a configuration, for the flows of a scenario if they are known.
pub(super) fn device_for(
    registry: &Registry,
    name: &str,
    text: &str,
    flows: Option<&Demands>,
) -> Result<ImportedDevice> {
    let document = xml::parse(name, text, "Execution_Parameter_Set")?;
    let mut given = Parameters::of(name, &document.root, DEFAULTS);
    given.notes.extend(document.notes);
    let what = "a configuration of MQSim (CMU-SAFARI/MQSim)";
    let mut out = Toml::of_device((name, "MQSim"), what, ("the device of a configuration of MQSim", ""));
    let flash = part(&mut given, &mut out);
    let mut dimensions = layout(&mut given, &mut out, &flash);
    dimensions.is_sata = front(&mut given, &mut out, flows);
    buffer(&mut given, &mut out, (&dimensions, &flash), flows);
    ftl(&mut given, &mut out);
    garbage_collection(&mut given, &mut out, &flash);
    let lost = write_not_mapped(&mut given, &mut out, &NOT_MAPPED);
    let (is_preconditioned, seed) = of_the_run(&mut given, &mut out);
    let (out, capacity, notes) = finish(registry, name, (given, out), &lost, &ORIGINS)?;
    Ok(ImportedDevice { out, notes, dimensions, capacity, is_preconditioned, seed })
}

/// Reads what is an option of a run here: whether the device is preconditioned, and the seed. Writes comments about them.
fn of_the_run(given: &mut Parameters, out: &mut Toml) -> (bool, Option<u64>) {
    let is_preconditioned = given.flag("Enabled_Preconditioning");
    let state = "an option of a run, --precondition";
    out.lines.push(format!("# Enabled_Preconditioning = {is_preconditioned}: {state}."));
    let seed = given.skip("Seed");
    out.lines.extend(seed.iter().map(|seed| format!("# Seed = {seed}: an option of a run, --seed.")));
    (is_preconditioned, seed.and_then(|seed| seed.parse().ok()))
}

/// The numbers of a device that the address ranges of flows depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimensions {
    /// Channels, chips of a channel, dies of a chip, and planes of a die.
    pub counts: [u64; 4],
    /// Bytes of a page.
    pub page: u64,
    /// Whether the host interface is SATA, where all flows use all planes.
    pub is_sata: bool,
}

impl Dimensions {
    /// Total number of planes.
    pub fn planes(&self) -> u64 {
        self.counts.iter().fold(1, |all, count| all.saturating_mul(*count))
    }
}

/// The properties of the flash that other parts of the device depend on.
struct Flash {
    page: u64,
    blocks: u64,
    planes: u64,
    suspends: &'static str,
}

/// The fastest bus of a part here, in MT/s.
const FASTEST_BUS: u64 = 10_000;

/// One second in nanoseconds, the upper limit of a chip's times.
const SECOND: u64 = 1_000_000_000;

fn part(given: &mut Parameters, out: &mut Toml) -> Flash {
    let technology = given.word("Flash_Technology", &["SLC", "MLC", "TLC"]);
    let bits = match technology {
        "SLC" => 1,
        "MLC" => 2,
        _ => 3_u64,
    };
    let of_pages = |given: &mut Parameters, [low, middle, high]: [&'static str; 3]| {
        let all = [low, middle, high].map(|key| given.whole(key, 1..=SECOND));
        let times = match bits {
            1 => vec![all[0]],
            2 => vec![all[0], all[2]],
            _ => all.to_vec(),
        };
        let times: Vec<String> = times.iter().map(|ns| format!("\"{}\"", Duration::from_ns(*ns))).collect();
        let is_same = times.iter().all(|time| *time == times[0]);
        format!("[{}]", if is_same { times[0].clone() } else { times.join(", ") })
    };
    let reads = of_pages(given, ["Page_Read_Latency_LSB", "Page_Read_Latency_CSB", "Page_Read_Latency_MSB"]);
    let programs =
        of_pages(given, ["Page_Program_Latency_LSB", "Page_Program_Latency_CSB", "Page_Program_Latency_MSB"]);
    let planes = given.whole("Plane_No_Per_Die", 1..=16);
    let blocks = given.whole("Block_No_Per_Plane", 1..=1 << 20);
    let pages = given.whole("Page_No_Per_Block", 1..=1 << 16);
    let page = given.whole("Page_Capacity", 512..=1 << 20);
    let suspends = given.word("CMD_Suspension_Support", &["NONE", "PROGRAM", "PROGRAM_ERASE", "ERASE"]);
    out.table("part");
    out.line(
        "base",
        "\"mqsim-mlc\"",
        "the time between planes (tDBSY), and the power, which MQSim does not have",
    );
    out.line(
        "endurance",
        given.whole("Block_PE_Cycles_Limit", 1..=u64::from(u32::MAX)),
        "Block_PE_Cycles_Limit",
    );
    out.table("part.geometry");
    out.line("bits_per_cell", bits, "Flash_Technology");
    out.line("planes", planes, "Plane_No_Per_Die");
    out.line("blocks_per_plane", blocks, "Block_No_Per_Plane");
    let whole = pages / bits * bits;
    let told = if whole < pages { "Page_No_Per_Block, in whole word lines" } else { "Page_No_Per_Block" };
    out.line("pages_per_block", whole, told);
    out.size("page_size", page, "Page_Capacity");
    out.size("spare_size", given.whole("Page_Metadat_Capacity", 0..=1 << 20), "Page_Metadat_Capacity");
    out.table("part.timing");
    out.line("read", reads, "Page_Read_Latency_*, by the page of a word line");
    out.line("program", programs, "Page_Program_Latency_*, by the page of a word line");
    out.time("erase", given.whole("Block_Erase_Latency", 1..=SECOND), "Block_Erase_Latency");
    let suspend = ["Suspend_Program_Time", "Suspend_Erase_Time"]
        .map(|key| format!("\"{}\"", Duration::from_ns(given.whole(key, 0..=SECOND))));
    out.line("suspend", format!("[{}]", suspend.join(", ")), "Suspend_Program_Time, Suspend_Erase_Time");
    bus(given, out);
    Flash { page, blocks, planes, suspends }
}

/// Writes the keys of the bus. It has eight lines, so a wider bus of MQSim becomes a faster one.
fn bus(given: &mut Parameters, out: &mut Toml) {
    out.table("part.bus");
    given.word("Flash_Comm_Protocol", &["NVDDR2"]);
    out.line("interface", "\"NV-DDR2\"", "Flash_Comm_Protocol");
    let (rate, width) =
        (given.whole("Channel_Transfer_Rate", 1..=10_000_000), given.whole("Flash_Channel_Width", 1..=8));
    let told = match width {
        1 => "Channel_Transfer_Rate; Flash_Channel_Width = 1 byte".to_owned(),
        _ => format!("Channel_Transfer_Rate times a Flash_Channel_Width of {width} bytes"),
    };
    let wide = rate.saturating_mul(width);
    if width > 1 {
        given.note(
            "Flash_Channel_Width",
            format!("an NV-DDR2 bus has 8 lines: {wide} MT/s in place of {width} bytes"),
        );
    }
    let possible = wide.min(FASTEST_BUS);
    if possible < wide {
        given.note(
            "Channel_Transfer_Rate",
            format!("{wide} MT/s is more than a bus can have: {possible} is used"),
        );
    }
    out.line("rate", format!("\"{possible}MT/s\""), &told);
}

/// Writes the keys of the die layout.
fn layout(given: &mut Parameters, out: &mut Toml, flash: &Flash) -> Dimensions {
    let mut counts = [1, 1, 1, flash.planes];
    out.table("layout");
    let keys = [
        ("channels", "Flash_Channel_Count"),
        ("packages_per_channel", "Chip_No_Per_Channel"),
        ("dies_per_package", "Die_No_Per_Chip"),
    ];
    for ((key, from), count) in keys.into_iter().zip(&mut counts) {
        *count = given.whole(from, 1..=1024);
        out.line(key, *count, from);
    }
    out.line("planes_per_row", 1, "MQSim opens and collects blocks plane by plane");
    Dimensions { counts, page: flash.page, is_sata: false }
}

/// Writes the keys of the host interface. Returns whether it is SATA.
fn front(given: &mut Parameters, out: &mut Toml, flows: Option<&Demands>) -> bool {
    let interface = given.word("HostInterface_Type", &["NVME", "SATA"]);
    let depth = given.at_most("IO_Queue_Depth", 1, 65_535);
    let fetched = given.at_most("Queue_Fetch_Size", 1, 65_535);
    let (lane, lanes) =
        (given.number("PCIe_Lane_Bandwidth", 1_000.0), given.at_most("PCIe_Lane_Count", 1, 16));
    let delay = given.skip("SATA_Processing_Delay");
    out.table("front");
    if interface == "SATA" {
        out.line("interface", "\"sata\"", "HostInterface_Type");
        out.line("queue_depth", depth.min(32), "IO_Queue_Depth, at most the 32 of SATA");
        if let Some(ns) = delay.and_then(|delay| delay.parse().ok()) {
            out.time("command_time", ns, "SATA_Processing_Delay, once for each command");
        }
        out.lines.push(
            "# PCIe_Lane_Bandwidth, PCIe_Lane_Count, Queue_Fetch_Size: not mapped, of NVMe alone.".into(),
        );
        return true;
    }
    out.line("interface", "\"nvme\"", "HostInterface_Type");
    let count = flows.map_or(1, |flows| flows.count as u64);
    let told = match count {
        1 => "Queue_Fetch_Size, of all queues together".to_owned(),
        _ => format!("Queue_Fetch_Size for each of {count} queues; here the sum of all"),
    };
    out.line("queue_depth", (fetched * count).min(65_535), &told);
    out.line("command_time", 0, "MQSim has none");
    if delay.is_some() {
        out.lines.push("# SATA_Processing_Delay: not mapped, of SATA alone.".into());
    }
    out.table("front.nvme");
    match flows {
        Some(flows) => out.line("queues", flows.count, "a queue for each flow"),
        None => out.line("queues", 8, "MQSim, flows of a scenario at most"),
    }
    out.line("entries", depth.max(2), "IO_Queue_Depth");
    if let Some(letters) = flows.and_then(Demands::priorities) {
        out.line(
            "arbitration",
            format!("{{ policy = \"weighted-round-robin\", priorities = \"{letters}\" }}"),
            "Priority_Class of the flows; the weights are the defaults here",
        );
    }
    out.table("front.nvme.link");
    let megabytes = (1_000.0 * lane).round().max(1.0);
    out.line("lane_bandwidth", format!("\"{megabytes}MB\""), "PCIe_Lane_Bandwidth");
    let wide = [1, 2, 4, 8, 16].into_iter().find(|wide| *wide >= lanes).expect("it is 16 at most");
    out.line("lanes", wide, "PCIe_Lane_Count");
    false
}

/// Time in which MQSim's DRAM transfers 4 KiB. It opens a row, then transfers bursts at both clock edges
/// (`estimate_dram_access_time`).
fn dram_time(given: &mut Parameters) -> u64 {
    let row = given.whole("Data_Cache_DRAM_Row_Size", 1..=1 << 30);
    let rate = given.whole("Data_Cache_DRAM_Data_Rate", 1..=1_000_000);
    let burst = given.whole("Data_Cache_DRAM_Data_Busrt_Size", 1..=4096);
    let [open, column, close] = ["Data_Cache_DRAM_tRCD", "Data_Cache_DRAM_tCL", "Data_Cache_DRAM_tRP"]
        .map(|key| given.whole(key, 0..=SECOND));
    let rows = 4096_u64.div_ceil(row);
    rows * (open + column) + (rows - 1) * close + 4096 / burst / 2 * 1_000 / rate
}

/// Largest buffer of a device, whose pages have 32-bit numbers. Chosen: larger than the DRAM of any drive.
const LARGEST_BUFFER: u64 = 64 << 30;

fn buffer(
    given: &mut Parameters,
    out: &mut Toml,
    (dimensions, flash): (&Dimensions, &Flash),
    flows: Option<&Demands>,
) {
    let mechanism = given.word("Caching_Mechanism", &["ADVANCED", "SIMPLE"]);
    let size = given.at_most("Data_Cache_Capacity", 1, LARGEST_BUFFER);
    let sharing = given.word("Data_Cache_Sharing_Mode", &["SHARED", "EQUAL_PARTITIONING"]);
    out.table("buffer");
    out.size("size", size, "Data_Cache_Capacity");
    out.line("space", "\"written\"", "MQSim counts the sectors that were written");
    let is_cached = flows.is_none_or(|flows| flows.caches_writes);
    if !is_cached {
        out.line(
            "mode",
            "\"write-through\"",
            "Device_Level_Data_Caching_Mode of all flows: writes are not cached",
        );
    }
    let time = dram_time(given);
    out.time(
        "access_time",
        time,
        "Data_Cache_DRAM_*, of 4 KiB; accesses are concurrent here, and sequential in MQSim",
    );
    if !is_cached {
        out.lines
            .push(format!("# Caching_Mechanism = {mechanism}: no effect on writes that are not cached."));
    } else if mechanism == "ADVANCED" {
        let in_flight = Bytes(dimensions.planes().saturating_mul(flash.page));
        out.line(
            "destage",
            format!("{{ policy = \"unless-hot\", window = \"1s\", in_flight = \"{in_flight}\" }}"),
            "Caching_Mechanism: a page is destaged at once unless it was written in this second; planes times pages in flight",
        );
    } else {
        out.line(
            "destage",
            "{ policy = \"when-full\" }",
            "Caching_Mechanism = SIMPLE; chosen, not compared with MQSim",
        );
    }
    if is_cached {
        out.line("eviction", "{ policy = \"lru\" }", "MQSim");
        out.line("flush_above", 0.9, "the highest watermark here; MQSim waits until the buffer is full");
        out.line("flush_interval", 0, "MQSim has none");
    }
    if sharing != "SHARED" {
        given.note("Data_Cache_Sharing_Mode", format!("{sharing}: flows share the buffer here"));
    }
    out.lines.push(format!("# Data_Cache_Sharing_Mode = {sharing}: flows share the buffer here."));
}

/// All orders of channel, way, die and plane.
const ORDERS: [&str; 24] = [
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP",
    "DCPW", "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

fn ftl(given: &mut Parameters, out: &mut Toml) {
    if given.word("Address_Mapping", &["PAGE_LEVEL", "ZONE_LEVEL"]) == "ZONE_LEVEL" {
        let note = "ZONE_LEVEL of a fork of MQSim: a conventional device with PAGE_LEVEL; zoned devices have the type `zoned`";
        given.note("Address_Mapping", note);
    }
    given.word("Memory_Type", &["FLASH"]);
    out.table("ftl");
    out.line("over_provisioning", given.fraction("Overprovisioning_Ratio"), "Overprovisioning_Ratio");
    let order = given.word("Plane_Allocation_Scheme", &ORDERS);
    out.line(
        "placement",
        format!("{{ policy = \"fixed\", order = \"{order}\" }}"),
        "Plane_Allocation_Scheme",
    );
    out.lines.push("# Address_Mapping = PAGE_LEVEL, Memory_Type = FLASH: as here.".into());
    let is_ideal = given.flag("Ideal_Mapping_Table");
    let cache = given.whole("CMT_Capacity", 0..=1 << 40);
    if is_ideal {
        out.lines.push(
            "# Ideal_Mapping_Table = true: the map is in memory, and CMT_Capacity has no effect.".into(),
        );
    } else {
        out.size("mapping.cache", cache, "CMT_Capacity: the map is in flash (Ideal_Mapping_Table = false)");
    }
}

fn garbage_collection(given: &mut Parameters, out: &mut Toml, flash: &Flash) {
    let Flash { blocks, suspends, .. } = *flash;
    let free = ((blocks as f64 * given.fraction("GC_Exec_Threshold")) as u64).max(3);
    let victim = given
        .word("GC_Block_Selection_Policy", &["GREEDY", "RGA", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO"]);
    let (policy, from) = match victim {
        "GREEDY" => ("{ policy = \"greedy\" }".to_owned(), "GC_Block_Selection_Policy"),
        "RGA" => {
            let choices = blocks.max(2).ilog2();
            let policy = format!("{{ policy = \"d-choices\", choices = {choices} }}");
            (policy, "GC_Block_Selection_Policy = RGA: as many as the logarithm of the blocks of a plane")
        }
        "FIFO" => ("{ policy = \"fifo\" }".to_owned(), "GC_Block_Selection_Policy"),
        _ => (
            "{ policy = \"random\" }".to_owned(),
            "GC_Block_Selection_Policy, of RANDOM, RANDOM_P and RANDOM_PP alike",
        ),
    };
    out.table("ftl.gc");
    out.line("start_below_free_blocks", free, "GC_Exec_Threshold, of the blocks of a plane; at least 3");
    out.line("stop_at_free_blocks", free, "GC_Exec_Threshold");
    out.line("victim", policy, from);
    out.line("copyback", given.flag("Use_Copyback_for_GC"), "Use_Copyback_for_GC");
    out.line("preemptible", given.flag("Preemptible_GC_Enabled"), "Preemptible_GC_Enabled");
    out.table("ftl.scheduling");
    let of = |kinds: &[&str]| kinds.contains(&suspends);
    out.line("suspend_programs", of(&["PROGRAM", "PROGRAM_ERASE"]), "CMD_Suspension_Support");
    out.line("suspend_erases", of(&["ERASE", "PROGRAM_ERASE"]), "CMD_Suspension_Support");
}

/// Parameters that are not mapped to keys, each with the values that need no key, and the reason.
const NOT_MAPPED: [NotMapped; 14] = [
    not(
        "Enable_ResponseTime_Logging",
        &["FALSE"],
        "a run logs every request with --log, and has windows of time in its JSON",
    ),
    not("ResponseTime_Logging_Period_Length", &["*"], "a run has windows of equal width, by its length"),
    not("CMT_Sharing_Mode", &["SHARED"], "flows share the cache of the map here"),
    not(
        "Transaction_Scheduling_Policy",
        &["PRIORITY_OUT_OF_ORDER", "OUT_OF_ORDER"],
        "reads go first, and commands of a die out of order, as PRIORITY_OUT_OF_ORDER; FLIN is not here",
    ),
    not("GC_Hard_Threshold", &["*"], "pre-emptible GC stops yielding at the blocks reserved for it"),
    not(
        "Dynamic_Wearleveling_Enabled",
        &["TRUE"],
        "the least worn free block is opened in any case (ftl.wear.allocation)",
    ),
    not(
        "Static_Wearleveling_Enabled",
        &["FALSE"],
        "no policy here compares erase counts, and MQSim levels in any case; see ftl.wear.levelling",
    ),
    not("Static_Wearleveling_Threshold", &["*"], "as Static_Wearleveling_Enabled"),
    not(
        "Preferred_suspend_erase_time_for_read",
        &["0"],
        "a read suspends an erase however long that still takes",
    ),
    not("Preferred_suspend_erase_time_for_write", &["*"], "writes suspend nothing here"),
    not(
        "Preferred_suspend_write_time_for_read",
        &["*"],
        "a read suspends a program however long that still takes",
    ),
    not("Data_Cache_DRAM_Data_Burst_Size", &["*"], "MQSim reads Data_Cache_DRAM_Data_Busrt_Size"),
    not("GC_Exect_Threshold", &["*"], "MQSim reads GC_Exec_Threshold"),
    not("Type", &["*"], "MQSim does not read it"),
];
