//! Words that a file must not contain: calls that make a model depend on the machine, state shared between
//! runs, unfinished work, and paths of one machine.

use crate::source::{Source, is_word};
use crate::{File, Offence, assert_none, files, subjects};

/// The crates whose results must depend only on configuration, seed and requests.
const MODEL_CRATES: [&str; 9] =
    ["kernel", "nand", "flash", "device", "open-channel", "ftl", "ssd", "host", "designs"];

/// The crate of traces. It reads files, and uses nothing else of the machine.
const READING: &str = "trace";
/// Banned words that the crate of traces may use.
const READING_MAY: [&str; 5] = ["HashMap", "HashSet", "std::env", "std::fs", "std::io"];

/// A banned word, and its remedy.
type Ban = (&'static str, &'static str);

/// Words banned from model crates. `clippy.toml` also bans types and methods. This list covers macros and
/// whole modules too.
const MODEL_BANS: [Ban; 17] = [
    ("HashMap", "its order differs by process: use a `Column`, a `Vec` or a `BTreeMap`"),
    ("HashSet", "its order differs by process: use a `Column`, a `Vec` or a `BTreeSet`"),
    ("std::time", "a model has no clock but the calendar: use `kernel::Instant`"),
    ("SystemTime", "a model has no clock but the calendar: use `kernel::Instant`"),
    ("std::env", "a model knows no environment: take it as configuration"),
    ("std::fs", "a model does no input or output: `run` and `lab` do"),
    ("std::io", "a model does no input or output: `run` and `lab` do"),
    ("std::net", "a model does no input or output: `run` and `lab` do"),
    ("std::process", "a model does not end the process: return or `assert!`"),
    ("std::thread", "a run has one thread: `lab` runs several side by side"),
    ("thread::spawn", "a run has one thread: `lab` runs several side by side"),
    ("rayon", "a run has one thread: `lab` runs several side by side"),
    ("println!", "a model says nothing: return it"),
    ("eprintln!", "a model says nothing: return it"),
    ("print!", "a model says nothing: return it"),
    ("eprint!", "a model says nothing: return it"),
    ("Rc<RefCell", "state is columns keyed by ids: give the loop the fields it needs"),
];

/// Float functions whose last digit depends on the machine. Banned from every crate whose numbers reach a
/// result.
const FLOAT_BANS: [Ban; 9] = [
    (".exp()", "may differ by machine: use `libm::exp`"),
    (".exp2()", "may differ by machine: use `libm::exp2`"),
    (".ln()", "may differ by machine: use `libm::log`"),
    (".log2()", "may differ by machine: use `libm::log2`"),
    (".log10()", "may differ by machine: use `libm::log10`"),
    (".powf(", "may differ by machine: use `libm::pow`"),
    (".sin()", "may differ by machine: use `libm::sin`"),
    (".cos()", "may differ by machine: use `libm::cos`"),
    (".tanh()", "may differ by machine: use `libm::tanh`"),
];

/// State that outlives a run, banned below `run`.
const STATE_BANS: [Ban; 5] = [
    ("static mut", "two devices must not share state: make it a field"),
    ("OnceLock", "two devices must not share state: make it a field"),
    ("LazyLock", "two devices must not share state: make it a field or a `const`"),
    ("thread_local!", "two devices must not share state: make it a field"),
    ("lazy_static!", "two devices must not share state: make it a field or a `const`"),
];

/// Types that give a `static` mutable state.
const CELLS: [&str; 5] = ["Atomic", "Mutex", "RwLock", "RefCell", "Cell<"];

/// Unfinished work, banned in every crate.
const UNFINISHED: [Ban; 4] = [
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("dbg!", "take it out"),
    ("#[ignore", "a test that does not run proves nothing: mend it or delete it"),
];

/// Promises of later work, banned in comments and documents.
const PROMISES: [Ban; 3] = [
    (concat!("TO", "DO"), "do it, or say in the documents what is missing"),
    (concat!("FIX", "ME"), "mend it, or say in the documents what is wrong"),
    (concat!("XX", "X"), "mend it, or say in the documents what is wrong"),
];

/// Words of our own where the field has a term (docs/glossary.md). Banned in code, comments, data and
/// documents.
const OWN_WORDS: [Ban; 40] = [
    (concat!("mean ans", "wer"), "mean latency"),
    (concat!("longest ans", "wer"), "greatest latency"),
    (concat!("made good ", "for"), "recovered"),
    (concat!("makes good ", "for"), "recovers"),
    (concat!("room ", "taken"), "physical pages consumed"),
    (concat!("blocks clea", "ned"), "blocks collected"),
    (concat!("look", "-up"), "lookup"),
    (concat!("room_", "taken"), "pages_consumed"),
    (concat!("fill_", "reads"), "rmw_reads"),
    (concat!("name_", "again"), "select_reprogram"),
    (concat!("told_", "level"), "notified_level"),
    (concat!("steps_", "aside"), "yields_to_host"),
    (concat!("Sig", "ht"), "DesignContext"),
    (concat!("Obser", "ves"), "EventMask"),
    (concat!("Outgo", "ing"), "HostPage"),
    (concat!("Sea", "m"), "ExtensionPoint"),
    (concat!("Tell", "er"), "TimeRecorder"),
    (concat!("Wrong", "Answer"), "InvalidDecision"),
    (concat!("Retry", "Answer"), "RetryResult"),
    (concat!("Pool", "Space"), "PoolBlocks"),
    (concat!("is_waited", "_for"), "has_waiters"),
    (concat!("until", "_room"), "wait_for_slot"),
    (concat!("tell_", "designs"), "notify_designs"),
    (concat!("has_", "news"), "has_events"),
    (concat!("is_con", "demned"), "is_pending_retirement"),
    (concat!("is_taken", "_up"), "has_started"),
    (concat!("goes_with", "_host"), "is_programmed_with_host"),
    (concat!("turned_", "away"), "redirected"),
    (concat!("over", "due"), "deadline_promotions"),
    (concat!("refused_", "programs"), "rejected_programs"),
    (concat!("given_", "up"), "out_of_chunks"),
    (concat!("valid_in_", "victims"), "victim_valid_pages"),
    (concat!("lists_", "unread"), "emeta_read_failures"),
    (concat!("blocks_", "unread"), "blocks_unreadable"),
    (concat!("blocks_", "stranded"), "blocks_unprogrammed"),
    (concat!("closed_for_", "others"), "closed_by_device"),
    (concat!("cleaning_", "read"), "gc_read"),
    (concat!("collector_", "streams"), "gc_streams"),
    (concat!("rests_", "after"), "idle_after"),
    (concat!("con", "demned"), "pending_retirement"),
];

/// Pages that may contain such words: the glossary, and the change log.
const LISTS_OWN_WORDS: [&str; 2] = ["CHANGELOG.md", "docs/glossary.md"];

/// Folders that exist only on one machine.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// The lines, from 1, that contain `word` as a whole word.
fn lines_with<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let whole = move |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open = |edge: Option<char>, neighbour: Option<char>| {
            !(edge.is_some_and(is_word) && neighbour.is_some_and(is_word))
        };
        open(word.chars().next(), before) && open(word.chars().next_back(), after)
    };
    text.lines()
        .enumerate()
        .filter_map(move |(n, line)| line.match_indices(word).any(|(at, _)| whole(line, at)).then_some(n + 1))
}

fn banned(path: &str, text: &str, bans: &[Ban]) -> Vec<Offence> {
    let found = |(word, cure): &Ban| {
        let complaint = format!("`{word}`: {cure}");
        lines_with(text, word)
            .map(|n| Offence::new(format!("{path}:{n}"), complaint.clone()))
            .collect::<Vec<_>>()
    };
    bans.iter().flat_map(found).collect()
}

/// Statics whose type allows mutation.
fn stateful_statics(path: &str, code: &str) -> Vec<Offence> {
    let offends = |line: &str| {
        let declaration = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        declaration.starts_with("static ") && CELLS.iter().any(|cell| declaration.contains(cell))
    };
    let lines = code.lines().enumerate().filter(|(_, line)| offends(line));
    lines
        .map(|(n, _)| Offence::new(format!("{path}:{}", n + 1), "a static with state: make it a field"))
        .collect()
}

/// Every offence against the word rules in a file.
fn check(file: &File) -> Vec<Offence> {
    let path = &file.path;
    let mut offences = machine_paths(file);
    if !LISTS_OWN_WORDS.contains(&path.as_str()) {
        offences.extend(banned(path, &file.text, &OWN_WORDS));
    }
    if !file.is_rust() {
        offences.extend(banned(path, &file.text, &PROMISES));
        return offences;
    }
    let Source { code, comments } = Source::split(&file.text);
    offences.extend(banned(path, &comments, &PROMISES));
    offences.extend(banned(path, &code, &UNFINISHED));
    let in_model = MODEL_CRATES.contains(&file.crate_name());
    let reads = file.crate_name() == READING;
    if in_model || reads || ["run", "lab", "experiments"].contains(&file.crate_name()) {
        offences.extend(banned(path, &code, &FLOAT_BANS));
    }
    if in_model || reads {
        offences.extend(banned(path, &code, &STATE_BANS));
        offences.extend(stateful_statics(path, &code));
    }
    if (in_model || reads) && path.contains("/src/") {
        let may = |ban: &&Ban| reads && READING_MAY.contains(&ban.0);
        let bans: Vec<Ban> = MODEL_BANS.iter().filter(|ban| !may(ban)).copied().collect();
        offences.extend(banned(path, &code, &bans));
    }
    offences
}

/// Paths that exist only on one machine. A letter, a dot or a slash before a match makes it part of another
/// path.
fn machine_paths(file: &File) -> Vec<Offence> {
    let starts_a_path = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| is_word(c) || matches!(c, '.' | '-' | '/' | '~' | '}' | ')'))
    };
    let offends = |line: &str| {
        MACHINE_PATHS.iter().any(|path| line.match_indices(path).any(|(at, _)| starts_a_path(line, at)))
    };
    let lines = file.text.lines().enumerate().filter(|(_, line)| offends(line));
    lines
        .map(|(n, _)| {
            Offence::new(format!("{}:{}", file.path, n + 1), "a path of one machine: make it relative")
        })
        .collect()
}

#[test]
fn no_file_holds_a_banned_word() {
    let files = files();
    for model in MODEL_CRATES {
        subjects(&files, 2, |file| file.is_rust() && file.crate_name() == model);
    }
    assert_none(&files.iter().flat_map(check).collect::<Vec<_>>());
}

#[test]
fn every_banned_word_is_caught_in_a_model_crate() {
    let bans = MODEL_BANS.iter().chain(&FLOAT_BANS).chain(&STATE_BANS).chain(&UNFINISHED);
    for (word, _) in bans {
        let text = format!("fn f() {{\n    {word} }}\n");
        let offences = check(&File { path: "crates/nand/src/a.rs".into(), text });
        assert!(offences.iter().any(|o| o.place == "crates/nand/src/a.rs:2"), "`{word}` is not caught");
    }
    for (word, _) in OWN_WORDS {
        let text = format!("// A {word} is ours.\n");
        assert_eq!(check(&File { path: "crates/nand/src/a.rs".into(), text: text.clone() }).len(), 1);
        assert_eq!(check(&File { path: "README.md".into(), text: text.clone() }).len(), 1);
        assert_eq!(check(&File { path: LISTS_OWN_WORDS[0].into(), text }).len(), 0, "it lists them");
    }
    for (word, _) in PROMISES {
        let text = format!("// {word}: later\n");
        assert_eq!(check(&File { path: "crates/nand/src/a.rs".into(), text: text.clone() }).len(), 1);
        assert_eq!(check(&File { path: "README.md".into(), text }).len(), 1);
    }
}

#[test]
fn a_static_with_state_is_caught_and_a_table_is_not() {
    let offences = |text: &str| check(&File { path: "crates/ssd/src/a.rs".into(), text: text.into() }).len();
    assert_eq!(offences("pub static COUNT: AtomicU64 = AtomicU64::new(0);\n"), 1);
    assert_eq!(offences("static NAMES: [&str; 2] = [\"a\", \"b\"];\n"), 0);
}

#[test]
fn a_machine_path_is_caught_and_an_address_is_not() {
    let offences = |text: String| check(&File { path: "a.md".into(), text }).len();
    for path in MACHINE_PATHS {
        assert_eq!(offences(format!("see {path}x")), 1, "{path}");
        assert_eq!(offences(format!("see https://example.org{path}x")), 0, "{path}");
    }
}

#[test]
fn a_word_inside_another_or_in_a_string_is_left_alone() {
    let text = "fn f() { my_print!(\"HashMap\"); MyHashMapLike; } // HashMap\n";
    assert_eq!(check(&File { path: "crates/kernel/src/a.rs".into(), text: text.into() }).len(), 0);
    let lab = "use std::collections::HashMap;\n";
    assert_eq!(check(&File { path: "crates/lab/src/a.rs".into(), text: lab.into() }).len(), 0);
}
