//! Tests hundreds of valid and invalid command lines. Each must end with exit code 0 or 2. An error must name
//! the fault in the program's own words. Nothing may be printed that a terminal would interpret as a command.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Folder, program};

/// A command line, and text that its error must contain; the text is empty for a valid command line. `@name`
/// is a file of the test folder.
struct Input {
    line: String,
    named: Option<String>,
}

fn good(line: &str) -> Input {
    Input { line: line.into(), named: None }
}

fn bad(line: impl Into<String>, named: &str) -> Input {
    Input { line: line.into(), named: Some(named.into()) }
}

/// A folder with the files of the tables.
fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).expect("a temporary folder can be written");
    folder.with("empty", "");
    folder.with("binary.toml", [0, 159, 146, 150, 27, 91, 51, 49, 109, 255]);
    folder.with("binary.csv", [0, 159, 146, 150, 27, 91, 51, 49, 109, 255]);
    folder.with("large.toml", vec![b'#'; (1 << 20) + 1]);
    folder.with(
        "escape.toml",
        "preset = \"tiny\"\nname = \"\\u001b[31mred\\u009b\"\ndescription = \"a\\u001b]0;b\\u0007\"\n",
    );
    folder.with("escape-key.toml", "preset = \"tiny\"\n\"\\u001b[31mkey\" = 3\n");
    folder.with("escape-value.toml", "preset = \"\\u001b[31mtiny\"\n");
    folder.with("ring.toml", "preset = \"ring.toml\"\n");
    folder.with("device.toml", "preset = \"tiny\"\n");
    folder.with("type.toml", "preset = \"tiny\"\n[layout]\nchannels = \"two\"\n");
    folder.with("part.toml", "name = \"x\"\n[geometry]\nplains = 2\n");
    let tiny_part = "base = \"mqsim-mlc\"\nname = \"x\"\n";
    folder.with(
        "device-of-part.toml",
        format!("preset = \"tiny\"\n[part]\n{tiny_part}geometry.page_size = \"6KiB\"\n"),
    );
    folder.with("workload.toml", "description = \"x\"\nrequests = \"many\"\nread_shar = 1.0\n");
    folder.with("workload-empty.toml", "");
    folder.with(
        "application.toml",
        "description = \"x\"\nrequests = 10\nprecondition = \"empty\"\n[model]\nkind = \"files\"\nmean_size = \"4KiB\"\n\
         [[model.threads]]\nname = \"a\"\nloop = [{ op = \"opne\" }]\ncount = 1\n",
    );
    folder.with("good.csv", "t_ns,op,offset_bytes,size_bytes\n0,W,0,4096\n9,R,0,4096\n");
    folder.with("far.csv", "t_ns,op,offset_bytes,size_bytes\n0,W,90000000,4096\n");
    folder.with("escape.csv", "t_ns,op,offset_bytes,size_bytes\n0,\u{1b}[31mW,0,4096\n");
    folder.with("nan.csv", "t_ns,op,offset_bytes,size_bytes\nnan,W,0,4096\n");
    folder.with("negative.csv", "t_ns,op,offset_bytes,size_bytes\n0,W,-4096,4096\n");
    folder.with("\u{1b}[31mred.csv", "nonsense\n");
    folder.with("script.onfi", "part mqsim-mlc\nerase blok=1\n");
    folder
}

/// Valid inputs.
const GOOD: [&str; 41] = [
    "--version",
    "--help",
    "run --help",
    "config check",
    "config check --preset tiny",
    "config check --config @device.toml",
    "config check --config @escape.toml",
    "config show --config @escape.toml",
    "config explain --config @escape.toml",
    "config explain --preset centaur --set pools.0.stop_at_free_blocks=110",
    "config schema",
    "config check --preset tiny --set ftl.mapping.cache=16KiB",
    "config check --preset tiny --set ftl.gc.start_below_free_blocks=5",
    "config check --preset tiny --set part=z-nand --set part.geometry.blocks_per_plane=64",
    "config check --preset tiny --set part.timing.read.0=70us",
    "config check --preset tiny --set faults.0.fails=read --set faults.0.every=100",
    "config check --preset centaur --set faults.0.fails=die --set faults.0.die=14",
    "run --preset tiny --workload randread-4k --requests 10",
    "run --preset tiny --trace @good.csv",
    "run --preset tiny --trace @good.csv --json",
    "run --config @escape.toml --trace @good.csv",
    "run --quiet --preset tiny --workload randread-4k --requests 10",
    "compare tiny @escape.toml --trace @good.csv",
    "presets list",
    "presets show tiny",
    "policies",
    "policies victim",
    "policies victim/fifo",
    "metrics",
    "metrics faults",
    "workloads list",
    "workloads show mixed-70-30",
    "workloads show mail",
    "workloads show centaur/usr_1",
    "trace info @good.csv",
    "trace formats",
    "nand ops --part mqsim-mlc",
    "nand timeline --part mqsim-mlc read*3 erase",
    "completions bash",
    "man",
    "man trace convert",
];

/// Invalid inputs, each with a part of its message.
const BAD: [(&str, &str); 114] = [
    ("rnu", "rnu"),
    ("run --presett tiny", "--presett"),
    ("run --preset tniy", "tiny, or another of"),
    ("run --preset ''", "--preset"),
    ("run --preset \u{1b}[31mtiny", "--preset"),
    ("run --config @absent.toml", "absent.toml"),
    ("run --config @empty", "empty"),
    ("run --config @folder", "folder"),
    ("run --config @binary.toml", "binary.toml"),
    ("run --config @large.toml", "1 MiB"),
    ("run --config @escape-key.toml", "escape-key.toml:2"),
    ("run --config @escape-value.toml", "escape-value.toml:1: preset"),
    ("run --config @ring.toml", "ring.toml:1: preset: found a preset that builds on itself"),
    ("run --config @type.toml", "type.toml:3: layout.channels: found \"two\", wanted a whole number"),
    ("run --config @device-of-part.toml", "device-of-part.toml:5: part.geometry.page_size: found 6KiB"),
    ("run --config @device.toml --preset nvme-tlc", "device.toml:1: preset"),
    ("run --preset tiny --set ftl", "key=value"),
    ("run --preset tiny --set =3", "--set"),
    ("run --preset tiny --set ..=3", "--set"),
    ("run --preset tiny --set \u{1b}[31m=3", "--set"),
    ("run --preset tiny --set preset=tiny", "a key of files"),
    ("run --preset tiny --set ftl.gc.victim.policy=gredy", "greedy, or another of"),
    ("run --preset tiny --set ftl.gc.victm.policy=greedy", "victim, or another of"),
    ("run --preset tiny --set ftl.gc.policy=greedy", "wanted ftl.gc.victim.policy, or one of"),
    ("run --preset tiny --set over_provisioning=0.2", "wanted ftl.over_provisioning, or one of"),
    ("run --preset tiny --set part=mqsim-mcl", "mqsim-mlc, or another of"),
    ("run --preset tiny --set part=@absent.toml", "absent.toml"),
    ("run --preset tiny --set part=@part.toml", "part.toml:3: part.geometry.plains: found an unknown key"),
    ("run --preset tiny --set pools.0.part=mqsim-mcl", "--set pools.0.part: found \"mqsim-mcl\""),
    (
        "run --preset tiny --set pools.1.part=mqsim-mlc",
        "--set pools.1.part: pools[1]: found item 1 of a list of 0",
    ),
    ("run --preset tiny --set layout.0=3", "--set layout.0"),
    ("run --preset tiny --set buffer.power_loss_protection=ful", "full, or another of"),
    ("run --preset tiny --set front.interface=nvmee", "nvme, or another of"),
    ("run --preset tiny --set faults.0.fails=programm", "program, or another of"),
    (
        "run --preset tiny --set faults.0.fails=program --set faults.0.die=2",
        "faults.0.die: found 2, wanted from 0 to 1",
    ),
    ("run --preset centaur --set design.name=centuar", "centaur, or another of"),
    ("run --preset tiny --workload randrad-4k", "randread-4k, or another of"),
    ("run --preset tiny --workload mial", "mail, or another of"),
    ("run --preset tiny --workload @application.toml", "open, or another of"),
    ("run --preset tiny --workload centaur/usr_l", "centaur/usr_1, or another of"),
    ("run --preset tiny --workload @absent.toml", "absent.toml"),
    (
        "run --preset tiny --workload @workload.toml",
        "workload.toml:2: requests: found \"many\", wanted a whole number",
    ),
    ("run --preset tiny --workload @workload.toml", "read_share, or another of"),
    ("run --preset tiny --workload @workload-empty.toml", "workload-empty.toml"),
    ("run --preset tiny --workload @binary.toml", "binary.toml"),
    ("run --preset tiny --trace @absent.csv", "absent.csv"),
    ("run --preset tiny --trace @empty", "empty"),
    ("run --preset tiny --trace @folder", "folder"),
    ("run --preset tiny --trace @binary.csv", "binary.csv"),
    ("run --preset tiny --trace @escape.csv", "escape.csv:2"),
    ("run --preset tiny --trace @nan.csv", "nan.csv:2"),
    ("run --preset tiny --trace @negative.csv", "negative.csv:2"),
    ("run --preset tiny --trace @\u{1b}[31mred.csv", "red.csv"),
    ("run --preset tiny --trace @good.csv --format cvs", "csv, or another of"),
    ("run --preset tiny --trace @good.csv --trace-option tiem_unit=s", "time_unit, or another of"),
    (
        "run --preset tiny --trace @good.csv --trace-option time_unit=sec",
        "wanted s, or another of ps, ns, 100ns, us, ms",
    ),
    ("run --preset tiny --trace @good.csv --trace-option devices=stak", "stack, or another of"),
    ("run --preset tiny --trace @good.csv --trace-option device=-1", "the number of a device"),
    ("run --preset tiny --trace @good.csv --trace-option jump=never", "a time such as"),
    ("run --preset tiny --trace @good.csv --trace-option jump", "key=value"),
    ("run --preset tiny --trace @good.csv --trace-option sector=0B", "sector"),
    ("run --preset tiny --trace @good.csv --workload randread-4k", "--workload"),
    ("run --preset tiny --format csv", "--trace FILE"),
    ("run --preset tiny --trace @good.csv --time-scale -1", "error: --time-scale: found -1"),
    ("run --preset tiny --log @log.txt", "error: --log: found"),
    (
        "run --preset tiny --trace @far.csv --fit refuse",
        "far.csv:2: found a request up to byte 90004096 (request 1), wanted all within the device",
    ),
    ("run --preset tiny --fit squeeze", "wanted one of wrap, scale, refuse"),
    ("run --preset tiny --fit wrapp", "wrap, or another of"),
    ("run --preset tiny --bursts 0s --workload mail", "bursts.on: found 0s, wanted from 1us to 1h"),
    ("run --preset tiny --bursts 5ms", "--bursts: found 5ms, wanted none without a queue depth"),
    ("run --preset tiny --times-of @absent.csv --workload mail", "absent.csv"),
    (
        "run --preset tiny --times-of embedded --queue-depth 2 --workload mail",
        "none beside the times of a trace",
    ),
    ("run --preset tiny --think-time 3", "a time with a unit"),
    ("run --preset tiny --think-time -3us", "'-3'"),
    ("run --preset tiny --cut-power-at soon", "a time with a unit"),
    ("run --preset tiny --cut-power-at 1s --cut-power-after 3", "--cut-power-a"),
    ("run --preset tiny --precondition full", "filled"),
    ("run --preset tiny --precondition 1.5", "from 0 to 1"),
    ("run --preset tiny --precondition nan", "from 0 to 1"),
    ("run --preset tiny --precondition -1", "from 0 to 1"),
    ("run --preset tiny --precondition steady-state:2", "steady-state:0.5"),
    ("run --preset tiny --namespace 2", "--namespace: found 2, wanted 1: the device has one namespace"),
    ("run --preset tiny --queues 7 --workload randread-4k", "error: --queues: found 7"),
    ("run --preset tiny --traces @absent --workload centaur/usr_1", "absent"),
    ("run --from-snapshot @absent.snap", "absent.snap"),
    ("run --from-snapshot @empty", "empty"),
    ("run --from-snapshot @binary.toml", "binary.toml"),
    ("run --quiet --verbose", "--verbose"),
    ("run --color sometimes", "--color"),
    ("compare tiny", "PRESET|FILE"),
    ("compare tiny tniy", "tiny, or another of"),
    ("compare tiny tiny --set ftl.over_provisioning=2", "ftl.over_provisioning: found 2"),
    ("config", "Usage"),
    ("config check --set buffer.size=64", "a size with a unit"),
    ("presets show tniy", "tiny, or another of"),
    ("policies gredy", "greedy, or another of"),
    ("metrics falts", "faults, or another of"),
    ("policies victim/gredy", "policy"),
    ("workloads show randrad-4k", "randread-4k, or another of"),
    ("trace info @absent.csv", "absent.csv"),
    ("trace info @good.csv --profile centaur/usr_9", "centaur/usr_1"),
    ("trace gen randrad-4k @out.csv", "randread-4k, or another of"),
    ("trace gen randread-4k @out.csv --requests 5 --to-format cvs", "csv, or another of"),
    ("trace convert @good.csv @out.csv --to-format mqsin", "mqsim, or another of"),
    ("nand ops --part mqsim-mcl", "mqsim-mlc, or another of"),
    ("nand ops --part @part.toml", "part.toml:3: geometry.plains: found an unknown key"),
    ("nand ops --part mqsim-mlc --interface NV-DDR9", "NV-DDR, or another of"),
    ("nand ops --part mqsim-mlc --latency worse", "worst, or another of"),
    ("nand timeline --part mqsim-mlc reed", "found `reed`"),
    ("nand timeline --part mqsim-mlc read --host-clock 2us", "a period from 1ps to 1us"),
    ("nand exec @script.onfi", "script.onfi:2"),
    ("nand exec @absent.onfi", "absent.onfi"),
    ("repro centuar/fig11", "wanted centaur/fig11, or another of"),
    ("completions bsh", "bash"),
];

/// Options that take an integer, with invalid values.
const WHOLE: [&str; 11] = [
    "run --preset tiny --requests",
    "run --preset tiny --queue-depth",
    "run --preset tiny --queues",
    "run --preset tiny --namespace",
    "run --preset tiny --seed",
    "run --preset tiny --cut-power-after",
    "trace gen randread-4k @out.csv --requests",
    "nand ops --part mqsim-mlc --dies",
    "nand ops --part mqsim-mlc --mode",
    "nand timeline --part mqsim-mlc read --channels",
    "nand timeline --part mqsim-mlc read --packages",
];
const NOT_WHOLE: [&str; 10] =
    ["-1", "1.5", "nan", "many", "''", "99999999999999999999999", "1e3", "0x10", "\u{ff11}", "\u{1b}[31m1"];

/// Keys of preset `tiny` by type, with values that they reject.
const KEYS: [(&[&str], &[&str]); 5] = [
    (
        &[
            "buffer.size",
            "ftl.mapping.unit",
            "front.sector_size",
            "part.geometry.page_size",
            "buffer.flush_above",
        ],
        &[
            "12",
            "-1KiB",
            "1e3KiB",
            "64 cows",
            "true",
            "[]",
            "{}",
            "nan",
            "64k",
            "0.5B",
            "999999999999TiB",
            "\u{1b}[31m",
        ],
    ),
    (
        &["front.command_time", "buffer.access_time", "buffer.flush_interval", "part.timing.erase"],
        &["12", "1KiB", "-1us", "1e3us", "nan", "true", "1 fortnight", "99999999999d", "0.5ps", "\u{b5}s"],
    ),
    (
        &["ftl.over_provisioning", "ftl.factory_bad_blocks"],
        &["-0.1", "1", "1.7", "nan", "inf", "-inf", "x", "true", "[]", "'0.2'", "1e400", "0.01.2"],
    ),
    (
        &[
            "layout.channels",
            "layout.packages_per_channel",
            "layout.dies_per_package",
            "part.geometry.blocks_per_plane",
            "front.queue_depth",
            "ftl.gc.start_below_free_blocks",
        ],
        &["-1", "1.5", "nan", "x", "4294967296", "99999999999999999999", "true", "[]", "0"],
    ),
    (
        &[
            "ftl.gc.victim.policy",
            "ftl.placement.policy",
            "ftl.router.policy",
            "ftl.balancer.policy",
            "ftl.wear.levelling.policy",
        ],
        &["greedyy", "''", "3", "true", "GREEDY", "{}", "\u{1b}[31m"],
    ),
];

fn table() -> Vec<Input> {
    let mut all: Vec<Input> = GOOD.into_iter().map(good).collect();
    all.extend(BAD.map(|(line, named)| bad(line, named)));
    for option in WHOLE {
        let name = option.rsplit(' ').next().unwrap_or_default();
        all.extend(NOT_WHOLE.map(|value| bad(format!("{option} {}", quoted(value)), name)));
    }
    for (keys, values) in KEYS {
        for key in keys {
            let line = |value: &&str| {
                format!("config check --preset tiny --set {}", quoted(&format!("{key}={value}")))
            };
            all.extend(values.iter().map(|value| bad(line(value), key)));
        }
    }
    all
}

/// A word of a command line, quoted if it has spaces.
fn quoted(word: &str) -> String {
    if word == "''" { word.to_owned() } else { format!("\"{word}\"") }
}

/// The words of a line. Words with spaces are in double quotes; `''` is an empty word.
fn words(line: &str, folder: &Folder) -> Vec<String> {
    let mut words = Vec::new();
    for (n, piece) in line.split('"').enumerate() {
        match n % 2 {
            0 => words.extend(piece.split(' ').filter(|word| !word.is_empty()).map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    let file = |word: String| match word.split_once('@') {
        Some((before, name)) if before.is_empty() || before.ends_with('=') => {
            format!("{before}{}", folder.path(name))
        }
        _ => word.replace("''", ""),
    };
    words.into_iter().map(file).collect()
}

/// Words that no message may contain: texts of serde and of the standard library, and escape sequences.
const NEVER: [&str; 12] = [
    "panicked",
    "please report it",
    "This is a fault of Wordline",
    "unknown variant",
    "unknown field",
    "invalid type",
    "invalid value: ",
    "missing field",
    "invalid digit",
    "invalid float",
    "\u{1b}",
    "\u{9b}",
];

/// The fault in the reaction to an input, if there is one.
fn wrong(input: &Input, folder: &Folder) -> Option<String> {
    let words = words(&input.line, folder);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = program(&words).env("COLUMNS", "80").output().expect("the program was built with this test");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let complain = |what: &str| {
        Some(format!("{}\n  {what}\n  {:?}\n  {err}", input.line.escape_debug(), output.status.code()))
    };
    if let Some(said) = NEVER.into_iter().find(|said| err.contains(said) || out.contains(said)) {
        return complain(&format!("it says {said:?}"));
    }
    match &input.named {
        None if output.status.code() != Some(0) => complain("it is refused"),
        Some(_) if output.status.code() != Some(2) => complain("it is not refused"),
        Some(_) if !out.is_empty() => complain("a refusal goes to standard error alone"),
        Some(named) if !err.contains(named) => complain(&format!("it does not name {named:?}")),
        _ => None,
    }
}

#[test]
fn every_input_is_taken_or_refused_in_words() {
    let (folder, table, next) = (folder(), table(), AtomicUsize::new(0));
    assert!(table.len() > 400, "{}", table.len());
    let work = || {
        let inputs = std::iter::from_fn(|| table.get(next.fetch_add(1, Ordering::Relaxed)));
        inputs.filter_map(|input| wrong(input, &folder)).collect::<Vec<String>>()
    };
    let found: Vec<String> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().expect("the thread ends")).collect()
    });
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), table.len(), found.join("\n"));
}
