//! Job files: their errors, and the times of their requests.

mod measured;
mod order;
mod page;
mod passes;

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::{Bytes, Duration, Instant, Seed};

use super::JobFile;
use crate::{Op, Request};

const DEVICE: Bytes = Bytes::gib(1);

fn parsed(text: &str) -> JobFile {
    JobFile::parse("job.fio", text).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"))
}

/// Returns the requests of a job file on a device of 1 GiB that completes each request after 100 us.
fn requests(text: &str) -> Vec<Request> {
    let jobs = parsed(text).jobs(Seed(3), DEVICE, Some(1_000_000));
    jobs.unwrap_or_else(|wrong| panic!("{text}\n{wrong}")).in_turn().collect()
}

/// Returns the requests of a single job with these keys.
fn job(keys: &str) -> Vec<Request> {
    requests(&format!("[job]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\n{keys}\n"))
}

fn us(request: &Request) -> u64 {
    request.arrival.ps() / 1_000_000
}

#[test]
fn each_wrong_line_is_named_with_file_line_and_key() {
    for (line, wanted) in [
        ("rw=sideways", "job.fio:3: rw: found `sideways`, wanted one of read, write"),
        ("bs=1000", "job.fio:3: bs: found `1000`, wanted sizes from 512"),
        ("bs=4KiB", "job.fio:3: bs: found `4KiB`, wanted sizes from 512"), // fio: a thousand bytes each
        (
            "bssplit=4k/60:8k/30",
            "job.fio:3: bssplit: found `4k/60:8k/30`, wanted values with their percentages",
        ),
        ("bssplit=4k/60:8k/50", "job.fio:3: bssplit"),
        ("iodepth=0", "job.fio:3: iodepth: found `0`, wanted a number from 1"),
        ("iodepth", "job.fio:3: iodepth: found no value"),
        ("rwmixread=101", "job.fio:3: rwmixread"),
        ("random_distribution=normal:100", "job.fio:3: random_distribution"),
        ("random_distribution=zipf:1", "job.fio:3: random_distribution"),
        ("random_distribution=zoned:60/10:30/90", "job.fio:3: random_distribution"),
        (
            "ioengine=cpuio",
            "job.fio:3: ioengine: found `cpuio`, wanted an engine of a drive: this one has no I/O",
        ),
        ("ioengine=libiao", "job.fio:3: ioengine: found `libiao`, wanted libaio, or another engine of fio"),
        ("runtime=5 minutes", "job.fio:3: runtime"),
        ("runtime=200d", "job.fio:3: runtime: found `200d`, wanted a time of at most 106 days"),
        ("rate=0", "job.fio:3: rate"),
        ("rate=1m,2m,3m,4m", "job.fio:3: rate"),
        (
            "filename=/dev/sda:/dev/sdb",
            "job.fio:3: [job] filename: found `/dev/sdb`, wanted `/dev/sda` in all jobs: a run has one device",
        ),
        ("offset=100", "job.fio:3: [job] offset"),
        (
            "bsrange=4k",
            "job.fio:3: bsrange: found `4k`, wanted sizes from 512 to 1g in multiples of 512, such as 4k-64k",
        ),
        ("verify=crc33", "job.fio:3: verify: found `crc33`, wanted crc32, or another of"),
        (
            "num_range=8",
            "job.fio:3: num_range: found `8`, which is not simulated, wanted a trim of one range",
        ),
        (
            "profile=x",
            "job.fio:3: profile: found a key that is not simulated, wanted the keys of the profile",
        ),
        ("zonemode=strided", "job.fio:3: [job] zonemode: found no zonesize"),
        ("size=8z", "job.fio:3: [job] size: found 8z"),
        ("io_size=8z", "job.fio:3: [job] io_size: found 8z, wanted a zonesize, or a number of bytes"),
        ("wait_for=b", "job.fio:3: [job] wait_for: found `b`, wanted the name of a job before this one"),
        ("fdp=1", "job.fio:3: [job] fdp: found no plids"),
        ("kb_base=8", "job.fio:3: kb_base: found `8`, wanted 1024 or 1000"),
        ("rw=read:100", "job.fio:3: rw: found `read:100`, wanted bytes to add to each address"),
        (
            "iodpeth=4",
            "job.fio:3: iodpeth: found a key that fio does not have, wanted iodepth, or another key of fio",
        ),
        ("[]", "job.fio:3: found []"),
    ] {
        let text = format!("[job]\nfilename=/dev/sda\n{line}\n");
        let place = |file: JobFile| file.jobs(Seed(1), DEVICE, None).map(|_| ());
        let wrong = JobFile::parse("job.fio", &text).and_then(place).expect_err(line).to_string();
        assert!(wrong.starts_with(wanted), "{line}: {wrong}");
    }
}

#[test]
fn wrong_sections_and_files_are_named() {
    let wrong = JobFile::parse("job.fio", "rw=read\n").expect_err("no section").to_string();
    assert!(wrong.starts_with("job.fio:1: found `rw=read`, wanted a section before it"), "{wrong}");
    let wrong = JobFile::parse("job.fio", "[global]\nrw=read\n").expect_err("no job").to_string();
    assert!(wrong.starts_with("job.fio: found no job"), "{wrong}");
    let two = "[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\n";
    let wrong = JobFile::parse("job.fio", two).expect_err("two devices").to_string();
    assert!(
        wrong.starts_with("job.fio:4: [b] filename: found `/dev/sdb`, wanted `/dev/sda` in all jobs"),
        "{wrong}"
    );
    let zoned = |open: &str| {
        let text = format!(
            "[a]\nfilename=x\nrw=write\nzonemode=zbd\nmax_open_zones=2\n[b]\nfilename=x\nrw=read\nzonemode=zbd\n{open}"
        );
        JobFile::parse("job.fio", &text).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(zoned(""), Ok(()), "a job without a limit takes the first job's limit");
    let wrong = zoned("max_open_zones=4\n").expect_err("two limits");
    assert!(wrong.contains("job.fio:10: [b] max_open_zones: found 4, wanted 2, as in [a]"), "{wrong}");
    let both = JobFile::parse("job.fio", "[a]\nbs=1\nrw=x\n").expect_err("both").to_string();
    assert_eq!(both.lines().count(), 2, "all at once: {both}");
}

#[test]
fn a_job_beyond_the_device_is_refused() {
    for (text, wanted) in [
        ("[a]\nfilename=x\nsize=2g\n", "job.fio:3: [a] size: found 2GiB, wanted at most"),
        ("[a]\nfilename=x\noffset=1g\n", "job.fio:3: [a] offset"),
        (
            "[a]\nfilename=x\nsize=4k\nbs=8k\n",
            "job.fio:3: [a] size: found 4KiB, wanted at least the size of a request, 8KiB",
        ),
        ("[a]\nsize=600m\nnumjobs=2\n", "job.fio:2: [a] size: found files of"),
        ("[global]\nfilename=x\nsize=2g\n[a]\n[b]\nsize=1m\n", "job.fio:3: [a] size: found 2GiB"),
        ("[a]\nrw=read\n", "job.fio:1: [a] size: found none, wanted bytes: without `filename`"),
        ("[a]\nnumjobs=60000\nfilename=x\n[b]\nnumjobs=60000\n", "job.fio: numjobs: found 120000"),
    ] {
        let wrong = parsed(text).jobs(Seed(1), DEVICE, None).expect_err(text).to_string();
        assert!(wrong.starts_with(wanted), "{text}: {wrong}");
    }
}

#[test]
fn global_keys_go_for_the_jobs_behind_them() {
    let text =
        "[global]\nfilename=x\nnumber_ios=3\nbs=8k\n[a]\n[b]\nbs=16k\n[global]\nbs=32k\n[c]\n; a comment\n";
    let mut sizes = BTreeMap::<u64, u32>::new();
    requests(text).iter().for_each(|request| *sizes.entry(request.size.0 / 1024).or_default() += 1);
    assert_eq!(sizes, BTreeMap::from([(8, 3), (16, 3), (32, 3)]));
}

#[test]
fn a_file_names_each_key_once_that_says_nothing_of_the_requests() {
    let notes = |keys: &str| parsed(&format!("[global]\nfilename=x\ndirect=1\n[a]\n{keys}[b]\n{keys}")).notes;
    assert_eq!(notes(""), [""; 0]);
    assert_eq!(
        notes("thread\ngroup_reporting\n"),
        ["keys that do not affect the requests: group_reporting, thread"]
    );
}

#[test]
fn messages_name_a_key_as_the_user_wrote_it() {
    let notes = |keys: &str| parsed(&format!("[a]\nfilename=x\ndirect=1\n{keys}")).notes;
    assert_eq!(
        notes("threads=1\nmem_align=4k\n"),
        ["keys that do not affect the requests: mem_align, threads"]
    );
    assert_eq!(notes("ratemin=1m\n"), ["ratemin: a job does not end when it falls below its least rate"]);
    let streams = "writes name streams (fdp_pli), which a device";
    assert!(notes("rw=write\nfdp=1\nfdp_pli=0,1\n").iter().any(|note| note.contains(streams)));
    let zoned = "[a]\nfilename=x\nzonemode=zbd\nzonesize=64k\n";
    for (keys, wanted) in [
        ("readwrite=trimwrite\n", "job.fio:5: [a] readwrite: found trims and writes"),
        ("blocksize=128k\n", "job.fio:5: [a] blocksize: found 131072, wanted requests of at most a zone"),
        ("bsrange=4k-128k\n", "job.fio:5: [a] bsrange: found 131072, wanted requests of at most a zone"),
    ] {
        let wrong = JobFile::parse("job.fio", &format!("{zoned}{keys}")).expect_err(keys).to_string();
        assert!(wrong.starts_with(wanted), "{keys}: {wrong}");
    }
}

#[test]
fn a_sequence_across_the_end_of_a_region_ends_the_job_unless_the_file_ends_there_as_in_fio() {
    let of_seed = |seed: u64| -> Vec<Request> {
        let jobs = parsed("[a]\nfilename=x\nrw=randread:8\nbs=4k\nsize=1m\n").jobs(Seed(seed), DEVICE, None);
        jobs.expect("it fits").in_turn().collect()
    };
    let mut cut = 0;
    for all in (0..12).map(of_seed) {
        let last = all.last().expect("it has some");
        let is_at_end = last.offset + last.size == Bytes::mib(1);
        assert!(all.len() == 256 || all.len() < 256 && is_at_end, "{} {last:?}", all.len());
        cut += u32::from(all.len() < 256);
    }
    assert!(cut > 0, "a sequence crosses the end with some seed");
    assert_eq!(requests("[a]\nrw=randread:8\nbs=4k\nsize=1m\n").len(), 256, "in a file of its own");
}

#[test]
fn a_sequential_job_covers_its_region_once_and_in_order() {
    let all = job("rw=write\nbs=64k\noffset=25%\nsize=10m");
    let offsets: Vec<u64> = all.iter().map(|request| request.offset.0).collect();
    let wanted: Vec<u64> = (0..160).map(|n| DEVICE.0 / 4 + n * 65_536).collect();
    assert_eq!(offsets, wanted);
    assert!(all.iter().all(|request| request.op == Op::Write && request.size == Bytes::kib(64)));
    let twice = job("rw=write\nbs=64k\nsize=10m\nio_size=20m");
    assert_eq!((twice.len(), twice[160].offset), (320, Bytes(0)));
}

#[test]
fn an_offset_in_percent_is_rounded_up_to_whole_requests() {
    // 33 % of 1 GiB are 354,334,801 bytes and 1 % are 10,737,418: their sum is rounded, as in fio.
    let clones = job("rw=read\nbs=64k\noffset=33%\noffset_increment=1%\nsize=64k\nnumjobs=2");
    let offsets: Vec<u64> = clones.iter().map(|request| request.offset.0).collect();
    let [first, apart] = [33, 1].map(|percent| DEVICE.0 * percent / 100);
    assert_eq!(offsets, [first, first + apart].map(|offset| offset.next_multiple_of(65_536)));
    let size = job("rw=read\nbs=64k\nsize=33%");
    assert_eq!(size.len() as u64, first / 65_536, "a size is rounded down");
}

#[test]
fn a_random_job_asks_for_each_block_once_unless_it_has_no_map() {
    let blocks = |keys: &str| {
        let all = job(&format!("rw=randread\nbs=4k\nsize=4m\n{keys}"));
        assert_eq!(all.len(), 1024);
        let in_order = all.is_sorted_by_key(|request| request.offset.0);
        let all: BTreeSet<u64> = all.iter().map(|request| request.offset.0).collect();
        (all.len(), in_order)
    };
    assert_eq!(blocks(""), (1024, false));
    // A share of 1 - 1/e of the blocks.
    let (without, _) = blocks("norandommap");
    assert!((600..700).contains(&without), "{without}");
}

#[test]
fn distributions_send_requests_where_they_say() {
    let size = 1000 * 4096;
    let share_below = |distribution: &str, part: u64| {
        let keys = format!(
            "rw=randread\nsize={size}\nio_size=80m\nrandom_distribution={distribution}\nrandrepeat=0\niodepth=8"
        );
        let all = job(&keys);
        all.iter().filter(|request| request.offset.0 < size * part / 100).count() as f64 / all.len() as f64
    };
    let first = share_below("zoned:60/10:30/20:10/70", 10);
    assert!((first - 0.6).abs() < 0.01, "{first}");
    let second = share_below("zoned:60/10:30/20:10/70", 30);
    assert!((second - 0.9).abs() < 0.01, "{second}");
    // The most popular block of a Zipf distribution with 1.2 over 1,000 ranks has a share of 1 over the sum
    // of k^-1.2, 4.34.
    let all = job(&format!("rw=randread\nsize={size}\nio_size=80m\nrandom_distribution=zipf:1.2"));
    let mut counts = BTreeMap::<u64, u32>::new();
    all.iter().for_each(|request| *counts.entry(request.offset.0).or_default() += 1);
    let most = f64::from(*counts.values().max().expect("some")) / all.len() as f64;
    assert!((most - 0.2305).abs() < 0.01, "{most}");
}

#[test]
fn reads_and_writes_are_mixed_and_sized_as_the_keys_say() {
    let all = job("rw=randrw\nrwmixread=70\nbssplit=4k/60:16k/,8k\nio_size=200m\niodepth=4\nnorandommap");
    let reads: Vec<&Request> = all.iter().filter(|request| request.op == Op::Read).collect();
    let share = reads.len() as f64 / all.len() as f64;
    assert!((share - 0.7).abs() < 0.01, "{share}");
    let small = reads.iter().filter(|read| read.size == Bytes::kib(4)).count() as f64 / reads.len() as f64;
    assert!((small - 0.6).abs() < 0.01, "{small}");
    assert!(all.iter().all(|request| request.op != Op::Write || request.size == Bytes::kib(8)));
    let bytes: u64 = all.iter().map(|request| request.size.0).sum();
    assert!((200 << 20..(200 << 20) + 16_384).contains(&bytes), "{bytes}");
    let writes = job("rw=randrw\nrwmixwrite=20\nio_size=40m");
    let share = writes.iter().filter(|request| request.op == Op::Write).count() as f64 / writes.len() as f64;
    assert!((share - 0.2).abs() < 0.01, "{share}");
    let orders = job("rw=rw\nbs=4k,8k\nsize=1m");
    for op in [Op::Read, Op::Write] {
        let of: Vec<&Request> = orders.iter().filter(|request| request.op == op).collect();
        assert!(of.windows(2).all(|two| two[1].offset.0 == two[0].offset.0 + two[0].size.0), "{op:?}");
    }
}

/// Maximum number of outstanding requests of a lane, where each takes 100 us.
fn depth_of(all: &[Request], lane: u16) -> usize {
    let of: Vec<u64> = all.iter().filter(|request| request.cpu == Some(lane)).map(us).collect();
    let under_way = |time: &u64| of.iter().filter(|begin| **begin <= *time && *time < **begin + 100).count();
    of.iter().map(under_way).max().unwrap_or(0)
}

#[test]
fn each_clone_keeps_its_own_depth_and_an_engine_that_waits_has_one() {
    let text = "[global]\nfilename=x\nsize=2m\n[deep]\nioengine=io_uring\niodepth=8\nnumjobs=2\n[waits]\niodepth=8\n";
    let all = requests(text);
    assert_eq!([0, 1, 2].map(|lane| depth_of(&all, lane)), [8, 8, 1]);
    assert_eq!(all.iter().filter(|request| us(request) == 0).count(), 17);
    let notes = parsed(text).notes;
    assert!(notes[0].starts_with("waits: iodepth counts as 1"), "{notes:?}");
    assert!(notes[1].starts_with("deep, waits: requests go to the device as with direct=1"), "{notes:?}");
}

#[test]
fn a_rate_spaces_requests_evenly_and_lets_the_other_kind_go_on() {
    let all = job("rw=randread\nrate_iops=1000\nnumber_ios=50\niodepth=4\nio_submit_mode=offload");
    assert!(all.iter().enumerate().all(|(n, request)| us(request) == 1000 * n as u64));
    let all = job("rw=write\nbs=4k\nrate=4m\nnumber_ios=50");
    let due = |n: usize| n as u64 * 1_000_000_000_000 / 1024;
    assert!(all.iter().enumerate().all(|(n, request)| request.arrival.ps() == due(n)));
    // 100 reads a second, and as many writes as the device completes.
    let all = job("rw=randrw\nrate_iops=100,\nruntime=1s\ntime_based\niodepth=1");
    let reads = all.iter().filter(|request| request.op == Op::Read).count();
    assert_eq!(reads, 100);
    assert!(all.len() > 9_000, "{}", all.len());
    let random = job(
        "rw=randread\nrate_iops=1000\nrate_process=poisson\nnumber_ios=20000\niodepth=64\nio_submit_mode=offload",
    );
    let seconds = random.last().expect("some").arrival.seconds();
    assert!((seconds - 20.0).abs() < 0.5, "{seconds}");
    let gaps: Vec<u64> = random.windows(2).map(|two| us(&two[1]) - us(&two[0])).collect();
    let short = gaps.iter().filter(|gap| **gap < 693).count() as f64 / gaps.len() as f64;
    assert!((short - 0.5).abs() < 0.02, "half are below ln 2 of the mean: {short}");
}

#[test]
fn a_job_thinks_once_all_are_completed() {
    let times: Vec<u64> = job("rw=read\nthinktime=300\nnumber_ios=4").iter().map(us).collect();
    assert_eq!(times, [0, 400, 800, 1200]);
    let times: Vec<u64> =
        job("rw=read\nthinktime=300us\nthinktime_blocks=2\nnumber_ios=6").iter().map(us).collect();
    assert_eq!(times, [0, 100, 500, 600, 1000, 1100]);
    let times: Vec<u64> = job("rw=read\nthinktime=1ms\niodepth=2\nnumber_ios=4").iter().map(us).collect();
    assert_eq!(times, [0, 0, 1100, 1100]);
    // The second request is ahead of its rate: the job waits for the first one and then for 50 us, and pauses
    // after the second.
    let apart = job("rw=read\nthinktime=300\niodepth=2\nnumber_ios=3\nrate_iops=20000");
    assert_eq!(apart.iter().map(us).collect::<Vec<u64>>(), [0, 150, 550]);
}

#[test]
fn jobs_begin_and_end_by_their_times() {
    let all = job("rw=randread\nruntime=10ms\ntime_based\nsize=4k\nstartdelay=5ms");
    assert_eq!((us(&all[0]), us(all.last().expect("some"))), (5000, 14_900));
    let all = job("rw=read\nruntime=10ms\nramp_time=5ms\nsize=100m");
    assert_eq!((all.len(), us(all.last().expect("some"))), (150, 14_900));
    // If the next request by rate is due after the end, the job ends at its end and the next job begins then.
    let text = "[global]\nfilename=x\n[slow]\nrate_iops=1\nruntime=10ms\n[next]\nstonewall\nnumber_ios=2\n";
    let times: Vec<(u64, Option<u16>)> = requests(text).iter().map(|r| (us(r), r.cpu)).collect();
    assert_eq!(times, [(0, Some(0)), (10_000, Some(1)), (10_100, Some(1))]);
}

#[test]
fn a_stonewall_waits_for_the_last_answer_before_it() {
    let text = "[global]\nfilename=x\nioengine=libaio\n[a]\nnumber_ios=3\niodepth=2\n[b]\nnumber_ios=4\n\
        [c]\nwait_for_previous\nnumber_ios=1\n[d]\nnumber_ios=1\n";
    let times: Vec<(u64, u16)> = requests(text).iter().map(|r| (us(r), r.cpu.expect("a lane"))).collect();
    assert_eq!(times, [(0, 0), (0, 1), (0, 0), (100, 0), (100, 1), (200, 1), (300, 1), (400, 2), (400, 3)]);
}

#[test]
fn without_a_file_name_each_clone_has_a_file_behind_the_one_before() {
    let all = requests("[a]\nsize=1m\nnumjobs=2\n[b]\nsize=2m\noffset=1m\n");
    let bytes_of = |lane| {
        let of: Vec<&Request> = all.iter().filter(|request| request.cpu == Some(lane)).collect();
        let end = of.iter().map(|request| request.offset.0 + request.size.0).max().expect("some");
        (of.iter().map(|request| request.offset.0 >> 20).min().expect("some"), end >> 20)
    };
    assert_eq!([0, 1, 2].map(bytes_of), [(0, 1), (1, 2), (3, 5)]);
    let with_increment = job("rw=read\nsize=1m\noffset_increment=2m\nnumjobs=2");
    let first = |lane| with_increment.iter().find(|request| request.cpu == Some(lane)).expect("some").offset;
    assert_eq!([first(0), first(1)], [Bytes(0), Bytes::mib(2)]);
}

#[test]
fn jobs_say_when_they_are_due_and_end_at_a_limit() {
    let text = "[a]\nfilename=x\nrate_iops=100\n";
    let mut jobs = parsed(text).jobs(Seed(1), DEVICE, Some(2)).expect("it fits");
    let (lane, _) = jobs.ask().expect("the first");
    assert_eq!(jobs.ask(), None);
    assert_eq!(jobs.due(), None, "it waits for its answer first");
    jobs.completed(lane);
    assert_eq!(jobs.ask(), None);
    let due = Instant::ZERO + Duration::from_ms(10);
    assert_eq!((jobs.due(), jobs.is_over()), (Some(due), false));
    jobs.advance_to(due);
    assert!(jobs.ask().is_some());
    assert!(jobs.is_over() && jobs.due().is_none());
}

#[test]
fn the_requests_follow_from_the_seed() {
    let of = |seed| -> Vec<Request> {
        let file = parsed("[a]\nrw=randrw\nsize=8m\nnumjobs=3\nbssplit=4k/50:8k/50\n");
        file.jobs(Seed(seed), DEVICE, None).expect("it fits").in_turn().collect()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn random_addresses_are_aligned_as_asked_and_sequential_ones_are_not() {
    let random = job(
        "rw=randread\nsize=1m\nblockalign=16k\nbs=4k\nnorandommap\nrandrepeat=0\nnumber_ios=2000\nio_size=1g",
    );
    let places: BTreeSet<u64> = random.iter().map(|request| request.offset.0).collect();
    assert_eq!(random.len(), 2000);
    assert!(places.iter().all(|place| place % 16384 == 0) && places.len() == 64, "{places:?}");
    let two =
        job("rw=randwrite\nsize=64k\nba=512\nbssplit=4k/50:8k/50\nnorandommap\nnumber_ios=300\nio_size=1g");
    assert!(two.iter().any(|request| request.offset.0 % 4096 != 0));
    assert!(two.iter().all(|request| request.offset.0 + request.size.0 <= 65536));
    let sequential = job("rw=read\nsize=64k\nblockalign=16k\nbs=4k");
    assert_eq!(sequential[1].offset, Bytes(4096));
}

#[test]
fn a_job_replays_a_trace_in_its_region_at_its_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("small.csv");
    let trace = "t_ps,op,offset,size\n0,R,0,4096\n500000000,W,8192,4096\n900000000,R,1048576,4096\n";
    std::fs::write(&path, trace).expect("it is written");
    let keys = |more: &str| format!("read_iolog={}\niodepth=64\noffset=16m\nsize=1m\n{more}", path.display());
    let times: Vec<(u64, Op, u64)> =
        job(&keys("")).iter().map(|request| (us(request), request.op, request.offset.0 >> 12)).collect();
    let base = (16 << 20) >> 12;
    // The last address is behind the region and wraps to its start.
    assert_eq!(times, [(0, Op::Read, base), (500, Op::Write, base + 2), (900, Op::Read, base)]);
    let twice = job(&keys("loops=2"));
    assert_eq!(twice.iter().map(us).collect::<Vec<_>>(), [0, 500, 900, 900, 1400, 1800]);
    assert_eq!(job(&keys("loops=2\nnumber_ios=2")).len(), 4);
    let beside = format!(
        "[global]\nfilename=x\ndirect=1\nioengine=libaio\n[log]\n{}\n[own]\nrw=read\nsize=8k\n",
        keys("")
    );
    assert_eq!(requests(&beside).len(), 5, "both jobs run");
}

#[test]
fn a_job_lays_the_devices_of_a_trace_one_behind_another_and_has_its_notes() {
    let folder = tempfile::tempdir().expect("a folder");
    let replayed = |name: &str, trace: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, trace).expect("it is written");
        let text = format!("[a]\nfilename=x\nread_iolog={}\nnumjobs=2\niodepth=2\n", path.display());
        let jobs = parsed(&text).jobs(Seed(1), DEVICE, None).expect("it fits");
        let notes = jobs.notes.clone();
        let places: BTreeSet<u64> = jobs.in_turn().map(|request| request.offset.0).collect();
        (Vec::from_iter(places), notes)
    };
    let (places, notes) = replayed("two.csv", "t_us,op,offset,size,device\n0,W,0,4096,1\n10,W,0,4096,2\n");
    assert_eq!((places, notes.len()), (vec![0, 1 << 20], 1));
    assert!(notes[0].starts_with("two.csv: 2 devices were stacked"), "{notes:?}");
    // As in MQSim, which ignores the devices.
    let (places, notes) = replayed("two.trace", "1000000 0 8 8 0\n2000001 1 8 8 0\n3000002 1 16 8 0\n");
    assert_eq!(places, [4096, 8192]);
    assert!(!notes.iter().any(|note| note.contains("stacked")), "{notes:?}");
}

#[test]
fn a_trace_that_cannot_be_replayed_is_refused_with_its_line() {
    let absent = "[a]\nfilename=x\nread_iolog=/nowhere/small.csv\n";
    let wrong = parsed(absent).jobs(Seed(1), DEVICE, None).expect_err("no file").to_string();
    assert!(wrong.starts_with("job.fio:3: [a] read_iolog: found /nowhere/small.csv: cannot"), "{wrong}");
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.csv");
    std::fs::write(&empty, "").expect("it is written");
    let text = format!("[a]\nfilename=x\nread_iolog={}\n", empty.display());
    let wrong = parsed(&text).jobs(Seed(1), DEVICE, None).expect_err("an empty file").to_string();
    let wanted = format!("read_iolog: found {}: an empty file, wanted a trace", empty.display());
    assert!(wrong.ends_with(&wanted), "{wrong}");
}
