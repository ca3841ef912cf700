use super::*;
use crate::Stage;
use crate::part::tests::mqsim;
use wordline_kernel::Seed;

fn parsed(text: &str) -> Script {
    Script::parse("script", text).expect("the script is well written")
}

fn complaints(text: &str) -> Vec<String> {
    let wrong = Script::parse("script", text).expect_err("the script is badly written");
    wrong.0.iter().map(ToString::to_string).collect()
}

fn transcript(text: &str) -> Transcript {
    let script = parsed(text);
    let mut bus = script.bus("script", &mqsim()).expect("the part has these rows");
    script.run(&mut bus)
}

/// The first mismatch, with its line.
fn mismatch(text: &str) -> Option<(u32, String)> {
    let transcript = transcript(text);
    transcript.mismatches().map(|(entry, mismatch)| (entry.line, mismatch.to_string())).next()
}

#[test]
fn every_line_that_cannot_be_read_is_complained_about_at_once() {
    let text = "cdm 80\naddr 0\nin fill 9 5\nwait soon\nout 2 expect AA\nstatus expect green\nrepeat 0\ncmd 80 81\nend";
    let wanted = [
        "script:1: found `cdm`, wanted `select`, `cmd`, `addr`",
        "script:2: found `0`, wanted a byte as two hexadecimal digits, such as `3F`",
        "script:3: found `5`, wanted a byte as two hexadecimal digits, such as `3F`",
        "script:4: found `soon`, wanted `ready`, `array` or a time with a unit, such as `100ns`",
        "script:5: found 1 bytes, wanted as many as come out: 2",
        "script:6: found `green`, wanted a byte such as `E0`, or `ready`, `busy`",
        "script:7: found `0`, wanted a number from 1 to 4294967295",
        "script:8: found `81`, wanted the end of the line",
        "script:9: found `end`, wanted `repeat` before it",
    ];
    let found = complaints(text);
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{found}\nis not\n{wanted}");
    }
}

#[test]
fn headers_stand_above_statements_and_repetitions_have_an_end_and_a_bound() {
    assert_eq!(complaints("cmd FF\npart x"), ["script:2: found `part`, wanted it above the first statement"]);
    assert_eq!(
        complaints("\nrepeat 2\ncmd FF"),
        ["script:2: found `repeat` without its end, wanted `end` after it"]
    );
    let many = complaints("repeat 4000000000\nrepeat 4000000000\ncmd FF\nend\nend");
    assert!(
        many[0].contains(
            "found 4000000001 statements and stretches of data with their repetitions, wanted at most 1000000"
        ),
        "{many:?}"
    );
}

#[test]
fn waits_beyond_the_limit_of_time_are_refused_and_not_cut_short() {
    assert!(complaints("wait 107d")[0].ends_with("of at most 106 days"));
    for text in ["wait 100d\nat +7d cmd FF", "repeat 200\nwait 20h\nend", "at 100d cmd FF\nwait 7d"] {
        let found = complaints(text);
        assert!(found[0].contains("days with their repetitions, wanted at most 106 days"), "{found:?}");
    }
    assert_eq!(parsed("wait 60d\nat 61d cmd FF\nwait 45d").statements.len(), 3);
}

#[test]
fn data_and_depth_of_repetitions_have_bounds_too() {
    let long = complaints("repeat 10000\nout 65536\nend");
    assert!(long[0].starts_with("script:3: found 2570001 statements"), "{long:?}");
    let deep = complaints(&"repeat 1\n".repeat(17));
    assert_eq!(deep[0], "script:17: found `repeat` within 16 others, wanted less deep nesting");
}

#[test]
fn rows_that_the_address_bits_cannot_hold_are_refused_before_the_run() {
    let script = parsed("read block=1 page=8\nrepeat 2\nerase block=32\nend\naddr row block=31 page=7");
    let wrong = script.bus("script", &mqsim()).expect_err("8 pages, 32 blocks").to_string();
    assert_eq!(
        wrong,
        "script:1: page: found 8, wanted at most 7, as far as its bits of the row address go\n\
         script:3: block: found 32, wanted at most 31, as far as its bits of the row address go"
    );
}

#[test]
fn a_row_is_latched_in_the_cycles_that_spell_it() {
    let named = transcript("cmd 00\naddr row block=5 page=3 column=258\ncmd 30\nwait ready");
    let spelled = transcript("cmd 00\naddr 02 01 2B 00 00\ncmd 30\nwait ready");
    assert_eq!(named.spans, spelled.spans);
    assert_eq!(named.entries[1].cycles, 5);
    let whole = transcript("read block=5 page=3 column=258");
    assert_eq!((whole.entries.len(), whole.entries[0].cycles), (1, 7));
    assert_eq!(whole.spans, spelled.spans);
}

#[test]
fn what_the_array_does_after_the_last_statement_is_on_the_time_line() {
    let transcript = transcript("cmd 60\naddr row block=1\ncmd D0");
    assert_eq!(transcript.spans.last().map(|span| span.stage), Some(crate::Stage::Ber));
}

#[test]
fn dies_are_busy_until_the_waits_for_them_end_and_while_their_arrays_work() {
    let suspended = "cmd 80\naddr row block=4 page=0\nin fill 64 A5\ncmd 10\nwait 300us\ncmd 84\n\
                     addr row block=4 page=0\nwait ready\nread block=8 page=0\ncmd 13\n\
                     addr row block=4 page=0\nwait ready";
    let reset = "cmd 60\naddr row block=4\ncmd D0\nwait 300us\ncmd FF\nwait ready";
    let registers = "cmd EC\naddr 00\nwait ready\ncmd EF\naddr 91\nin 00 00 00 00\nwait ready";
    let cached = "cmd 80\naddr row block=1 page=0\nin fill 64 A5\ncmd 15\nwait ready\n\
                  cmd 80\naddr row block=1 page=1\nin fill 64 A5\ncmd 10\nwait ready";
    for script in [suspended, reset, registers, cached] {
        let Transcript { entries, spans, busy, .. } = transcript(script);
        for wait in entries.iter().filter(|entry| entry.text == "wait ready") {
            assert!(busy.iter().any(|busy| busy.ready == wait.end), "line {} of {script}", wait.line);
        }
        for span in spans.iter().filter(|span| [Stage::Tin, Stage::Ton, Stage::Ber].contains(&span.stage)) {
            let mut at = span.begin;
            while at < span.end() {
                let end = busy.iter().filter(|busy| busy.begin <= at).map(|busy| busy.array_ready).max();
                let end = end.filter(|end| *end > at);
                at = end.unwrap_or_else(|| panic!("the array works at {at:?} in {script}"));
            }
        }
        assert!(busy.windows(2).all(|pair| pair[0].array_ready <= pair[1].begin), "in {script}");
    }
}

#[test]
fn what_was_programmed_is_read_and_a_wrong_byte_is_named_with_its_place() {
    let text = |byte: &str| {
        format!(
            "program block=2 random 64 seed 9\nread block=2\nout 64 expect random seed 9\nread block=2\nout 64 {byte}"
        )
    };
    assert_eq!(mismatch(&text("expect not fill 00")), None);
    let random = Data::Random(2, 9).bytes();
    let (line, words) = mismatch(&text("expect fill 00")).expect("the bytes are random");
    assert_eq!(line, 5);
    let begin =
        format!("expected 00 00 00 00 00 00 00 00 .. at byte 0, found {:02X} {:02X}", random[0], random[1]);
    assert!(words.starts_with(&begin), "{words}");
}

#[test]
fn a_refusal_is_expected_by_its_name_or_ends_the_script() {
    let refused = "cmd 10\nstatus expect fail\ncmd FF\nwait ready\nstatus expect E0";
    assert_eq!(mismatch(&format!("expect failure confirm-without-set-up\n{refused}")), None);
    let unlike = mismatch(&format!("expect failure tWB\n{refused}"));
    let words = "expected a refusal for `tWB`, found one for `confirm-without-set-up`";
    assert_eq!(unlike, Some((2, words.into())));
    let early = transcript(refused);
    assert!(!early.complete && early.entries.len() == 1 && !early.holds());
    let missed = Some((2, "expected a refusal for `busy`, found none".to_string()));
    assert_eq!(mismatch("expect failure busy\nstatus"), missed);
    assert!(mismatch("status\nexpect failure busy").is_some(), "nothing follows that could be refused");
}

#[test]
fn an_instant_given_exactly_is_refused_a_picosecond_early() {
    let text = |time: &str| format!("cmd 90\naddr 20\nat +{time} out 4 expect text ONFI");
    assert_eq!(mismatch(&text("80ns")), None);
    let (line, words) = mismatch(&text("79.999ns")).expect("tWHR is 80 ns");
    assert_eq!((line, words.as_str()), (3, "expected no refusal, found one for `tWHR`"));
}

#[test]
fn a_transcript_is_a_table_with_what_was_found() {
    let text = transcript("cmd 90\naddr 20\nout 4 expect text OMFI\nwait 1us").to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].ends_with("line  statement               result"), "{text}");
    let wrong = "4F 4E 46 49; WRONG: expected 4D 46 49 at byte 1, found 4E 46 49 at byte 1";
    assert!(lines[3].ends_with(wrong), "{text}");
    let column = lines[0].find("statement").expect("the head names it");
    assert!(lines.iter().all(|line| line[..column].ends_with("  ")), "{text}");
}

#[test]
fn random_lines_are_read_or_complained_about_and_run_without_a_panic() {
    const WORDS: &str = "part wiring luns 2 targets pace exact limits counted fatal spelling legacy seed bad block=1 \
        fails program erase select 0 1 cmd 00 05 06 10 11 15 30 31 3F 60 70 78 80 85 90 D0 D1 E0 EC EE EF FF addr row \
        lun=0 lun=1 page=3 page=99 column=4 in fill 8 5A random text ONFI out 16 expect crc not status ready pass fail wait \
        array 100ns 1us wp on off busy failure tADL at +5ns +1us 3us repeat 3 end read then # =";
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut stream = Seed(1).stream("random scripts", 0);
    let mut ran = 0;
    for _ in 0..3_000 {
        let mut lines: Vec<String> = Vec::new();
        for _ in 0..stream.below(12) {
            // Most lines that cannot be parsed alone are dropped, so that some scripts are valid.
            let mut line = String::new();
            for _ in 0..100 {
                let words =
                    (0..1 + stream.below(5)).map(|_| words[stream.below(words.len() as u64) as usize]);
                line = words.collect::<Vec<_>>().join(" ");
                if Script::parse("line", &line).is_ok() {
                    break;
                }
            }
            lines.push(line);
        }
        let Ok(script) = Script::parse("random", &lines.join("\n")) else { continue };
        let Ok(mut bus) = script.bus("random", &mqsim()) else { continue };
        let transcript = script.run(&mut bus);
        ran += u32::from(!transcript.entries.is_empty());
        assert!(transcript.complete || transcript.entries.last().is_some_and(|last| last.failure.is_some()));
        let times = transcript.entries.windows(2);
        assert!(times.into_iter().all(|pair| pair[0].end <= pair[1].begin), "{transcript}");
    }
    assert!(ran > 300, "{ran} scripts did something");
}
