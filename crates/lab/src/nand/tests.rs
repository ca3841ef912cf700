//! Tests of time lines, of the activity derived from them, and of tables.

use proptest::prelude::*;
use wordline_kernel::{Duration, Instant};
use wordline_nand::chips::Wiring;
use wordline_nand::geometry::Layout;
use wordline_nand::{DieId, Part, Span, Stage};
use wordline_run::trace_event::is_on_bus;

use super::activity::{Activity, Interval};
use super::*;

fn mqsim() -> Part {
    part("mqsim-mlc", None, None).expect("the part is embedded")
}

fn items(operations: &[&str], dies: u32) -> Vec<Item> {
    let operations: Vec<String> = operations.iter().map(|&text| text.to_owned()).collect();
    parse(&operations, &mqsim(), dies).expect("the operations are sound")
}

fn complaint(operations: &[&str]) -> String {
    let operations: Vec<String> = operations.iter().map(|&text| text.to_owned()).collect();
    parse(&operations, &mqsim(), 4).expect_err("an operation is unsound").to_string()
}

fn trace(operations: &[&str], dies: u32) -> Trace {
    let bench = Bench::new(&mqsim(), Setup::dies(dies)).expect("the dies are sound");
    bench.run(&items(operations, dies))
}

/// A constructed trace: a cache program of 2.5 us, data for the next program meanwhile, and an erase on
/// another die.
fn spans() -> Vec<Span> {
    let span = |begin, die, stage, planes, length, command| Span {
        begin: Instant::from_ps(begin),
        die: DieId(die),
        stage,
        planes,
        length: Duration::from_ps(length),
        command,
    };
    vec![
        span(0, 0, Stage::Cle, 0, 45_000, 0),
        span(45_000, 0, Stage::Ale, 0, 125_000, 0),
        span(170_000, 0, Stage::Tir, 0, 900_833, 0),
        span(1_070_833, 0, Stage::Cle, 0, 125_000, 0),
        span(1_195_833, 1, Stage::Cle, 0, 45_000, 1),
        span(1_240_833, 1, Stage::Ale, 0, 75_000, 1),
        span(1_315_833, 1, Stage::Cle, 0, 125_000, 1),
        span(1_440_833, 1, Stage::Ber, 1, 3_800_000, 1),
        span(4_195_833, 0, Stage::Tin, 3, 2_500_000, 0),
        span(4_195_833, 0, Stage::Cle, 0, 45_000, 2),
        span(4_240_833, 0, Stage::Ale, 0, 125_000, 2),
        span(4_365_833, 0, Stage::Tir, 0, 900_833, 2),
        span(5_266_666, 0, Stage::Cle, 0, 125_000, 2),
        span(6_695_833, 0, Stage::Tin, 3, 2_500_000, 2),
    ]
}

fn two_dies() -> Layout {
    Setup::dies(2).layout
}

fn names() -> Vec<String> {
    ["program-cache@2", "erase <&>", "program@2"].map(str::to_owned).to_vec()
}

#[test]
fn operations_are_read_as_they_are_spelled() {
    let item = |dies: &[u32], kind, planes, times| Item { dies: dies.to_vec(), kind, planes, times };
    let read = items(&["read", "0,2-3:program-cache@2planes*7 all:erase*2", "1:copyback@2"], 4);
    assert_eq!(
        read,
        [
            item(&[0], Kind::Read, 1, 1),
            item(&[0, 2, 3], Kind::ProgramCache, 2, 7),
            item(&[0, 1, 2, 3], Kind::Erase, 1, 2),
            item(&[1], Kind::Copyback, 2, 1),
        ]
    );
    assert_eq!(read[1].name(), "program-cache@2");
}

#[test]
fn a_misspelt_operation_is_refused_with_its_place() {
    for (text, wanted) in [
        (
            "0:reed*2",
            "operation `0:reed*2`, character 3: found `reed`, wanted one of read, read-cache, program, \
             program-cache, copyback, erase",
        ),
        ("4:read", "operation `4:read`, character 1: found `4`, wanted `all`, or a die from 0 to 3"),
        ("2-1:read", "operation `2-1:read`, character 3: found `1`, wanted a die from 2 to 3"),
        ("0-2,1:read", "operation `0-2,1:read`, character 5: found die 1 again, wanted each die once"),
        ("read@3", "operation `read@3`, character 6: found `3`, wanted a number of planes from 1 to 2"),
        ("read*0", "operation `read*0`, character 6: found `0`, wanted how many times from 1 to 100000"),
        (
            "read*2@2",
            "operation `read*2@2`, character 7: found `@`, wanted @PLANES, then *TIMES, or the end of the operation",
        ),
        ("0;1:read", "operation `0;1:read`, character 2: found `;1`, wanted a colon after the dies"),
        (
            "all:read*60000",
            "operation `all:read*60000`, character 1: found 240000 operations up to here, wanted at most 100000 \
             operations in all",
        ),
        ("", "operations: found none, wanted at least one, such as `program*4` or `0-1:read@2`"),
    ] {
        assert_eq!(complaint(&[text]), wanted, "{text}");
    }
}

#[test]
fn an_operation_that_the_part_lacks_is_refused() {
    let one_shot = part("tlc-512g", None, None).expect("the part is embedded");
    let error = parse(&["copyback".into()], &one_shot, 1).expect_err("a word line is programmed whole");
    assert!(error.to_string().contains("programs whole word lines"), "{error}");
    let table = OperationTable::of(&one_shot, 1, Setup::dies(1).wiring).expect("the part is sound");
    assert!(table.rows.iter().all(|row| row.operation != Kind::Copyback));
    assert_eq!(table.notes, ["the part programs whole word lines: no copyback of a page"]);
}

#[test]
fn another_mode_replaces_all_times_of_the_bus() {
    let part = part("mqsim-mlc", Some(wordline_nand::Interface::Sdr), Some(0)).expect("SDR has a mode 0");
    assert_eq!((part.bus.t_wc.ns(), part.bus.mode), (100, 0));
    let error = super::part("mqsim-mlc", None, Some(99)).expect_err("there is no mode 99").to_string();
    assert!(error.starts_with("--mode: found 99, wanted from 0 to 10 for NV-DDR2"), "{error}");
}

#[test]
fn a_table_says_below_its_rows_what_the_part_lacks() {
    let part = part("micron-mt29f2g08aac", None, None).expect("the part is embedded");
    let table = OperationTable::of(&part, 1, Wiring::default()).expect("one die is sound").table(200);
    let (_, notes) = table.split_once("Note: ").expect("some note");
    assert!(notes.contains("the part has one plane: no multi-plane operations"), "{table}");
}

#[test]
fn a_read_alone_takes_command_sensing_and_transfer() {
    let table = OperationTable::of(&mqsim(), 1, Setup::dies(1).wiring).expect("the part is sound");
    let row = &table.rows[0];
    // The command takes 375 ns: 295 ns, plus tRHW instead of tCS after the previous data. Then tR of 75 us,
    // 50 ns before the data, and 8 KiB at 333 MT/s.
    let us = 0.375 + 75.0 + 0.05 + 8_192.0 / 333.0;
    assert!((row.latency_us - us).abs() < 1e-5, "{} and {us}", row.latency_us);
    let throughput = row.bytes_per_second.expect("a read moves data");
    assert!((throughput * us / 1e6 - 8_192.0).abs() < 1e-2, "{throughput}");
    assert!((row.stage_shares["TON"] - 75.0 / us).abs() < 1e-6);
}

#[test]
fn cache_operations_overlap_and_planes_share_the_array() {
    let table = OperationTable::of(&mqsim(), 4, Setup::dies(4).wiring).expect("the part is sound");
    let throughput = |kind, planes, dies| {
        let row = table.rows.iter().find(|row| (row.operation, row.planes, row.dies) == (kind, planes, dies));
        row.and_then(|row| row.bytes_per_second).expect("the row is there and moves data")
    };
    for planes in [1, 2] {
        assert!(throughput(Kind::ReadCache, planes, 1) > throughput(Kind::Read, planes, 1));
        assert!(throughput(Kind::ProgramCache, planes, 1) > throughput(Kind::Program, planes, 1));
        // Four programs in parallel do not saturate the bus.
        let ratio = throughput(Kind::Program, planes, 4) / throughput(Kind::Program, planes, 1);
        assert!((3.9..4.01).contains(&ratio), "{ratio}");
    }
    let ratio = throughput(Kind::Program, 2, 1) / throughput(Kind::Program, 1, 1);
    assert!((1.9..2.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_die_is_ready_behind_a_cache_program_and_its_registers_follow() {
    let die: Vec<Span> = spans().into_iter().filter(|span| span.die == DieId(0)).collect();
    let during = |begin, end, command| Interval {
        begin: Instant::from_ps(begin),
        end: Instant::from_ps(end),
        command,
    };
    let activity = Activity::of(&die);
    assert_eq!(
        activity.not_ready,
        [during(1_195_833, 4_195_833, 0), during(5_391_666, 9_195_833, 2)],
        "busy for the hand-over, then to the end of what ends the sequence"
    );
    assert_eq!(activity.array_not_ready, [during(1_195_833, 9_195_833, 0)]);
    assert_eq!(activity.cache_register, [during(170_000, 4_195_833, 0), during(4_365_833, 6_695_833, 2)]);
    assert_eq!(activity.data_register, [during(4_195_833, 6_695_833, 0), during(6_695_833, 9_195_833, 2)]);
}

#[test]
fn a_cache_read_hands_each_page_over_and_ends_at_rest() {
    let trace = trace(&["read-cache*3"], 1);
    let activity = Activity::of(&trace.spans);
    let turn = mqsim().timing.cache_busy;
    // RDY is low for the first sensing, for the 31h whose array is idle, and for the 31h and 3Fh that follow
    // while the array reads the next page.
    let low = &activity.not_ready;
    assert_eq!(low.len(), 4, "{low:?}");
    assert_eq!(low[1].end - low[1].begin, turn);
    let sensed: Vec<&Span> = trace.spans.iter().filter(|span| span.stage == Stage::Ton).collect();
    assert_eq!((sensed.len(), low[3].end), (3, sensed[2].end() + turn));
    assert_eq!(activity.cache_register.len(), 3);
    assert_eq!(activity.data_register.len(), 3);
    let outs: Vec<&Span> = trace.spans.iter().filter(|span| span.stage == Stage::Tor).collect();
    for (held, out) in activity.cache_register.iter().zip(outs) {
        assert_eq!((held.end, held.command), (out.end(), out.command));
    }
}

#[test]
fn a_time_line_is_a_trace_event_document() {
    let (spans, names) = (spans(), names());
    let text = chrome(&TimelineInput { spans: &spans, busy: None, layout: two_dies(), names: &names });
    let document: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let events = document["traceEvents"].as_array().expect("a list of events");
    let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    // A slice for each stage, one more for each plane of an array stage, and slices for 2 pages in 2
    // registers.
    assert_eq!(slices.len(), spans.len() + 5 + 4);
    insta::assert_snapshot!("chrome", text);
}

#[test]
fn the_picture_of_a_time_line() {
    let (spans, names) = (spans(), names());
    let text = svg(
        &TimelineInput { spans: &spans, busy: None, layout: two_dies(), names: &names },
        "Two <dies> & a bus",
    );
    assert!(text.contains("Two &lt;dies&gt; &amp; a bus") && text.contains("erase &lt;&amp;&gt;"), "{text}");
    insta::assert_snapshot!("svg", text);
}

#[test]
fn the_axis_has_the_unit_that_suits_it() {
    let label = |ps: u64| {
        let spans = [Span { length: Duration::from_ps(ps), ..spans()[0] }];
        let text = svg(&TimelineInput { spans: &spans, busy: None, layout: two_dies(), names: &[] }, "");
        let labels: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix("</text>")).collect();
        let of = |line: &str| line.rsplit('>').next().unwrap_or_default().to_owned();
        // After the labels of the axis follow the name of the row, then the name of its stage.
        (of(labels[labels.len() - 4]), of(labels[labels.len() - 3]))
    };
    assert_eq!(label(450_000), ("450".into(), "ns".into()));
    assert_eq!(label(9_000_000), ("9000".into(), "ns".into()));
    assert_eq!(label(88_000_000), ("80".into(), "µs".into()));
    assert_eq!(label(12_000_000_000), ("12".into(), "ms".into()));
}

/// The numbers of the attribute `name` in all tags of a class in `text`.
fn rectangles(text: &str) -> Vec<[u64; 3]> {
    let number = |line: &str, name: &str| {
        let from = line.find(&format!(" {name}=\"")).expect("the attribute is there") + name.len() + 3;
        let text = &line[from..from + line[from..].find('"').expect("it ends")];
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        format!("{whole}{rest:0<3}").parse::<u64>().expect("a number of thousandths")
    };
    let drawn = text.lines().filter(|line| line.starts_with("<rect class="));
    drawn.map(|line| ["x", "y", "width"].map(|name| number(line, name))).collect()
}

fn random_operations() -> impl Strategy<Value = Vec<String>> {
    let one = (0..6_usize, 0..3_u32, 1..=2_u32, 1..6_u32)
        .prop_map(|(kind, die, planes, times)| format!("{die}:{}@{planes}*{times}", Kind::ALL[kind].name()));
    prop::collection::vec(one, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_stage_is_drawn_within_the_axis_and_nothing_overlaps(operations in random_operations()) {
        let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
        let trace = trace(&operations, 3);
        let names = trace.names();
        let scene = TimelineInput { spans: &trace.spans, busy: None, layout: Setup::dies(3).layout, names: &names };
        let mut drawn = rectangles(&svg(&scene, "random"));
        prop_assert_eq!(drawn.len(), trace.spans.len());
        prop_assert!(drawn.iter().all(|[x, _, width]| *x >= 110_000 && x + width <= 976_000));
        drawn.sort_by_key(|[x, y, width]| (*y, *x, *width));
        for pair in drawn.windows(2) {
            let ([x, y, width], [next, row, _]) = (pair[0], pair[1]);
            prop_assert!(y != row || x + width <= next, "{:?}", pair);
        }
    }

    #[test]
    fn registers_and_signals_never_overlap_themselves(operations in random_operations()) {
        let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
        let trace = trace(&operations, 3);
        for die in 0..3 {
            let spans: Vec<Span> = trace.spans.iter().filter(|span| span.die.0 == die).copied().collect();
            let activity = Activity::of(&spans);
            let all = [&activity.not_ready, &activity.array_not_ready, &activity.cache_register, &activity.data_register];
            for during in all {
                prop_assert!(during.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{:?}", during);
            }
            // ARDY is low while the array works. RDY is high while a program's data move in.
            for span in &spans {
                let low = |all: &[Interval]| all.iter().any(|low| low.begin < span.end() && span.begin < low.end);
                if is_on_bus(span.stage) {
                    prop_assert!(!low(&activity.not_ready), "{:?}", span);
                } else {
                    prop_assert!(low(&activity.array_not_ready), "{:?}", span);
                }
            }
        }
    }

    #[test]
    fn every_operation_ends_and_has_all_its_stages(operations in random_operations()) {
        let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
        let trace = trace(&operations, 3);
        let spelled: u32 = items(&operations, 3).iter().map(|item| item.times).sum();
        prop_assert_eq!(trace.operations.len(), spelled as usize);
        for one in &trace.operations {
            prop_assert!(one.end > one.begin, "{:?}", one);
            let array = [Stage::Tin, Stage::Ton, Stage::Ber].map(|stage| one.stages.ps(stage) > 0);
            let wanted = match one.kind {
                Kind::Read | Kind::ReadCache => [false, true, false],
                Kind::Program | Kind::ProgramCache => [true, false, false],
                Kind::Copyback => [true, true, false],
                Kind::Erase => [false, false, true],
            };
            prop_assert_eq!(array, wanted, "{:?}", one);
        }
    }
}
