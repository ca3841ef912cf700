//! The grammar: a table of first words with the parsers of their lines.

use wordline_kernel::{Complaints, Duration, Seed};

use super::data::Data;
use super::expect::{STATES, StatusWanted, Wanted};
use super::statement::{Action, Address, Begin, PageByte, Script, Setup, Statement};
use super::words::{ParseError, Read, Words, one_of};
use crate::onfi::host_times::HOST_TIME_RULES;
use crate::onfi::{InjectedFailure, Row};

/// Maximum statements of a script with repetitions expanded. Every [`BYTES_PER_STATEMENT`] bytes of data
/// count as one more. Chosen: some seconds of run time, and a transcript that fits in memory.
const MAX_STATEMENTS: u64 = 1_000_000;
const BYTES_PER_STATEMENT: u32 = 256;
/// Maximum nesting depth of repetitions (chosen: more than a person can follow).
const MAX_NESTING: usize = 16;
/// Maximum bytes of one statement: four of the largest pages (chosen).
const MAX_STATEMENT_BYTES: u32 = 65_536;

/// A header line, which configures the bus before the first statement.
struct Header {
    word: &'static str,
    read: fn(&mut Words<'_>, &mut Setup) -> Read<()>,
}

/// All headers.
const HEADERS: [Header; 9] = [
    Header { word: "part", read: part },
    Header { word: "wiring", read: wiring },
    Header { word: "pace", read: pace },
    Header { word: "start", read: start },
    Header { word: "limits", read: limits },
    Header { word: "spelling", read: spelling },
    Header { word: "seed", read: seed },
    Header { word: "bad", read: bad },
    Header { word: "fails", read: fails },
];

/// A statement line.
struct Verb {
    word: &'static str,
    read: fn(&mut Words<'_>) -> Read<Action>,
}

/// All statements except `repeat`, which has its own lines, and `at`, which precedes other statements.
const VERBS: [Verb; 13] = [
    Verb { word: "select", read: |words| Ok(Action::Select(words.number(0, u32::MAX)?)) },
    Verb { word: "cmd", read: |words| Ok(Action::Command(words.byte()?)) },
    Verb { word: "addr", read: |words| Ok(Action::Address(address(words)?)) },
    Verb { word: "in", read: |words| Ok(Action::In(data(words)?)) },
    Verb { word: "out", read: out },
    Verb { word: "status", read: status },
    Verb { word: "wait", read: wait },
    Verb { word: "host", read: host },
    Verb { word: "wp", read: |words| Ok(Action::Protect(words.choice(&["off", "on"])? == 1)) },
    Verb { word: "expect", read: expect },
    Verb { word: "read", read: |words| Ok(Action::Read(place(words)?, confirm(words, 0x30)?)) },
    Verb { word: "program", read: program },
    Verb { word: "erase", read: |words| Ok(Action::Erase(row(words)?, confirm(words, 0xD0)?)) },
];

/// The lines of an open block: the script itself, or the body of a `repeat`.
#[derive(Default)]
struct Block {
    /// Line number and text of the `repeat`, and its count.
    opened: Option<(u32, String, u32)>,
    statements: Vec<Statement>,
    /// Number of statements with repetitions expanded.
    size: u64,
    /// Total waits of its statements in picoseconds, with repetitions expanded. It is at least the latest
    /// instant of an `at`.
    waits: u128,
}

/// Parses a script.
pub(super) fn parse(name: &str, text: &str) -> Result<Script, Complaints> {
    let mut setup = Setup::default();
    let mut blocks = vec![Block::default()];
    let mut wrong = Complaints::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Err(ParseError { found, wanted }) = read_line(number, line, &mut setup, &mut blocks) {
            wrong.add(format!("{name}:{number}"), found, wanted);
        }
    }
    while blocks.len() > 1 {
        let line = blocks.pop().and_then(|block| block.opened).map_or(0, |opened| opened.0);
        wrong.add(format!("{name}:{line}"), "`repeat` without its end", "`end` after it");
    }
    let statements = blocks.pop().unwrap_or_default().statements;
    wrong.into_result(Script { setup, statements })
}

fn read_line(number: u32, line: &str, setup: &mut Setup, blocks: &mut Vec<Block>) -> Read<()> {
    let mut words = Words::of(line);
    if let Some(header) = HEADERS.iter().find(|header| words.peek() == Some(header.word)) {
        if blocks.len() > 1 || !blocks[0].statements.is_empty() {
            return Err(words.wrong("it above the first statement"));
        }
        words.next(header.word)?;
        (header.read)(&mut words, setup)?;
        return words.end();
    }
    if words.take("repeat") {
        let count = words.number(1, u32::MAX)?;
        words.end()?;
        if blocks.len() > MAX_NESTING {
            let found = format!("`repeat` within {MAX_NESTING} others");
            return Err(ParseError { found, wanted: "less deep nesting".into() });
        }
        blocks.push(Block { opened: Some((number, line.into(), count)), ..Block::default() });
        return Ok(());
    }
    if words.peek() == Some("end") {
        let Some((opened, text, count)) = blocks.last_mut().and_then(|block| block.opened.take()) else {
            return Err(words.wrong("`repeat` before it"));
        };
        words.next("end")?;
        let body = blocks.pop().unwrap_or_default();
        let size = body.size.saturating_mul(u64::from(count)).saturating_add(1);
        let waits = body.waits.saturating_mul(u128::from(count));
        let action = Action::Repeat(count, body.statements);
        push(blocks, Statement { line: opened, text, begin: None, action }, size, waits)?;
        return words.end();
    }
    let begin = begin(&mut words)?;
    let verb = VERBS.iter().find(|verb| words.peek() == Some(verb.word));
    let verb = verb.ok_or_else(|| words.wrong(first_words()))?;
    words.next(verb.word)?;
    let action = (verb.read)(&mut words)?;
    words.end()?;
    let size = u64::from(1 + bytes(&action) / BYTES_PER_STATEMENT);
    let mut waits = if let Action::Wait(time) = action { time.ps().into() } else { 0 };
    if let Some(Begin::After(time)) = begin {
        waits += u128::from(time.ps());
    }
    if let (Some(Begin::At(time)), Some(block)) = (begin, blocks.last_mut()) {
        block.waits = block.waits.max(time.ps().into());
    }
    push(blocks, Statement { line: number, text: line.into(), begin, action }, size, waits)
}

/// Bytes that a statement transfers.
fn bytes(action: &Action) -> u32 {
    match action {
        Action::Out(count, _) => *count,
        Action::In(data) | Action::Program(_, data, _) => match data {
            Data::Bytes(bytes) => bytes.len() as u32,
            Data::Fill(count, _) | Data::Random(count, _) => *count,
        },
        _ => 0,
    }
}

fn push(blocks: &mut [Block], statement: Statement, size: u64, waits: u128) -> Read<()> {
    let block = blocks.last_mut().expect("the outermost block is never closed");
    block.size = block.size.saturating_add(size);
    block.waits = block.waits.saturating_add(waits);
    block.statements.push(statement);
    if block.waits > u128::from(Duration::LIMIT.ps()) {
        let found = format!("waits of {} days with their repetitions", block.waits / 86_400_000_000_000_000);
        return Err(ParseError { found, wanted: "at most 106 days in a script".into() });
    }
    if block.size > MAX_STATEMENTS {
        let found = format!("{} statements and stretches of data with their repetitions", block.size);
        return Err(ParseError { found, wanted: format!("at most {MAX_STATEMENTS}") });
    }
    Ok(())
}

fn first_words() -> String {
    let words: Vec<&str> = VERBS.iter().map(|verb| verb.word).chain(["at", "repeat", "end"]).collect();
    one_of(&words)
}

/// `at TIME`, `at +TIME`.
fn begin(words: &mut Words<'_>) -> Read<Option<Begin>> {
    if !words.take("at") {
        return Ok(None);
    }
    let wanted = "a time with a unit, such as `+20ns` after the last cycle or `1500ns` after the start, of \
                  at most 106 days";
    let before = *words;
    let word = words.next(wanted)?;
    let time = |text: &str| text.parse::<Duration>().map_err(|_| before.wrong(wanted));
    Ok(Some(match word.strip_prefix('+') {
        Some(text) => Begin::After(time(text)?),
        None => Begin::At(time(word)?),
    }))
}

fn part(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    setup.part = Some(words.next("the name of a part")?.into());
    Ok(())
}

fn wiring(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    let mut any = false;
    while !words.is_empty() || !any {
        any = true;
        let place = words.choice(&["targets", "volumes", "luns"])?;
        let w = &mut setup.wiring;
        *[&mut w.targets, &mut w.volumes, &mut w.luns][place] = words.number(1, u32::MAX)?;
    }
    Ok(())
}

fn pace(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    setup.exact = words.choice(&["earliest", "exact"])? == 1;
    Ok(())
}

fn start(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    setup.power_on = words.choice(&["set-up", "power-on"])? == 1;
    Ok(())
}

fn limits(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    setup.lun.fatal = words.choice(&["counted", "fatal"])? == 1;
    Ok(())
}

fn spelling(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    setup.compatible = words.choice(&["onfi", "legacy"])? == 1;
    Ok(())
}

fn seed(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    setup.lun.seed = Seed(words.read("a whole number")?);
    Ok(())
}

fn bad(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    let [block] = words.fields(["block"])?;
    setup.lun.bad_blocks.push(block.ok_or_else(|| words.wrong("`block=`"))?);
    Ok(())
}

fn fails(words: &mut Words<'_>, setup: &mut Setup) -> Read<()> {
    let erase = words.choice(&["program", "erase"])? == 1;
    let [block, page, nth] = words.fields(["block", "page", "nth"])?;
    let block = block.ok_or_else(|| words.wrong("`block=`"))?;
    let row = Row { lun: 0, block, page: page.unwrap_or_default() };
    let nth = nth.unwrap_or(1);
    if nth == 0 {
        return Err(ParseError { found: "`nth=0`".into(), ..words.wrong("a number from 1") });
    }
    setup.lun.failures.push(InjectedFailure { row, erase, nth });
    Ok(())
}

fn address(words: &mut Words<'_>) -> Read<Address> {
    if !words.take("row") && !words.peek().is_some_and(|word| word.starts_with("column=")) {
        return Ok(Address::Bytes(words.bytes()?));
    }
    let [lun, block, page, column] = words.fields(["lun", "block", "page", "column"])?;
    let row = [lun, block, page];
    Ok(match (row == [None; 3], column) {
        (true, Some(column)) => Address::Column(narrow(words, column)?),
        (true, None) => return Err(words.wrong("`lun=`, `block=`, `page=` or `column=`")),
        (false, Some(column)) => Address::Full(PageByte { row: row_of(row), column: narrow(words, column)? }),
        (false, None) => Address::Row(row_of(row)),
    })
}

/// Checks that two cycles can express a column.
fn narrow(words: &Words<'_>, column: u32) -> Read<u32> {
    let most = u32::from(u16::MAX);
    let wanted = format!("a column up to {most}");
    if column <= most {
        Ok(column)
    } else {
        Err(ParseError { found: format!("`column={column}`"), ..words.wrong(wanted) })
    }
}

fn row_of([lun, block, page]: [Option<u32>; 3]) -> Row {
    Row { lun: lun.unwrap_or_default(), block: block.unwrap_or_default(), page: page.unwrap_or_default() }
}

fn row(words: &mut Words<'_>) -> Read<Row> {
    let [lun, block] = words.fields(["lun", "block"])?;
    if block.is_none() {
        return Err(words.wrong("`block=`"));
    }
    Ok(row_of([lun, block, None]))
}

fn place(words: &mut Words<'_>) -> Read<PageByte> {
    let [lun, block, page, column] = words.fields(["lun", "block", "page", "column"])?;
    if block.is_none() {
        return Err(words.wrong("`block=`"));
    }
    let column = narrow(words, column.unwrap_or_default())?;
    Ok(PageByte { row: row_of([lun, block, page]), column })
}

fn confirm(words: &mut Words<'_>, usual: u8) -> Read<u8> {
    if words.take("then") { words.byte() } else { Ok(usual) }
}

fn program(words: &mut Words<'_>) -> Read<Action> {
    let place = place(words)?;
    let none = words.is_empty() || words.peek() == Some("then");
    let data = if none { Data::Bytes(Vec::new()) } else { data(words)? };
    Ok(Action::Program(place, data, confirm(words, 0x10)?))
}

/// `fill N XX`, `random N seed S`, `text ABC` or bytes.
fn data(words: &mut Words<'_>) -> Read<Data> {
    if words.take("fill") {
        return Ok(Data::Fill(words.number(1, MAX_STATEMENT_BYTES)?, words.byte()?));
    }
    if words.take("random") {
        let count = words.number(1, MAX_STATEMENT_BYTES)?;
        words.choice(&["seed"])?;
        return Ok(Data::Random(count, words.read("a whole number")?));
    }
    text(words)
}

fn text(words: &mut Words<'_>) -> Read<Data> {
    if words.take("text") {
        return Ok(Data::Bytes(words.next("a word of ASCII letters")?.as_bytes().to_vec()));
    }
    let wrong = words.wrong("`fill`, `random`, `text` or bytes as two hexadecimal digits each");
    words.bytes().map(Data::Bytes).map_err(|bad| if bad.found == wrong.found { wrong } else { bad })
}

fn out(words: &mut Words<'_>) -> Read<Action> {
    let count = words.number(1, MAX_STATEMENT_BYTES)?;
    if words.is_empty() {
        return Ok(Action::Out(count, None));
    }
    words.choice(&["expect"])?;
    if words.take("crc") {
        return Ok(Action::Out(count, Some(Wanted::Crc)));
    }
    let not = words.take("not");
    let before = *words;
    let data = if words.take("fill") {
        Data::Fill(count, words.byte()?)
    } else if words.take("random") {
        words.choice(&["seed"])?;
        Data::Random(count, words.read("a whole number")?)
    } else {
        text(words)?
    };
    if let Data::Bytes(bytes) = &data
        && bytes.len() != count as usize
    {
        let wanted = format!("as many as come out: {count}");
        return Err(ParseError { found: format!("{} bytes", bytes.len()), ..before.wrong(wanted) });
    }
    Ok(Action::Out(count, Some(if not { Wanted::Not(data) } else { Wanted::Data(data) })))
}

fn status(words: &mut Words<'_>) -> Read<Action> {
    let fields = words.fields(["lun", "block", "page"])?;
    let row = (fields != [None; 3]).then(|| row_of(fields));
    if words.is_empty() {
        return Ok(Action::Status(row, None));
    }
    words.choice(&["expect"])?;
    let mut states = Vec::new();
    while let Some(state) = STATES.iter().find(|state| words.take(state.word)) {
        states.push(state);
    }
    let wanted = if states.is_empty() {
        let names: Vec<&str> = STATES.iter().map(|state| state.word).collect();
        let wrong = words.wrong(format!("a byte such as `E0`, or {}", one_of(&names)));
        StatusWanted::Byte(words.byte().map_err(|_| wrong)?)
    } else {
        StatusWanted::States(states)
    };
    Ok(Action::Status(row, Some(wanted)))
}

fn wait(words: &mut Words<'_>) -> Read<Action> {
    let ready = [("ready", false), ("array", true)];
    let Some((_, array)) = ready.into_iter().find(|(word, _)| words.take(word)) else {
        let wrong =
            words.wrong("`ready`, `array` or a time with a unit, such as `100ns`, of at most 106 days");
        return words.time().map(Action::Wait).map_err(|_| wrong);
    };
    let expect = if words.take("expect") { Some(words.time()?) } else { None };
    Ok(Action::WaitReady { array, expect })
}

/// `host tWP 20ns`, or `host tWP` for the time that the interface requires.
fn host(words: &mut Words<'_>) -> Read<Action> {
    let symbols: Vec<&str> = HOST_TIME_RULES.iter().map(|(parameter, _)| parameter.symbol()).collect();
    let (parameter, _) = HOST_TIME_RULES[words.choice(&symbols)?];
    let time = if words.is_empty() { None } else { Some(words.time()?) };
    Ok(Action::Host(parameter, time))
}

fn expect(words: &mut Words<'_>) -> Read<Action> {
    Ok(match words.choice(&["busy", "ready", "failure"])? {
        0 => Action::ExpectReady(false),
        1 => Action::ExpectReady(true),
        _ => Action::ExpectFailure(words.next("the name of a rule")?.into()),
    })
}
