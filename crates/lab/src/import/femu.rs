//! Converts the options of FEMU's black-box device to a configuration. Sources: `hw/femu/femu.c` and
//! `hw/femu/bbssd` of MoatLab/FEMU, 99ce4fb2.

use wordline_kernel::{Bytes, Duration};

use super::Imported;
use super::not_mapped::{NotMapped, not, write_not_mapped};
use super::parameters::Parameters;
use super::settle::{Origins, finish};
use super::shell;
use super::text::Toml;
use crate::devices::Registry;
use crate::error::Result;

const ORIGINS: Origins = Origins {
    watermark: "gc_thres_pcent",
    spare: "devsz_mb",
    parameter: "an option of FEMU",
    lost: "not simulated",
};

/// The file in words.
const OPTIONS: &str = "the options of a device of FEMU (MoatLab/FEMU)";

/// One second in nanoseconds, the upper limit of a chip's times.
const SECOND: u64 = 1_000_000_000;

/// Sectors that FEMU can address: it counts them in an `int`.
const MOST_SECTORS: u64 = i32::MAX as u64;

/// The device that FEMU's options describe, as TOML; `name` is the name of the file, a script such as
/// `run-blackbox.sh` or a command line with `-device femu,...`. Comments are as for MQSim.
///
/// # Errors
/// Every fault, with file, line and option, the value found and the value wanted.
pub fn femu(registry: &Registry, name: &str, text: &str) -> Result<Imported> {
    let list = shell::device_options(name, text, "femu")?;
    let mut given = Parameters::of_list((name, "FEMU"), list, DEFAULTS);
    let wanted =
        "1, a black-box SSD, or 2, none; for zones and open channels see the presets bench-zns and pblk";
    let mode =
        given.read("femu_mode", 1, &wanted, |text| text.parse().ok().filter(|mode| [1, 2].contains(mode)));
    if mode == 2 {
        return without_flash(registry, name, given);
    }
    let described = ("the black-box device of options of FEMU", "");
    let mut out = Toml::of_device((name, "FEMU"), OPTIONS, described);
    let flash = part(&mut given, &mut out);
    front(&mut given, &mut out);
    buffer(&mut given, &mut out);
    ftl(&mut given, &mut out, &flash);
    let lost = write_not_mapped(&mut given, &mut out, NOT_MAPPED);
    namespaces(&mut given, &mut out);
    let (out, _, notes) = finish(registry, name, (given, out), &lost, &ORIGINS)?;
    Ok(Imported { text: out.text(), notes })
}

/// The device of a mode without flash, which takes no time.
fn without_flash(registry: &Registry, name: &str, mut given: Parameters) -> Result<Imported> {
    let described = ("a device of FEMU without flash", "femu_mode = 2");
    let mut out = Toml::of_device((name, "FEMU"), OPTIONS, described);
    out.line("device", "\"fixed-latency\"", "");
    out.size("capacity", given.whole("devsz_mb", 1..=1 << 24) << 20, "devsz_mb");
    out.line("latency", "\"1us\"", "chosen: FEMU takes the time of its host");
    for (key, value) in given.skip_all("") {
        out.lines.push(format!("# {key} = {value}: a device without flash does not use it."));
    }
    let (out, _, notes) = finish(registry, name, (given, out), &[], &ORIGINS)?;
    Ok(Imported { text: out.text(), notes })
}

/// The properties of the flash that other parts of the device depend on.
struct Flash {
    blocks: u64,
    /// Bytes of all pages.
    size: Bytes,
}

fn part(given: &mut Parameters, out: &mut Toml) -> Flash {
    let sector = given.whole("secsz", 512..=1 << 16);
    let sectors = given.whole("secs_per_pg", 1..=256);
    let pages = given.whole("pgs_per_blk", 1..=1 << 16);
    let blocks = given.whole("blks_per_pl", 1..=1 << 16);
    let planes = given.whole("pls_per_lun", 1..=16);
    let [luns, channels] = ["luns_per_ch", "nchs"].map(|key| given.whole(key, 1..=256));
    let all = [sectors, pages, blocks, planes, luns, channels].iter().product::<u64>();
    if all > MOST_SECTORS {
        given.complain(
            "nchs",
            format!("{all} sectors with all counts"),
            format!("at most {MOST_SECTORS} together, as FEMU"),
        );
    }
    let page = sector * sectors;
    out.table("part");
    out.line(
        "base",
        "\"femu-slc\"",
        "the power and the times between planes; cells of one bit have one page time",
    );
    out.table("part.geometry");
    out.line("planes", planes, "pls_per_lun");
    out.line("blocks_per_plane", blocks, "blks_per_pl");
    out.line("pages_per_block", pages, "pgs_per_blk");
    out.size("page_size", page, "secsz * secs_per_pg");
    out.table("part.timing");
    for (key, from) in [("read", "pg_rd_lat"), ("program", "pg_wr_lat")] {
        let time = Duration::from_ns(given.whole(from, 1..=SECOND));
        out.line(key, format!("[\"{time}\"]"), from);
    }
    out.time("erase", given.whole("blk_er_lat", 1..=SECOND), "blk_er_lat");
    out.table("part.bus");
    out.line("interface", "\"NV-DDR2\"", "");
    given.skip("ch_xfer_lat").into_iter().for_each(|value| {
        out.lines.push(format!("# ch_xfer_lat = {value}: FEMU does not use it."));
    });
    out.line("rate", "\"10000MT/s\"", "the fastest here: FEMU's channels take no time");
    out.table("layout");
    out.line("channels", channels, "nchs");
    out.line("packages_per_channel", luns, "luns_per_ch");
    out.line("dies_per_package", 1, "a LUN of FEMU works by itself");
    out.line("planes_per_row", 1, "FEMU programs plane by plane");
    Flash { blocks, size: Bytes(all * sector) }
}

fn front(given: &mut Parameters, out: &mut Toml) {
    out.table("front");
    let bandwidth = given.number_or("pcie_bandwidth_mbps", 0, 1_000_000);
    let delay = given.number_or("pcie_prop_delay_ns", 0, SECOND);
    let firmware = given.number_or("fw_cpu_ns", 0, SECOND);
    let has_link = bandwidth > 0 || delay > 0;
    out.line("interface", if has_link { "\"nvme\"" } else { "\"direct\"" }, "pcie_bandwidth_mbps");
    out.line("queue_depth", 1024, "chosen: FEMU has no limit");
    out.time("command_time", firmware, "fw_cpu_ns");
    if !has_link {
        given.skip("queues").into_iter().for_each(|value| {
            out.lines.push(format!("# queues = {value}: without a link, queues have no effect."));
        });
        return;
    }
    out.table("front.nvme");
    out.line("queues", given.number_or("queues", 8, 65_535).max(1), "queues");
    out.table("front.nvme.link");
    if bandwidth > 0 {
        out.line("lane_bandwidth", format!("\"{bandwidth}MB\""), "pcie_bandwidth_mbps");
        out.line("lanes", 1, "all lanes as one");
    }
    if delay > 0 {
        out.time("latency", delay, "pcie_prop_delay_ns");
    }
}

fn buffer(given: &mut Parameters, out: &mut Toml) {
    out.table("buffer");
    out.line("mode", "\"write-through\"", "a write of FEMU takes the time of its program");
    out.line("access_time", 0, "FEMU has none");
    let cache = given.number_or("read_cache_mb", 0, 1 << 16);
    let evict = given.skip("cache_evict").unwrap_or_else(|| "lru".into());
    if cache == 0 {
        return;
    }
    out.size("read_cache", cache << 20, "read_cache_mb");
    if evict == "lru" {
        out.line("read_eviction", "{ policy = \"lru\" }", "cache_evict");
    } else {
        given.note("cache_evict", format!("{evict}: the least recently used page is evicted here"));
    }
}

fn ftl(given: &mut Parameters, out: &mut Toml, flash: &Flash) {
    let size = Bytes(given.whole("devsz_mb", 1..=1 << 24) << 20);
    let percent = given.number_or("op_pcent", 0, 1000);
    let (spare, from) = match percent {
        0 => (1.0 - size.0 as f64 / flash.size.0 as f64, "devsz_mb of all pages"),
        _ => (1.0 - 100.0 / (100 + percent) as f64, "op_pcent"),
    };
    if spare <= 0.0 {
        let wanted = format!("less than the {} of all pages, so that GC has blocks", flash.size);
        given.complain("devsz_mb", size, wanted);
    }
    out.table("ftl");
    out.line("over_provisioning", format!("{:.4}", spare.clamp(0.0, 0.99)), from);
    out.line(
        "placement",
        "{ policy = \"fixed\", order = \"CWDP\" }",
        "FEMU: channels, then LUNs, then pages",
    );
    let [starts, forced] = ["gc_thres_pcent", "gc_thres_pcent_high"]
        .map(|key| flash.blocks * (100 - given.whole(key, 1..=100)) / 100 + 1);
    // Between the two thresholds FEMU collects only lines of which an eighth is invalid. If all logical pages are
    // written, this leaves so many free blocks.
    let eager = (flash.blocks as f64 * (1.0 - (1.0 - spare) * 8.0 / 7.0)).max(0.0) as u64;
    let free = starts.min(eager).max(forced).max(3);
    if free < starts {
        let text = format!(
            "GC starts below {free} free blocks of a plane, not {starts}: FEMU collects no line with less than an eighth of invalid pages before gc_thres_pcent_high"
        );
        given.note("gc_thres_pcent", text);
    }
    let victim = given.skip("gc_policy").unwrap_or_else(|| "greedy".into());
    let policy = match victim.as_str() {
        "greedy" | "" => "{ policy = \"greedy\" }",
        "random" => "{ policy = \"random\" }",
        "fifo" => "{ policy = \"fifo\" }",
        "cb" | "cost-benefit" | "costbenefit" => "{ policy = \"cost-benefit\" }",
        _ => {
            given.note("gc_policy", format!("{victim}: greedy is used here"));
            "{ policy = \"greedy\" }"
        }
    };
    out.table("ftl.gc");
    let told =
        "gc_thres_pcent and gc_thres_pcent_high, of the blocks of a plane, and an eighth of invalid pages";
    out.line("start_below_free_blocks", free, told);
    out.line("stop_at_free_blocks", free, "as start_below_free_blocks");
    out.line("victim", policy, "gc_policy");
}

/// Writes comments about options that shape namespaces and the controller of QEMU.
fn namespaces(given: &mut Parameters, out: &mut Toml) {
    let reason = "an option of QEMU's controller, or of a FEMU device of another mode: no effect here";
    for key in CONTROLLER {
        if let Some(value) = given.skip(key) {
            out.lines.push(format!("# {key} = {value}: {reason}."));
        }
    }
    for start in ["zns_", "lnum_", "lsec", "lpgs", "lmax", "lmeta", "fdp", "nr_", "time_slice"] {
        let found = given.skip_all(start);
        out.lines.extend(found.iter().map(|(key, value)| format!("# {key} = {value}: {reason}.")));
    }
}

/// Options that do not change the times or the pages of a black-box device.
const CONTROLLER: &[&str] = &[
    "id",
    "bus",
    "addr",
    "serial",
    "entries",
    "multipoller_enabled",
    "poller_ratio",
    "hiops_inline",
    "max_cqes",
    "max_sqes",
    "stride",
    "aerl",
    "acl",
    "elpe",
    "mdts",
    "cqr",
    "vwc",
    "intc",
    "intc_thresh",
    "intc_time",
    "ms",
    "ms_max",
    "dlfeat",
    "mpsmin",
    "mpsmax",
    "nlbaf",
    "lba_index",
    "extended",
    "dpc",
    "dps",
    "mc",
    "meta",
    "cmbsz",
    "cmbloc",
    "oacs",
    "oncs",
    "sgl",
    "vid",
    "did",
    "lver",
    "debug_ftl",
    "subsys",
    "context_switch_time",
];

/// Options that are not mapped to keys, each with the values that need no key, and the reason.
const NOT_MAPPED: &[NotMapped] = &[
    not("gc_strategy", &["0"], "reclaim units of flexible data placement are not simulated"),
    not("namespaces", &["1"], "one namespace has the whole capacity; see [[namespaces]]"),
    not("namespace_sizes", &[], "as namespaces"),
    not("namespace_modes", &[], "as namespaces"),
    not(
        "mapping",
        &["page", "pagemap", "page-level"],
        "the whole map of pages is in memory; see ftl.mapping",
    ),
    not("mapping_cache_mb", &["0"], "as mapping; ftl.mapping.cache is the size of a cached map"),
    not(
        "nand_cell_type",
        &["0"],
        "a page has the times of pg_rd_lat and pg_wr_lat; see the parts femu-tlc and femu-qlc",
    ),
    not("flash_type", &["*"], "an option of other modes"),
    not("cell_pages", &["0", "1"], "as nand_cell_type"),
    not("pgtype_lat", &["0"], "as nand_cell_type"),
    not("ecc_step_ns", &["0"], "see [decoder]"),
    not("cmd_addr_lat", &["0"], "the bus has the cycles of commands and addresses"),
    not("pg_xfer_lat", &["0"], "see part.bus.rate"),
    not("status_lat", &["0"], "as cmd_addr_lat"),
    not("tplpbsy", &["0"], "see part.timing.plane_busy"),
    not("tplrbsy", &["0"], "as tplpbsy"),
    not("tplebsy", &["0"], "as tplpbsy"),
    not("trcbsy", &["0"], "cache reads are not used"),
    not("trim_lat_ns", &["0"], "a discard takes front.command_time"),
    not("nand_bad_blocks", &["0"], "see [faults]"),
    not("err_read_unc_ppm", &["0"], "see [faults]"),
    not("err_write_fail_ppm", &["0"], "see [faults]"),
    not("csf_runtime_scale", &["*"], "an option of other modes"),
    not("fdp_trim_erase_all", &["*"], "an option of flexible data placement"),
    not("fdm_size", &["*"], "an option of other modes"),
];

/// Values that FEMU gives to options which are not set.
const DEFAULTS: &[(&str, &str)] = &[
    ("femu_mode", "2"),
    ("devsz_mb", "1024"),
    ("secsz", "512"),
    ("secs_per_pg", "8"),
    ("pgs_per_blk", "256"),
    ("blks_per_pl", "256"),
    ("pls_per_lun", "1"),
    ("luns_per_ch", "8"),
    ("nchs", "8"),
    ("pg_rd_lat", "40000"),
    ("pg_wr_lat", "200000"),
    ("blk_er_lat", "2000000"),
    ("gc_thres_pcent", "75"),
    ("gc_thres_pcent_high", "95"),
];
