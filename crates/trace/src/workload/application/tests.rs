//! Do the requests of applications follow from the file operations of their threads?

mod threads;

use wordline_kernel::{Bytes, Digest, Seed};

use super::*;
use crate::{Op, Request, Statistics};

const MIB: u64 = 1 << 20;

/// Returns the named application with changed model keys.
fn application(name: &str, keys: &str) -> Application {
    let mut table: toml::Table = toml::from_str(FILE).expect("the embedded file");
    let mut table = table.remove(name).expect("a named application");
    let changes: toml::Table = toml::from_str(keys).expect("keys of a model");
    for (key, value) in changes {
        table["model"].as_table_mut().expect("a model").insert(key, value);
    }
    let application: Application = table.try_into().expect("an application");
    application.check().expect("a good one");
    application
}

fn requests(application: &Application, seed: u64, capacity: u64) -> Requests {
    application.generator(Seed(seed), Bytes(capacity)).expect("it has room")
}

/// Returns the named application with changed keys, with files and appends of one block, so that each file or
/// append has one extent.
fn of_blocks(name: &str, keys: &str) -> Application {
    let mut application = application(name, &format!("mean_size = \"4KiB\"\nsizes = \"equal\"\n{keys}"));
    let Model::Files(files) = &mut application.model else { panic!("an application over files") };
    for step in files.threads.iter_mut().flat_map(|threads| &mut threads.steps) {
        if let Step::Append { up_to } = step {
            *up_to = Bytes(1);
        }
    }
    application
}

/// Counts requests by operation.
fn counts(requests: impl Iterator<Item = Request>) -> [usize; 4] {
    let mut counts = [0; 4];
    requests.for_each(|request| counts[request.op as usize] += 1);
    counts
}

#[test]
fn every_application_is_right_and_has_requests_on_small_and_large_devices() {
    for name in names() {
        let application = Application::named(&name).expect("a name of the list");
        application.check().expect("the embedded applications are right");
        for capacity in [4 * MIB, 5 * MIB + 512, 64 * MIB, 8 << 30] {
            let all: Vec<Request> = requests(&application, 1, capacity).take(20_000).collect();
            assert_eq!(all.len(), 20_000, "{name}");
            for request in &all {
                assert!(request.offset.0 + request.size.0 <= capacity, "{name}: {request:?}");
                assert!(request.offset.0 % 4096 == 0 && request.size.0 % 4096 == 0);
                assert_eq!(request.size.0 == 0, request.op == Op::Flush, "{name}: {request:?}");
            }
        }
    }
}

#[test]
fn equal_seeds_give_equal_requests_and_others_do_not() {
    for name in names() {
        let application = application(&name, "");
        let digest = |seed| {
            let mut digest = Digest::default();
            for r in requests(&application, seed, 64 * MIB).take(30_000) {
                [r.offset.0, r.size.0, r.op as u64, r.fua.into()]
                    .into_iter()
                    .for_each(|value| digest.add(value));
            }
            digest.value()
        };
        assert_eq!(digest(3), digest(3), "{name}");
        assert_ne!(digest(3), digest(4), "{name}");
    }
}

/// Applications, and changes of their keys.
const CHANGED: [(&str, &str); 18] = [
    ("mail", ""),
    ("mail", "page_cache = 0.0"),
    ("mail", "journal = \"0B\""),
    ("mail", "discard = false\nfill = 0.9\npresent = 0.5"),
    ("mail", "mean_size = \"1KiB\"\npage_cache = 0.9"),
    ("web", ""),
    ("web", "page_cache = 0.0\nlog_limit = \"64KiB\""),
    ("proxy", ""),
    ("proxy", "page_cache = 0.0\njournal = \"0B\""),
    ("oltp", ""),
    ("oltp", "page_cache = 0.0"),
    ("rocks", ""),
    ("rocks", "page_cache = 0.0\nsync = true\ndiscard = false"),
    ("rocks", "fill = 0.7\nmerge_at = 1\nstall_at = 2\nratio = 2.5"),
    ("rocks", "fill = 0.7\nmerge_at = 31\nstall_at = 32\nratio = 100.0"),
    ("mongo", ""),
    ("mongo", "page_cache = 0.9\nfill = 0.8\ndirty_trigger = 1.0\ndirty_target = 0.5"),
    ("mongo", "page_cache = 0.01\npage = \"4KiB\"\njournal_piece = \"4KiB\"\ncheckpoint_every = \"4KiB\""),
];

/// Records a request in the map of written blocks. Asserts that it reads only written blocks, and returns how
/// many blocks it adds.
fn note(written: &mut [bool], request: &Request, what: &dyn Fn() -> String) -> usize {
    let (first, end) = (request.offset.0 / 4096, (request.offset.0 + request.size.0) / 4096);
    let mut added = 0;
    for (block, is_written) in (first..end).zip(&mut written[first as usize..end as usize]) {
        match request.op {
            Op::Read => assert!(*is_written, "{} reads block {block}", what()),
            Op::Write => added += usize::from(!std::mem::replace(is_written, true)),
            _ => *is_written = false,
        }
    }
    added
}

#[test]
fn extents_never_overlap_and_reads_are_of_what_was_written_and_not_discarded() {
    for (name, keys) in CHANGED {
        let application = application(name, keys);
        let mut all = requests(&application, 7, 64 * MIB);
        let mut written = all.work().audit();
        let (mut reads, mut reused) = (0, 0);
        for number in 0..60_000 {
            let request = all.next().expect("more than that");
            reused += note(&mut written, &request, &|| format!("{name} {keys}: request {number}"));
            reads += usize::from(request.op == Op::Read);
            if number % 10_000 == 0 {
                all.work().audit();
            }
        }
        assert!(reads > 1000, "{name} {keys}: {reads} reads");
        // More blocks than were free at first: freed blocks are reused.
        let comes_back = name == "mail" && !keys.contains("discard");
        assert!(
            !comes_back || reused > 7_000,
            "{name} {keys}: only {reused} blocks were written where none was"
        );
    }
}

#[test]
fn web_reads_ten_files_for_each_append_and_proxy_five_for_each_new_one() {
    let all = |name| counts(requests(&of_blocks(name, "page_cache = 0.0"), 5, 256 * MIB).take(300_000));
    // Each read covers one extent. An append to the log is one write, or two where it wraps around; commits
    // are extra.
    let [reads, writes, discards, flushes] = all("web");
    let appends = reads as f64 / 10.0;
    assert!((0.99..1.10).contains(&(writes as f64 / appends)), "{writes} writes of {appends} appends");
    assert!(flushes < 200 && discards < 1000, "{flushes} flushes, {discards} discards");
    let [reads, _, discards, flushes] = all("proxy");
    assert!(flushes > 0 && flushes < discards / 20, "{flushes} flushes, {discards} discards");
    // The difference is a transaction of deletions that are not yet durable, and the loops in progress.
    let loops = reads as f64 / 5.0;
    assert!((loops - discards as f64).abs() < 600.0, "{loops} loops, {discards} deleted files");
}

#[test]
fn oltp_without_a_page_cache_reads_at_least_as_much_as_it_writes() {
    let all = |keys: &str| {
        let stats =
            Statistics::of(requests(&application("oltp", keys), 5, 1 << 30).skip(200_000).take(600_000));
        (stats.read_bytes as f64, stats.written_bytes as f64, stats)
    };
    let (read, written, stats) = all("page_cache = 0.0");
    assert!(read >= written, "{read} bytes read, {written} written");
    // Each of ten writers makes a tenth of the reads, and reads a block before it writes half of it.
    let share = stats.reads as f64 / stats.writes as f64;
    assert!((share - 2.0).abs() < 0.05, "{share} reads a write");
    assert!(stats.flushes.abs_diff(stats.writes) < stats.writes / 500, "each write is made durable");
    let (cached, written_then, _) = all("");
    let share = cached / written_then / (read / written);
    assert!((share - 0.75).abs() < 0.03, "a quarter of the reads is in memory: {share}");
}

#[test]
fn what_is_known_of_files_does_not_grow_with_the_number_of_requests() {
    let mut all = requests(&application("mail", ""), 7, 64 * MIB);
    let extents = |all: &Requests| all.work().file_system().0.extent_count();
    all.by_ref().take(100_000).for_each(drop);
    let before = extents(&all);
    for _ in 0..300 {
        all.by_ref().take(1000).for_each(drop);
        assert!(all.work().later() < 2000, "the system has {} things to do", all.work().later());
    }
    assert!(extents(&all) < before + before / 5, "{before} extents, then {}", extents(&all));
}

#[test]
fn mail_makes_durable_twice_a_loop_and_writes_each_change_into_the_journal() {
    // Without a page cache: two reads of whole files per loop, each of one or more extents, and a commit per
    // durable file.
    let all = || {
        requests(&application("mail", "page_cache = 0.0\nmean_size = \"4KiB\""), 5, 256 * MIB).take(200_000)
    };
    let [reads, writes, discards, flushes] = counts(all());
    let commits = all().filter(|request| request.fua).count();
    assert!(flushes.abs_diff(commits) <= 16, "{flushes} flushes, {commits} commits");
    let loops = flushes as f64 / 2.0;
    // Files begin with one block. On average each is appended to once in its life, so that some have two
    // extents.
    let reads = reads as f64 / loops;
    assert!((2.0..2.6).contains(&reads), "{reads} reads a loop");
    let discards = discards as f64 / loops;
    assert!((1.0..1.6).contains(&discards), "{discards} discards a loop");
    // Data and two journal writes per durable file; in-place writes are extra.
    assert!(writes as f64 / loops > 6.0);
}

#[test]
fn the_page_cache_takes_its_share_of_the_reads() {
    let reads = |cache: f64| {
        let application = application("mail", &format!("page_cache = {cache:.2}\njournal = \"0B\""));
        let [reads, _, _, flushes] = counts(requests(&application, 5, 256 * MIB).skip(50_000).take(300_000));
        reads as f64 / flushes as f64
    };
    let all = reads(0.0);
    for cache in [0.25, 0.5] {
        // Created files reuse the slots of deleted files, and are read as often.
        let share = reads(cache) / all;
        assert!((share - (1.0 - cache)).abs() < 0.03, "{cache}: {share}");
    }
}

#[test]
fn the_levels_of_a_merge_tree_keep_their_sizes_and_every_update_is_written_several_times() {
    let application = application("rocks", "page_cache = 0.0");
    let mut all = requests(&application, 3, 1 << 30);
    let (mut read, mut written, mut points) = (0, 0, 0u64);
    for request in all.by_ref().take(400_000) {
        match request.op {
            Op::Read if request.size == Bytes::kib(4) => points += 1,
            Op::Read => read += request.size.0,
            Op::Write => written += request.size.0,
            _ => {}
        }
    }
    let (flushed, levels) = all.work().levels();
    assert!(flushed <= 20, "{flushed} flushed tables");
    for (number, full) in levels.iter().enumerate() {
        assert!((0.5..1.6).contains(full), "level {} is {full} full: {levels:?}", number + 1);
    }
    assert!(levels.last().is_some_and(|full| (full - 1.0).abs() < 0.01), "{levels:?}");
    // Half of the operations are updates; most reads that miss the memtable take one block.
    let updated = points as f64 * 1024.0 / 2.0;
    let amplification = written as f64 / updated;
    // The bytes written: the log, the flush, and the rewrites by three levels without the records that are
    // updated twice.
    assert!((4.0..20.0).contains(&amplification), "{amplification} bytes written for each updated");
    assert!(read > written / 2, "{read} bytes read to be merged");
}

#[test]
fn a_b_tree_reads_and_writes_whole_pages_and_flushes_its_journal() {
    let all = || requests(&application("mongo", ""), 3, 1 << 30).take(200_000);
    let sizes = |op| {
        all().filter(move |request| request.op == op && !request.fua).map(|request| request.size.0 >> 10)
    };
    assert!(sizes(Op::Read).all(|size| size == 32), "reads are of pages");
    let writes: Vec<u64> = sizes(Op::Write).collect();
    let (pages, pieces) = (
        writes.iter().filter(|size| **size == 32).count(),
        writes.iter().filter(|size| **size == 512).count(),
    );
    assert_eq!(pages + pieces, writes.len());
    // An update takes 1,152 bytes of the journal. Half of the operations are updates, and most updates dirty
    // another page.
    let updates = pieces as f64 * 512.0 * 1024.0 / 1152.0;
    assert!(pages as f64 <= updates, "{pages} pages for {updates} updates");
    let flushes = all().filter(|request| request.op == Op::Flush).count();
    let checkpoints = all().filter(|request| request.fua).count();
    assert!(
        checkpoints > 0 && flushes.abs_diff(pieces + checkpoints) <= 17,
        "{flushes} {pieces} {checkpoints}"
    );
}

#[test]
fn what_is_wrong_with_an_application_is_named() {
    for (name, keys, wanted) in [
        ("rocks", "fill = 0.75", "model.fill: found 0.75, wanted a fraction from 0.05 to 0.7"),
        ("rocks", "memtable = \"1KiB\"", "model.memtable: found 1KiB, wanted from 64KiB to 16GiB"),
        ("rocks", "ratio = 1.0", "model.ratio: found 1"),
        ("rocks", "stall_at = 4", "model.stall_at: found 4, wanted more than merge_at, at most 32"),
        ("rocks", "merge_at = 0", "model.merge_at: found 0"),
        (
            "rocks",
            "clients = { threads = 0, read_share = 2.0, theta = 0.0, record = \"1B\" }",
            "model.clients.theta: found 0, wanted a number above 0",
        ),
        ("mongo", "page = \"256KiB\"", "model.page: found 256KiB, wanted a multiple of 4KiB up to 128KiB"),
        ("mongo", "page_cache = 0.0", "model.page_cache: found 0, wanted a fraction from 0.01 to 0.9"),
        ("mongo", "checkpoint_every = \"4KiB\"", "model.checkpoint_every: found 4KiB, wanted at least journal_piece"),
        ("mongo", "dirty_trigger = 0.05", "model.dirty_trigger: found 0.05, wanted a fraction above dirty_target"),
    ].into_iter().chain([
        ("mean_size = \"0B\"", "model.mean_size: found 0B"),
        ("mean_size = \"1GiB\"", "model.mean_size: found 1GiB, wanted above 0B and at most 128MiB"),
        ("present = 0.0", "model.present: found 0, wanted a fraction above 0"),
        ("fill = 0.95", "model.fill: found 0.95"),
        ("page_cache = 1.0", "model.page_cache: found 1, wanted a fraction from 0 to 0.9"),
        ("journal = \"1000B\"", "model.journal: found 1000B, wanted a multiple of 4KiB"),
        ("threads = []", "model.threads: found 0 threads"),
        (
            "threads = [{ name = \"a\", count = 0, loop = [{ op = \"fsync\" }] }]",
            "model.threads[0].count: found 0",
        ),
        ("threads = [{ name = \"a\", count = 1, loop = [] }]", "model.threads[0].loop: found no step"),
        (
            "threads = [{ name = \"a\", count = 1, loop = [{ op = \"fsync\" }] }]",
            "model.threads[0].loop[0]: found no open file",
        ),
        ("threads = [{ name = \"a\", count = 1, loop = [{ op = \"open\" }] }]", "a file that stays open"),
        (
            "threads = [{ name = \"a\", count = 1, loop = [{ op = \"delete\" }] }]",
            "none that issues requests",
        ),
        (
            "threads = [{ name = \"a\", count = 1, loop = [{ op = \"delete\" }] }]",
            "model.threads: found files that are only created or only deleted",
        ),
        (
            "threads = [{ name = \"a\", count = 1, loop = [{ op = \"post\", to = \"a\" }, { op = \"wait\", posts = 1 }] }]",
            "model.threads[0].loop: found steps that post and that wait",
        ),
        (
            "threads = [{ name = \"a\", count = 1, loop = [] }, { name = \"a\", count = 1, loop = [] }]",
            "model.threads[1].name: found a, wanted a name that is not in use",
        ),
        (
            "threads = [{ name = \"a\", count = 1, loop = [{ op = \"append-log\", up_to = \"4KiB\" }, { op = \"post\", to = \"b\" }] }]",
            "model.threads[0].loop[1].to: found b, wanted a",
        ),
        (
            "threads = [{ name = \"a\", count = 1, loop = [{ op = \"read-part\", size = \"8KiB\" }] }]",
            "model.threads[0].loop[0].size: found 8KiB, wanted above 0B and at most 4KiB",
        ),
    ].map(|(keys, wanted)| ("mail", keys, wanted))) {
        let mut bad = application(name, "");
        let mut table = toml::Table::try_from(&bad).expect("an application is TOML");
        let changes: toml::Table = toml::from_str(keys).expect(keys);
        table["model"].as_table_mut().expect("a model").extend(changes);
        bad = table.try_into().expect(keys);
        let error = bad.check().expect_err(keys).to_string();
        assert!(error.contains(wanted), "{keys}: {error}");
    }
}

#[test]
fn a_device_that_is_too_small_is_refused() {
    let error = application("mail", "").generator(Seed(1), Bytes(3 * MIB)).expect_err("3 MiB").to_string();
    assert_eq!(error, "region: found 3MiB, wanted at least 4MiB for an application");
    let large = application("mail", "mean_size = \"8MiB\"");
    let error = large.generator(Seed(1), Bytes(64 * MIB)).expect_err("five files").to_string();
    assert!(
        error.contains("model.mean_size: found 8MiB, wanted a size of which at least 17 files fit"),
        "{error}"
    );
}

/// Requests of each application on the device of cubeFTL's evaluation, 30.1 GiB, as a table.
fn table() -> String {
    let row = |name: String| {
        let all = requests(&Application::named(&name).expect("a name of the list"), 0, 30 << 30);
        let stats = Statistics::of(all.skip(100_000).take(400_000));
        let share = |part: u64| part as f64 / stats.requests as f64 * 100.0;
        format!(
            "| `{name}` | {:.0}% | {:.0}% | {:.1} | {:.1} | {:.0}% | {:.0}% | {:.0}% |\n",
            stats.read_share * 100.0,
            stats.read_bytes as f64 / (stats.read_bytes + stats.written_bytes) as f64 * 100.0,
            stats.mean_read_size / 1024.0,
            stats.mean_write_size / 1024.0,
            stats.sequential_share * 100.0,
            share(stats.flushes),
            share(stats.discards),
        )
    };
    names().into_iter().map(row).collect()
}

#[test]
fn the_statistics_in_the_docs_are_those_of_the_applications() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workloads.md");
    let text = std::fs::read_to_string(page).expect("the page of workloads");
    let begin = text.rfind("| `mail` |").expect("the table begins with mail");
    let end = begin + text[begin..].find("| YCSB").expect("the recorded traces stand below");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page, format!("{}{table}{}", &text[..begin], &text[end..]))
            .expect("it can be written");
    } else {
        assert_eq!(text[begin..end], table, "UPDATE_DOCS=1 writes it anew");
    }
}
