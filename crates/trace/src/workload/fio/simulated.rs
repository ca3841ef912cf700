//! The keys of fio that are simulated, with their meanings here, for the page `docs/fio-keys.md`.

use super::table::Treatment::Simulated;
use super::table::{Key, also, key};

const LAST_FLUSH: &str = "a flush after the last write";
const EACH_FLUSH: &str = "a flush after so many writes";

/// The keys, by name.
pub static SIMULATED: [Key; 82] = [
    also("ba", "blockalign", Simulated("unit of random addresses")),
    also(
        "bs",
        "blocksize",
        Simulated(
            "size, a multiple of 512 bytes. Values for reads, writes and trims are separated by commas",
        ),
    ),
    key(
        "bs_is_seq_rand",
        Simulated("of two sizes, the first is for sequential requests and the second for random ones"),
    ),
    also(
        "bs_unaligned",
        "blocksize_unaligned",
        Simulated(
            "sizes of a range need not be multiples of the smallest size; they are multiples of 512 bytes",
        ),
    ),
    also(
        "bsrange",
        "blocksize_range",
        Simulated("a range of sizes, `4k-64k`: multiples of the smallest size"),
    ),
    key("bssplit", Simulated("sizes with their percentages, `4k/60:64k/40`")),
    key("buffered", Simulated("opposite of `direct`")),
    also("dataplacement", "data_placement", Simulated("as `fdp`")),
    key(
        "direct",
        Simulated(
            "the page cache is not simulated. Requests go to the device as with `direct=1`, and a note says so",
        ),
    ),
    key("directory", Simulated("folder of the files. It changes no address")),
    key("do_verify", Simulated("with `0`, the data are not read")),
    key("end_fsync", Simulated(LAST_FLUSH)),
    key("end_syncfs", Simulated(LAST_FLUSH)),
    key("exit_what", Simulated("scope: `group`, `stonewall` or `all`")),
    key("exitall", Simulated("when a job ends, the others of its scope end")),
    key("fdatasync", Simulated(EACH_FLUSH)),
    key("fdp", Simulated("writes name a stream; see `plids`")),
    key(
        "file_service_type",
        Simulated(
            "`roundrobin`, `random` or `sequential`, with the number of requests to each file, `roundrobin:8`",
        ),
    ),
    key(
        "filename",
        Simulated(
            "one name of a device or file in all jobs is the whole device. Several names of files, also separated by colons, lie one behind the other",
        ),
    ),
    key(
        "filename_format",
        Simulated(
            "names of the files of a job without `filename`: `$jobname`, `$jobnum`, `$filenum`. Clones with equal names share a file",
        ),
    ),
    key("filesize", Simulated("size of each file")),
    also("fill_device", "fill_fs", Simulated("the region is the whole device")),
    key("flow", Simulated("share of a job in the requests of all jobs with the same `flow_id`")),
    key("flow_id", Simulated("group of `flow`")),
    key("flow_sleep", Simulated("pause of a job that is ahead of its share")),
    key("fsync", Simulated(EACH_FLUSH)),
    key("fsync_on_close", Simulated(LAST_FLUSH)),
    also(
        "io_size",
        "io_limit",
        Simulated("bytes that a job reads and writes; default: the size of its region"),
    ),
    key(
        "io_submit_mode",
        Simulated(
            "`inline`: a job that is ahead of its rate waits for its outstanding requests first. `offload`: it does not",
        ),
    ),
    key(
        "iodepth",
        Simulated("outstanding requests of a clone, if its engine does not wait for each completion"),
    ),
    also(
        "iodepth_batch_complete_min",
        "iodepth_batch_complete",
        Simulated("a full queue waits for so many completions"),
    ),
    key("iodepth_low", Simulated("a full queue is refilled once so few requests are outstanding")),
    key("ioengine", Simulated("whether a job waits for each completion ([engines](#engines))")),
    key("job_max_open_zones", Simulated("most zones that a job writes at a time")),
    key("loops", Simulated("passes over the region. With `randrepeat`, each pass has the same addresses")),
    key("max_open_zones", Simulated("most zones that all jobs write at a time")),
    key("new_group", Simulated("begins a group of jobs for `exitall`")),
    key(
        "norandommap",
        Simulated(
            "random accesses may repeat a block. Without it, each block is accessed once before any is repeated, and a request ends before a block that was accessed",
        ),
    ),
    also("nrfiles", "nr_files", Simulated("number of files of a job, which share its size")),
    key("number_ios", Simulated("requests of a job")),
    key("numjobs", Simulated("number of clones of a job")),
    also(
        "offset",
        "fileoffset",
        Simulated("first byte, or a percentage of the device, rounded up to whole requests"),
    ),
    key("offset_align", Simulated("alignment of an offset in percent")),
    key("offset_increment", Simulated("distance between the offsets of clones")),
    key(
        "percentage_random",
        Simulated("percentage of random addresses in a random job. The others follow the previous request"),
    ),
    also("plid_select", "fdp_pli_select", Simulated("`roundrobin` or `random`")),
    also(
        "plids",
        "fdp_pli",
        Simulated("placement identifiers: `n` is stream `n + 1` of a device with streams"),
    ),
    key("ramp_time", Simulated("adds to the runtime. It is part of the results")),
    key(
        "random_distribution",
        Simulated(
            "`random`, `zipf:1.2`, `pareto:0.2`, `normal:5`, `zoned:60/10:40/90`, `zoned_abs:60/1g:40/10g`. The first three take a centre, `zipf:1.2:0.5`. Popular blocks are spread by the hash of fio, so that some blocks are never accessed",
        ),
    ),
    also("randrepeat", "allrandrepeat", Simulated("with `0`, each pass has addresses of its own")),
    key("randseed", Simulated("as `randrepeat=0`. `--seed` sets the seed")),
    key(
        "rate",
        Simulated(
            "bytes a second. Values for reads, writes and trims are separated by commas. In a mixed job, if reads are ahead of their rate, writes go first, and the reverse",
        ),
    ),
    key("rate_ignore_thinktime", Simulated("the rate catches up on pauses")),
    key("rate_iops", Simulated("requests a second")),
    key("rate_process", Simulated("`linear` or `poisson`")),
    key(
        "read_beyond_wp",
        Simulated("with `zonemode=zbd`, all zones are full at the beginning, so reads find data in any zone"),
    ),
    key(
        "read_iolog",
        Simulated(
            "a trace in any [format](traces.md), which the job replays at its times in its region. Several devices are laid one behind another, except those of MQSim's format, which MQSim ignores. Addresses beyond the region are wrapped; `iodepth` limits the outstanding requests, and `loops` repeats it",
        ),
    ),
    also("runtime", "timeout", Simulated("end of a job, in simulated time")),
    also(
        "rw",
        "readwrite",
        Simulated(
            "`read`, `write`, `trim`, `randread`, `randwrite`, `randtrim`, `rw`, `readwrite`, `randrw`, `trimwrite`, `randtrimwrite`. `read:8k` and `read:-8k` add bytes to each sequential address. `randread:8` draws an address for each eighth request; as in fio, a sequence that crosses the end of a region smaller than its file or device ends the job. In a mixed sequential job, reads and writes are separate sequences",
        ),
    ),
    key("rw_sequencer", Simulated("`sequential` or `identical`: the requests between two drawn addresses")),
    key("rwmixread", Simulated("percentage of reads in a mixed job, drawn for each request")),
    key("rwmixwrite", Simulated("percentage of writes in a mixed job")),
    key("size", Simulated("bytes, percentage or zones (`8z`) of the region. Without it, the whole device")),
    key("startdelay", Simulated("start of a job, from the beginning of the run")),
    also(
        "stonewall",
        "wait_for_previous",
        Simulated("this job and later ones start when all previous ones have ended"),
    ),
    key("sync", Simulated("`sync` and `dsync`: each write has forced unit access (FUA)")),
    key(
        "thinktime",
        Simulated(
            "after `thinktime_blocks` completions, a job waits for its outstanding requests and pauses",
        ),
    ),
    key("thinktime_blocks", Simulated("requests between two pauses, default 1")),
    key("thinktime_blocks_type", Simulated("`complete` or `issue`: the requests that count")),
    key("thinktime_iotime", Simulated("time between two pauses")),
    key("time_based", Simulated("a job goes on to its end, whatever its size")),
    key(
        "verify",
        Simulated(
            "the data that a job wrote are read after its writes. Their contents are not compared: each simulated read is checked",
        ),
    ),
    key("verify_backlog", Simulated("the data are read after so many writes")),
    key("verify_backlog_batch", Simulated("so many of them at a time")),
    key("wait_for", Simulated("the job starts when the named job has ended")),
    key(
        "write_mode",
        Simulated(
            "`zone_append` with `zonemode=zbd`: writes are zone appends on a zoned namespace, and writes elsewhere. Only `write` beside it",
        ),
    ),
    key("writefua", Simulated("writes have forced unit access")),
    key("zonecapacity", Simulated("bytes of a zone that are written")),
    key(
        "zonemode",
        Simulated(
            "`strided`: a part of each zone is accessed. `zbd`: each zone is written in order from its start, on any device ([zones](#zones))",
        ),
    ),
    key("zonerange", Simulated("bytes of a strided zone that are accessed")),
    key(
        "zonesize",
        Simulated("size of a zone. With `zonemode=zbd` and without it, 256 MiB: fio asks the device"),
    ),
    key("zoneskip", Simulated("bytes, or zones (`1z`), between strided zones; only `0` with `zonemode=zbd`")),
];
