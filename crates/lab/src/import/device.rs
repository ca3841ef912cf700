//! Converts MQSim's `ssdconfig.xml` to a configuration.

use std::fmt::Display;

use wordline_kernel::{Bytes, Duration};

use super::parameters::{Parameters, document};
use crate::error::{Error, Result};

/// The TOML of the device that an MQSim configuration describes; `name` is the name of the file. A comment
/// beside each key names the parameter that it comes from. Comments at the end list the parameters without a
/// counterpart, with reasons.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn device(name: &str, text: &str) -> Result<String> {
    let document = document(name, text, "Execution_Parameter_Set")?;
    let mut given = Parameters::of(name, &document, document.root_element());
    let mut out = Toml::default();
    out.0.push(format!("# Imported from {name}, a configuration of MQSim (CMU-SAFARI/MQSim)."));
    out.line("description", "\"the device of a configuration of MQSim\"", "");
    out.line("source", format!("{:?}", format!("MQSim, {name}")), "");
    let flash = part(&mut given, &mut out);
    let planes = layout(&mut given, &mut out, &flash);
    front(&mut given, &mut out);
    buffer(&mut given, &mut out, planes, &flash);
    ftl(&mut given, &mut out);
    garbage_collection(&mut given, &mut out, &flash);
    not_mapped(&mut given, &mut out);
    given.end().into_result(out.0.join("\n")).map_err(Error::Config)
}

/// The lines of a configuration.
#[derive(Default)]
struct Toml(Vec<String>);

impl Toml {
    fn table(&mut self, name: &str) {
        self.0.extend([String::new(), format!("[{name}]")]);
    }

    fn line(&mut self, key: &str, value: impl Display, from: &str) {
        let comment = if from.is_empty() { String::new() } else { format!(" # {from}") };
        self.0.push(format!("{key} = {value}{comment}"));
    }

    fn time(&mut self, key: &str, ns: u64, from: &str) {
        self.line(key, format!("\"{}\"", Duration::from_ns(ns)), from);
    }

    fn size(&mut self, key: &str, bytes: u64, from: &str) {
        self.line(key, format!("\"{}\"", Bytes(bytes)), from);
    }
}

/// The properties of the flash that other parts of the device depend on.
struct Flash {
    page: u64,
    blocks: u64,
    planes: u64,
    suspends: &'static str,
}

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
    out.table("part.bus");
    given.word("Flash_Comm_Protocol", &["NVDDR2"]);
    out.line("interface", "\"NV-DDR2\"", "Flash_Comm_Protocol");
    let rate = given.whole("Channel_Transfer_Rate", 1..=10_000);
    out.line("rate", format!("\"{rate}MT/s\""), "Channel_Transfer_Rate");
    out.line(
        "width",
        8 * given.whole("Flash_Channel_Width", 1..=2),
        "in bits; Flash_Channel_Width is in bytes",
    );
    Flash { page, blocks, planes, suspends }
}

/// Writes the keys of the die layout. Returns the total number of planes.
fn layout(given: &mut Parameters, out: &mut Toml, flash: &Flash) -> u64 {
    let mut planes = flash.planes;
    out.table("layout");
    for (key, from) in [
        ("channels", "Flash_Channel_Count"),
        ("packages_per_channel", "Chip_No_Per_Channel"),
        ("dies_per_package", "Die_No_Per_Chip"),
    ] {
        let count = given.whole(from, 1..=1024);
        planes = planes.saturating_mul(count);
        out.line(key, count, from);
    }
    out.line("planes_per_row", 1, "MQSim opens and collects blocks plane by plane");
    planes
}

/// Gigabytes per second of a lane, by PCIe generation. Generations 1 and 2 transfer 2.5 and 5 GT/s with
/// 8b/10b coding, later ones use 128b/130b.
const LANES: [(u32, f64); 5] = [(1, 0.25), (2, 0.5), (3, 0.985), (4, 1.969), (5, 3.938)];

fn front(given: &mut Parameters, out: &mut Toml) {
    let interface = given.word("HostInterface_Type", &["NVME", "SATA"]);
    let (depth, fetched) =
        (given.whole("IO_Queue_Depth", 1..=65_535), given.whole("Queue_Fetch_Size", 1..=65_535));
    let (lane, lanes) = (given.number("PCIe_Lane_Bandwidth"), given.whole("PCIe_Lane_Count", 1..=16));
    let delay = given.skip("SATA_Processing_Delay");
    out.table("front");
    if interface == "SATA" {
        out.line("interface", "\"sata\"", "HostInterface_Type");
        out.line("queue_depth", depth.min(32), "IO_Queue_Depth, at most the 32 of SATA");
        if let Some(ns) = delay.and_then(|delay| delay.parse().ok()) {
            out.time("command_time", ns, "SATA_Processing_Delay, once for each command");
        }
        out.0.push(
            "# PCIe_Lane_Bandwidth, PCIe_Lane_Count, Queue_Fetch_Size: not mapped, of NVMe alone.".into(),
        );
        return;
    }
    out.line("interface", "\"nvme\"", "HostInterface_Type");
    out.line("queue_depth", fetched, "Queue_Fetch_Size, of all queues together");
    out.line("command_time", 0, "MQSim has none");
    if delay.is_some() {
        out.0.push("# SATA_Processing_Delay: not mapped, of SATA alone.".into());
    }
    out.table("front.nvme");
    out.line("queues", 8, "MQSim, flows of a scenario at most");
    out.line("entries", depth.max(2), "IO_Queue_Depth");
    out.table("front.nvme.link");
    let off = |of: f64| (lane / of).max(of / lane);
    let nearest = LANES.iter().min_by(|a, b| off(a.1).total_cmp(&off(b.1))).expect("there are five");
    let told = format!("PCIe_Lane_Bandwidth = {lane} GB/s: the nearest generation, {} GB/s", nearest.1);
    out.line("generation", nearest.0, &told);
    let wide = [1, 2, 4, 8, 16].into_iter().find(|wide| *wide >= lanes).expect("it is 16 at most");
    out.line("lanes", wide, "PCIe_Lane_Count");
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

fn buffer(given: &mut Parameters, out: &mut Toml, planes: u64, flash: &Flash) {
    let mechanism = given.word_or("Caching_Mechanism", &["ADVANCED", "SIMPLE"]);
    let size = given.whole("Data_Cache_Capacity", 1..=1 << 40);
    let sharing = given.word("Data_Cache_Sharing_Mode", &["SHARED", "EQUAL_PARTITIONING"]);
    out.table("buffer");
    out.size("size", size, "Data_Cache_Capacity");
    out.line("space", "\"written\"", "MQSim counts the sectors that were written");
    let time = dram_time(given);
    out.time(
        "access_time",
        time,
        "Data_Cache_DRAM_*, of 4 KiB; accesses are concurrent here, and sequential in MQSim",
    );
    if mechanism == "ADVANCED" {
        let in_flight = Bytes(planes.saturating_mul(flash.page));
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
    out.line("eviction", "{ policy = \"lru\" }", "MQSim");
    out.line("flush_above", 0.9, "the highest watermark here; MQSim waits until the buffer is full");
    out.line("flush_interval", 0, "MQSim has none");
    out.0.push(format!("# Data_Cache_Sharing_Mode = {sharing}: flows share the buffer here."));
}

/// All orders of channel, way, die and plane.
const ORDERS: [&str; 24] = [
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP",
    "DCPW", "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

fn ftl(given: &mut Parameters, out: &mut Toml) {
    given.word("Address_Mapping", &["PAGE_LEVEL"]);
    given.word("Memory_Type", &["FLASH"]);
    out.table("ftl");
    out.line("over_provisioning", given.fraction("Overprovisioning_Ratio"), "Overprovisioning_Ratio");
    let order = given.word("Plane_Allocation_Scheme", &ORDERS);
    out.line(
        "placement",
        format!("{{ policy = \"fixed\", order = \"{order}\" }}"),
        "Plane_Allocation_Scheme",
    );
    out.0.push("# Address_Mapping = PAGE_LEVEL, Memory_Type = FLASH: as here.".into());
    let is_ideal = given.flag("Ideal_Mapping_Table");
    let cache = given.whole("CMT_Capacity", 1..=1 << 40);
    if is_ideal {
        out.0.push(
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

/// Parameters that are not mapped to keys, each with the reason.
const NOT_MAPPED: [(&str, &str); 16] = [
    ("Seed", "the seed is that of the run, --seed"),
    ("Enabled_Preconditioning", "the state of the device is that of the run, --precondition"),
    (
        "Enable_ResponseTime_Logging",
        "a run logs every request with --log, and has windows of time in its JSON",
    ),
    ("ResponseTime_Logging_Period_Length", "a run has windows of equal width, by its length"),
    ("CMT_Sharing_Mode", "flows share the cache of the map here"),
    (
        "Transaction_Scheduling_Policy",
        "reads go first, and commands of a die out of order, as PRIORITY_OUT_OF_ORDER; FLIN is not here",
    ),
    ("GC_Hard_Threshold", "pre-emptible GC stops yielding at the blocks reserved for it"),
    ("Dynamic_Wearleveling_Enabled", "the least worn free block is opened in any case (ftl.wear.allocation)"),
    (
        "Static_Wearleveling_Enabled",
        "no policy here compares erase counts, and MQSim levels in any case; see ftl.wear.levelling",
    ),
    ("Static_Wearleveling_Threshold", "as Static_Wearleveling_Enabled"),
    ("Preferred_suspend_erase_time_for_read", "a read suspends an erase however long that still takes"),
    ("Preferred_suspend_erase_time_for_write", "writes suspend nothing here"),
    ("Preferred_suspend_write_time_for_read", "a read suspends a program however long that still takes"),
    ("Data_Cache_DRAM_Data_Burst_Size", "MQSim reads Data_Cache_DRAM_Data_Busrt_Size"),
    ("GC_Exect_Threshold", "MQSim reads GC_Exec_Threshold"),
    ("Type", "MQSim does not read it"),
];

fn not_mapped(given: &mut Parameters, out: &mut Toml) {
    out.0.push(String::new());
    out.0.push("# Not mapped:".into());
    for (key, why) in NOT_MAPPED {
        if let Some(value) = given.skip(key) {
            out.0.push(format!("# {key} = {value}: {why}."));
        }
    }
}
