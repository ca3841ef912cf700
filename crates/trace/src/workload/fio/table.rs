//! All keys of fio: what each means here. The parser, its messages and the page `docs/fio-keys.md` use this
//! table.
//!
//! Source: `fio_options` in options.c and the options of the engines, fio's repository at commit f5344384.

use super::simulated::SIMULATED;

/// Meaning of a key here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The requests are those of fio; the text is for the page.
    Simulated(&'static str),
    /// The key does not affect the requests, whatever its value; the text says what it affects.
    Harmless(&'static str),
    /// The key has no effect with these values, separated by blanks. Other values are refused; the text says
    /// what is wanted.
    HarmlessAt(&'static str, &'static str),
    /// The key is accepted with a note: what is not as in fio.
    Noted(&'static str),
    /// The key is refused; the text says what is wanted.
    Refused(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    /// Another name of the same key.
    pub alias: Option<&'static str>,
    pub treatment: Treatment,
}

pub const fn key(name: &'static str, treatment: Treatment) -> Key {
    Key { name, alias: None, treatment }
}

pub const fn also(name: &'static str, alias: &'static str, treatment: Treatment) -> Key {
    Key { name, alias: Some(alias), treatment }
}

/// All keys.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SIMULATED.iter().chain(&OTHERS)
}

/// Finds a key by one of its names.
pub fn find(name: &str) -> Option<&'static Key> {
    keys().find(|key| key.name == name || key.alias == Some(name))
}

/// All names of keys.
pub fn names() -> Vec<&'static str> {
    keys().flat_map(|key| std::iter::once(key.name).chain(key.alias)).collect()
}

use Treatment::{Harmless, HarmlessAt, Noted, Refused};

const REPORTS: &str = "names, logs and reports";
const HOST: &str = "the host's processors, memory and clock";
const CONTENTS: &str = "contents of data";
const FILES: &str = "creation and removal of files";
const CACHE: &str = "the host's page cache";
const API: &str = "interface between the engine and its storage";
const BATCH: &str = "batches: requests of one moment are submitted together";
const GENERATOR: &str = "random numbers are those of Wordline";
const PASSED: &str = "units of the numbers: `k` is 1024 or 1000 bytes";
const NO_PROTECTION: &str = "protection information is not simulated";
const ENGINE_WITH_IO: &str = "keys of an engine with I/O";
const ENGINE_OF_DRIVE: &str = "keys of an engine of a drive";
const NO_PRIORITY: &str = "the device gives no request priority over another";
const NO_HINTS: &str = "the device takes no hints of lifetime";
const GOES_ON: &str = "a run goes on after a failed request";
const NO_TARGET: &str = "0, as `latency_target`";
const TRACE: &str = "no job file: `wordline run --trace FILE` replays a trace";
const NO_MINIMUM: &str = "a job does not end when it falls below its least rate";
const LOG: &str =
    "no job file: `wordline run --trace FILE` replays a log ([migrate from fio](how-to/from-fio.md))";
const NO_SPRANDOM: &str = "no `sprandom`, and `--precondition` to prepare the device";
const NO_STEADY_STATE: &str =
    "a job does not end in the steady state: it goes on to its runtime, or use `--until`";
const TRIMS: &str = "`rw=trimwrite`, or a job of trims";
const RESETS: &str = "0: zones are reset when they are written again";

/// The other keys, by name.
static OTHERS: [Key; 294] = [
    key("allow_file_create", Harmless(FILES)),
    key("allow_mounted_write", Harmless(FILES)),
    key("apptag", Noted(NO_PROTECTION)),
    key("apptag_mask", Noted(NO_PROTECTION)),
    key("arguments", Refused(ENGINE_WITH_IO)),
    key("atomic", Noted("a write of the device is whole after a power loss, or it is not there")),
    key("bindname", Refused(ENGINE_OF_DRIVE)),
    key("block_error_percentiles", Harmless(REPORTS)),
    key("brick", Harmless(API)),
    key("buffer_compress_chunk", Harmless(CONTENTS)),
    key("buffer_compress_percentage", Harmless(CONTENTS)),
    key("buffer_pattern", Harmless(CONTENTS)),
    key("busy_poll", Harmless(API)),
    key("bwavgtime", Harmless(REPORTS)),
    key("cdb_len", Harmless(API)),
    key("cgroup", Harmless(HOST)),
    key("cgroup_nodelete", Harmless(HOST)),
    key("cgroup_weight", Harmless(HOST)),
    key("chunck_size", Harmless(API)),
    key("chunk_size", Harmless(API)),
    key("clat_percentiles", Harmless(REPORTS)),
    key("clientname", Harmless(API)),
    key("clocksource", Harmless(HOST)),
    key("clustername", Harmless(API)),
    key("cmd_type", Harmless(API)),
    key("cmdprio", Noted(NO_PRIORITY)),
    key("cmdprio_bssplit", Noted(NO_PRIORITY)),
    key("cmdprio_class", Noted(NO_PRIORITY)),
    key("cmdprio_hint", Noted(NO_HINTS)),
    key("cmdprio_percentage", Noted(NO_PRIORITY)),
    key("comm", Harmless(HOST)),
    key("conf", Harmless(API)),
    key("cont", Harmless(API)),
    key("continue_on_error", Noted(GOES_ON)),
    key("cpuchunks", Refused(ENGINE_WITH_IO)),
    key("cpuload", Refused(ENGINE_WITH_IO)),
    key("cpumask", Harmless(HOST)),
    key("cpumode", Refused(ENGINE_WITH_IO)),
    key("cpus_allowed", Harmless(HOST)),
    key("cpus_allowed_policy", Harmless(HOST)),
    key("create_fsync", Harmless(FILES)),
    key("create_on_open", Harmless(FILES)),
    key("create_only", HarmlessAt("0", "0: nothing is to be created")),
    key("create_serialize", Harmless(FILES)),
    key("cuda_io", Harmless(HOST)),
    key("deac", HarmlessAt("0", "0")),
    key("dedupe_global", Harmless(CONTENTS)),
    key("dedupe_mode", Harmless(CONTENTS)),
    key("dedupe_percentage", Harmless(CONTENTS)),
    key("dedupe_working_set_percentage", Harmless(CONTENTS)),
    key("description", Harmless(REPORTS)),
    also("disable_bw_measurement", "disable_bw", Harmless(REPORTS)),
    key("disable_clat", Harmless(REPORTS)),
    key("disable_lat", Harmless(REPORTS)),
    key("disable_slat", Harmless(REPORTS)),
    key("disk_util", Harmless(REPORTS)),
    key("donorname", Refused(ENGINE_OF_DRIVE)),
    key("dp_scheme", HarmlessAt("", "`plids`")),
    key("dummy", Harmless(API)),
    key("error_dump", Harmless(REPORTS)),
    key("exec_postrun", Harmless(HOST)),
    key("exec_prerun", Harmless(HOST)),
    key("exit_on_io_done", Refused(ENGINE_WITH_IO)),
    key("exitall_on_error", Noted(GOES_ON)),
    key("experimental_verify", Harmless(CONTENTS)),
    key("fadvise_hint", Harmless(CACHE)),
    key("fallocate", Harmless(FILES)),
    key("file_append", HarmlessAt("0", "an offset at the end of the file")),
    key("file_create_mode", Refused(ENGINE_OF_DRIVE)),
    key("filetype", Harmless(FILES)),
    key("fixedbufs", Harmless(API)),
    key("flow_watermark", Refused("`flow`, which works without it in fio")),
    key("force_async", Harmless(API)),
    key("gid", Harmless(HOST)),
    key("gpu_dev_id", Harmless(HOST)),
    key("gpu_dev_ids", Harmless(HOST)),
    key("grace_time", Refused(ENGINE_WITH_IO)),
    key("group_reporting", Harmless(REPORTS)),
    key("gtod_cpu", Harmless(HOST)),
    key("gtod_reduce", Harmless(REPORTS)),
    key("hdfs_use_direct", Harmless(API)),
    key("hdfsdirectory", Harmless(API)),
    key("hipri", Harmless(API)),
    key("hipri_percentage", Harmless(API)),
    key("hostname", Harmless(API)),
    key("http_host", Harmless(API)),
    key("http_mode", Harmless(API)),
    key("http_object_mode", Harmless(API)),
    key("http_pass", Harmless(API)),
    key("http_s3_key", Harmless(API)),
    key("http_s3_keyid", Harmless(API)),
    key("http_s3_region", Harmless(API)),
    key("http_s3_security_token", Harmless(API)),
    key("http_s3_sse_customer_algorithm", Harmless(API)),
    key("http_s3_sse_customer_key", Harmless(API)),
    key("http_s3_storage_class", Harmless(API)),
    key("http_swift_auth_token", Harmless(API)),
    key("http_user", Harmless(API)),
    key("http_verbose", Harmless(API)),
    key("https", Harmless(API)),
    key("hugepage-size", Harmless(HOST)),
    key("ignore_error", Noted(GOES_ON)),
    key("ignore_zone_limits", Noted("zones have the limit of `max_open_zones`")),
    key("imeflags", Refused(ENGINE_OF_DRIVE)),
    key("initiator", Harmless(API)),
    key("inplace", Refused(ENGINE_OF_DRIVE)),
    key("interface", Refused(ENGINE_OF_DRIVE)),
    key("invalidate", Harmless(CACHE)),
    also("iodepth_batch", "iodepth_batch_submit", Harmless(BATCH)),
    key("iodepth_batch_complete_max", Harmless(BATCH)),
    also("iomem_align", "mem_align", Harmless(HOST)),
    key("iopsavgtime", Harmless(REPORTS)),
    key("ioscheduler", Refused("no scheduler: the host submits each request at once")),
    key("job_start_clock_id", Harmless(REPORTS)),
    key("kb_base", Harmless(PASSED)),
    key("lat_percentiles", Harmless(REPORTS)),
    key("latency_percentile", HarmlessAt("100", "100, as `latency_target`")),
    key("latency_run", HarmlessAt("0", NO_TARGET)),
    key(
        "latency_target",
        HarmlessAt(
            "0",
            "0: `iodepth` sets the depth, and `wordline sweep --vary` finds the depth of a latency",
        ),
    ),
    key("latency_window", HarmlessAt("0", NO_TARGET)),
    key("libaio_vectored", Harmless(API)),
    key("libblkio_driver", Harmless(API)),
    key("libblkio_force_enable_completion_eventfd", Harmless(API)),
    key("libblkio_num_entries", Harmless(API)),
    key("libblkio_path", Harmless(API)),
    key("libblkio_pre_connect_props", Harmless(API)),
    key("libblkio_pre_start_props", Harmless(API)),
    key("libblkio_queue_size", Harmless(API)),
    key("libblkio_vectored", Harmless(API)),
    key("libblkio_wait_mode", Harmless(API)),
    key("libblkio_write_zeroes_on_trim", Harmless(API)),
    key("listen", Refused(ENGINE_OF_DRIVE)),
    key("lockfile", Harmless(FILES)),
    key("lockmem", Harmless(HOST)),
    also("log_alternate_epoch", "log_unix_epoch", Harmless(REPORTS)),
    key("log_alternate_epoch_clock_id", Harmless(REPORTS)),
    key("log_avg_msec", Harmless(REPORTS)),
    key("log_compression", Harmless(REPORTS)),
    key("log_compression_cpus", Harmless(REPORTS)),
    key("log_entries", Harmless(REPORTS)),
    key("log_hist_coarseness", Harmless(REPORTS)),
    key("log_hist_msec", Harmless(REPORTS)),
    key("log_issue_time", Harmless(REPORTS)),
    key("log_offset", Harmless(REPORTS)),
    key("log_prio", Harmless(REPORTS)),
    key("log_store_compressed", Harmless(REPORTS)),
    also("log_window_value", "log_max_value", Harmless(REPORTS)),
    key("max_latency", Noted("a job does not end when a request takes longer")),
    key("md_per_io_size", Noted(NO_PROTECTION)),
    also("mem", "iomem", Harmless(HOST)),
    key("merge_blktrace_file", Refused(TRACE)),
    key("merge_blktrace_iters", Refused(TRACE)),
    key("merge_blktrace_scalars", Refused(TRACE)),
    key("mss", Refused(ENGINE_OF_DRIVE)),
    key("name", Harmless(REPORTS)),
    key("namenode", Harmless(API)),
    key("netsplice", Refused(ENGINE_OF_DRIVE)),
    key("nfs_url", Harmless(API)),
    key("nice", Harmless(HOST)),
    key("no_completion_thread", Harmless(API)),
    key("nodelay", Refused(ENGINE_OF_DRIVE)),
    key("nonvectored", Harmless(API)),
    key("nowait", Harmless(API)),
    key("num_range", HarmlessAt("1", "a trim of one range: `num_range=1`")),
    key("numa_cpu_nodes", Harmless(HOST)),
    key("numa_mem_policy", Harmless(HOST)),
    key("object_class", Harmless(API)),
    key("opendir", Harmless(FILES)),
    key("openfiles", Harmless(FILES)),
    key("overwrite", Harmless(FILES)),
    key("per_job_logs", Harmless(REPORTS)),
    key("percentage_sequential", Refused("`percentage_random`, which replaces it in fio")),
    key("percentile_list", Harmless(REPORTS)),
    key("pi_act", Noted(NO_PROTECTION)),
    key("pi_chk", Noted(NO_PROTECTION)),
    key("pingpong", Refused(ENGINE_OF_DRIVE)),
    key("pool", Harmless(API)),
    key("port", Harmless(API)),
    key("pre_read", HarmlessAt("0", "a job of reads before it, with `stonewall`")),
    key("prio", Noted(NO_PRIORITY)),
    key("prioclass", Noted(NO_PRIORITY)),
    key("priohint", Noted(NO_HINTS)),
    key("profile", Refused("the keys of the profile")),
    key("program", Refused(ENGINE_WITH_IO)),
    key("proto", Refused(ENGINE_OF_DRIVE)),
    key("protocol", Refused(ENGINE_OF_DRIVE)),
    key("ramp_size", HarmlessAt("0", "`ramp_time`")),
    key("random_generator", Harmless(GENERATOR)),
    key("random_sequence_stride", HarmlessAt("0", "0: `random_distribution=sequence` is not simulated")),
    also("rate_cycle", "ratecycle", Noted(NO_MINIMUM)),
    key("rate_iops_min", Noted(NO_MINIMUM)),
    also("rate_min", "ratemin", Noted(NO_MINIMUM)),
    key("rbd_encryption_format", Harmless(API)),
    key("rbd_encryption_passphrase", Harmless(API)),
    key("rbdname", Harmless(API)),
    key("read_iolog_chunked", Refused(LOG)),
    key("read_mode", HarmlessAt("read", "`read`: other commands of `read_mode` are not simulated")),
    key("readfua", Noted("reads with forced unit access are reads")),
    key("recover_zbd_write_error", Noted("writes of zones do not fail")),
    key("refill_buffers", Harmless(CONTENTS)),
    key("registerfiles", Harmless(API)),
    key("replay_align", Refused(LOG)),
    key("replay_no_stall", Refused(LOG)),
    key("replay_redirect", Refused(LOG)),
    key("replay_scale", Refused(LOG)),
    key("replay_skip", Refused(LOG)),
    key("replay_time_scale", Refused(LOG)),
    key("rocm_io", Harmless(HOST)),
    key("rwmixcycle", Refused("`rwmixread`, which replaces it in fio")),
    key("scramble_buffers", Harmless(CONTENTS)),
    key("serialize_overlap", Harmless(API)),
    key("sg_write_mode", HarmlessAt("write", "`write`: other commands of `sg_write_mode` are not simulated")),
    key("significant_figures", Harmless(REPORTS)),
    key("single-instance", Harmless(API)),
    key("single_block_on_device", Harmless(API)),
    key("single_instance", Harmless(API)),
    key("skip_bad", Harmless(API)),
    key("slat_percentiles", Harmless(REPORTS)),
    key("softrandommap", Harmless(GENERATOR)),
    key("spr_cs", HarmlessAt("", NO_SPRANDOM)),
    key("spr_num_regions", HarmlessAt("", NO_SPRANDOM)),
    key("spr_op", HarmlessAt("", NO_SPRANDOM)),
    key("sprandom", HarmlessAt("0", "0, and `--precondition` to prepare the device")),
    key("sqthread_poll", Harmless(API)),
    key("sqthread_poll_cpu", Harmless(API)),
    key("stat_type", HarmlessAt("", "an engine of a drive")),
    key("stats", Harmless(REPORTS)),
    key("std_redirect", Refused(ENGINE_WITH_IO)),
    also("steadystate", "ss", Noted(NO_STEADY_STATE)),
    also("steadystate_check_interval", "ss_interval", Noted(NO_STEADY_STATE)),
    also("steadystate_duration", "ss_dur", Noted(NO_STEADY_STATE)),
    also("steadystate_ramp_time", "ss_ramp", Noted(NO_STEADY_STATE)),
    key("stream_id", Noted(NO_HINTS)),
    key("svcl", Harmless(API)),
    key("sync_file_range", Harmless(CACHE)),
    key("thinkcycles", HarmlessAt("0", "`thinktime`")),
    key("thinktime_spin", Harmless(HOST)),
    key("thp", Refused(ENGINE_WITH_IO)),
    also("thread", "threads", Harmless(HOST)),
    key("touch_objects", Harmless(API)),
    key("trim_backlog", HarmlessAt("0", TRIMS)),
    key("trim_backlog_batch", HarmlessAt("0", TRIMS)),
    key("trim_percentage", HarmlessAt("0", TRIMS)),
    key("trim_verify_zero", HarmlessAt("0 1", "0 or 1")),
    key("ttl", Refused(ENGINE_OF_DRIVE)),
    key("uid", Harmless(HOST)),
    key("uncached", Harmless(CACHE)),
    key("unified_rw_reporting", Harmless(REPORTS)),
    key("unique_filename", Harmless(FILES)),
    key("unit_base", Harmless(REPORTS)),
    key("unlink", Harmless(FILES)),
    key("unlink_each_loop", Harmless(FILES)),
    key("uri", Harmless(API)),
    key("userspace_reap", Harmless(API)),
    key("verb", Refused(ENGINE_OF_DRIVE)),
    key("verify_async", Harmless(CONTENTS)),
    key("verify_async_cpus", Harmless(CONTENTS)),
    key("verify_bytchk", HarmlessAt("0", "0")),
    key("verify_dump", Harmless(CONTENTS)),
    key("verify_fatal", Harmless(CONTENTS)),
    key("verify_header_seed", Harmless(CONTENTS)),
    key("verify_interval", Harmless(CONTENTS)),
    key("verify_mode", HarmlessAt("read", "`read`: other commands of `verify_mode` are not simulated")),
    key("verify_offset", Harmless(CONTENTS)),
    key("verify_only", HarmlessAt("0", "`rw=read`, which reads the same data")),
    key("verify_pattern", Harmless(CONTENTS)),
    key("verify_pattern_interval", Harmless(CONTENTS)),
    key("verify_policy", Harmless(CONTENTS)),
    key("verify_state_load", HarmlessAt("0", "0: the state of another run is not simulated")),
    key("verify_state_save", Harmless(CONTENTS)),
    key("verify_write_sequence", Harmless(CONTENTS)),
    key("verifysort", Harmless(CONTENTS)),
    key("verifysort_nr", Harmless(CONTENTS)),
    key("volume", Harmless(API)),
    key("window_size", Refused(ENGINE_OF_DRIVE)),
    key("write_barrier", HarmlessAt("0", "`fsync`")),
    key("write_bw_log", Harmless(REPORTS)),
    key("write_hint", Noted(NO_HINTS)),
    key("write_hist_log", Harmless(REPORTS)),
    key("write_iolog", Harmless(REPORTS)),
    key("write_iops_log", Harmless(REPORTS)),
    key("write_lat_log", Harmless(REPORTS)),
    key("write_zone_remainder", HarmlessAt("0", "0: the rest of a zone is not written")),
    key("xnvme_admin", Harmless(API)),
    key("xnvme_async", Harmless(API)),
    key("xnvme_be", Harmless(API)),
    key("xnvme_dev_nsid", Harmless(API)),
    key("xnvme_dev_subnqn", Harmless(API)),
    key("xnvme_iovec", Harmless(API)),
    key("xnvme_mem", Harmless(API)),
    key("xnvme_sync", Harmless(API)),
    key("zero_buffers", Harmless(CONTENTS)),
    key("zone_reset_frequency", HarmlessAt("0", RESETS)),
    key("zone_reset_threshold", HarmlessAt("0", RESETS)),
];
