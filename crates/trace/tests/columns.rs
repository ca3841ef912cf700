//! Does a column map read text of any columns, and does it refuse lines that do not fit?

use wordline_trace::{Format, Op, Options, Request, Trace, read_bytes};

fn read(content: &str, map: &str) -> Result<Trace, String> {
    let columns = format!("columns={map}");
    let options =
        Options::from_pairs([columns.as_str(), "devices=keep"]).map_err(|error| error.to_string())?;
    read_bytes("t", content.as_bytes(), &options).map_err(|error| error.to_string())
}

/// A request in short: nanoseconds, op, device, offset, size.
fn shorts(trace: &Trace) -> Vec<(u64, Op, u32, u64, u64)> {
    let short = |request: &Request| {
        (request.arrival.ps() / 1_000, request.op, request.device, request.offset.0, request.size.0)
    };
    trace.requests.iter().map(short).collect()
}

#[test]
fn columns_in_any_order_with_any_separator_are_read() {
    let wanted = [(0, Op::Write, 0, 4096, 4096), (1_500_000, Op::Read, 0, 8192, 512)];
    for (content, map) in [
        ("5.0,8,8,1\n5.0015,16,1,0\n", "ts:s,off:512,len:512,op:0=R|1=W"),
        ("W;4096;4096;x;100\nR;512;8192;y;1600\n", "op,len,off,_,ts:us"),
        (
            "# a comment\nTime Lba Blocks Cmd\n7 8 8 wr\n1500007 16 1 rd\n",
            "ts:ns,off:512,len:512,op:wr=W|rd=R",
        ),
        (
            "a\tb\t0\tc\t\"W\"\t4KiB\t1\t8\na\tb\t15\tc\t\"R\"\t4KiB\t2\t1\n",
            "ts@3:100us,op@5,off@7:4096,len:512",
        ),
    ] {
        let map = map.replace("ts@3:100us", "ts@3:100ns");
        let trace = read(content, &map).expect(content);
        let times = if map.contains("100ns") { [0, 1_500] } else { [0, 1_500_000] };
        let wanted: Vec<_> =
            wanted.iter().zip(times).map(|(row, time)| (time, row.1, row.2, row.3, row.4)).collect();
        assert_eq!((trace.format, shorts(&trace)), (Format::Columns, wanted), "{content}");
    }
}

#[test]
fn devices_response_processor_and_operations_that_are_left_out_are_read() {
    let content = "1 sda 8 8 0 3 7\n2 sdb 8 8 2 3 7\n3 sdb 16 8 1  9 8\n4 sda 0 0 3 1 0\n5 7 8 8 0 1 0\n";
    let trace = read(content, "ts:ms,dev,off:512,len:512,op:0=R|1=W|2=-|3=F,resp:us,cpu").expect("valid");
    assert_eq!(
        shorts(&trace),
        [
            (0, Op::Read, 0, 4096, 4096),
            (2_000_000, Op::Write, 1, 8192, 4096),
            (3_000_000, Op::Flush, 0, 0, 0),
            (4_000_000, Op::Read, 2, 4096, 4096)
        ]
    );
    let write = &trace.requests[1];
    assert_eq!((write.response.map(|time| time.ns()), write.cpu), (Some(9_000), Some(8)));
    let notes = trace.notes.join("; ");
    assert!(notes.contains("left out: 1 request that the option columns leaves out"), "{notes}");
    assert!(
        notes.contains("devices are numbered in order of appearance: 0 \"sda\", 1 \"sdb\", 2 \"7\""),
        "{notes}"
    );
}

#[test]
fn numbers_and_names_of_devices_never_meet() {
    let content = "0,a1,R,0,4096\n5,0,W,0,4096\n9,1,W,0,4096\n12,b2,R,0,4096\n13,a1,R,0,4096\n";
    let devices = |content: &str| -> Vec<u32> {
        let trace = read(content, "ts:us,dev,op,off,len").expect("valid");
        trace.requests.iter().map(|request| request.device).collect()
    };
    assert_eq!(devices(content), [0, 1, 2, 3, 0], "the first is a name");
    let (number, name) = ("0,0,R,0,4096\n1,a1,R,0,4096\n2,1,R,0,4096\n3,b2,R,0,4096\n", 1 << 31);
    assert_eq!(devices(number), [0, name, 1, name + 1], "the first is a number");
    let unknown = format!("{number}4,{},R,0,4096\n", name + 1);
    assert_eq!(devices(&unknown)[4], name + 2, "a number from 2^31 on is a name");
}

#[test]
fn a_header_is_noted_and_files_without_operations_have_one_for_all() {
    let trace = read("when,where,much\n1,4096,512\n", "ts:s,off,len,op=W").expect("valid");
    assert_eq!(shorts(&trace), [(0, Op::Write, 0, 4096, 512)]);
    assert!(trace.notes.iter().any(|note| note == "the first line names the columns: \"when,where,much\""));
}

#[test]
fn lines_that_do_not_fit_the_map_name_line_text_and_what_was_wanted() {
    let map = "ts:s,off:512,len:512,op:0=R|1=W";
    for (content, map, message) in [
        (
            "1,8,8,0\n2,8,8\n",
            map,
            "t:2: found 3 columns in \"2,8,8\", wanted 4 columns or more, as the option columns has",
        ),
        ("1,8,8,0\n2,8,8,2\n", map, "t:2: found op \"2\", wanted one of 0, 1, as in the option columns"),
        ("1,8,8,0\n2,x,8,1\n", map, "t:2: found off \"x\", wanted a whole number from 0 that fits 64 bits"),
        ("1,8,8,0\nnoon,8,8,1\n", map, "t:2: found ts \"noon\", wanted a decimal number, such as 12.5"),
        ("1,8,8,0\nnoon,late,much,1\n", map, "t:2: found ts \"noon\", wanted a decimal number, such as 12.5"),
        (
            "1,8,8,0\n\u{0}\u{1}\u{2}\n",
            map,
            "t:2: found 1 column in \"\\0\\u{1}\\u{2}\", wanted 4 columns or more, as the option columns has",
        ),
        (
            "1,8,8,Q\n",
            "ts:s,off,len,op",
            "t:1: found op \"Q\", wanted R, W, D, F, Z, C, ZA, ZR, ZF, ZO or ZC, or the words: read, write, discard, flush, write_zeroes, compare, zone_append, zone_reset, zone_finish, zone_open, zone_close",
        ),
        (
            "1,8,8,R,70000\n",
            "ts:s,off,len,op,cpu",
            "t:1: found cpu \"70000\", wanted a whole number from 0 to 65535",
        ),
        (
            "when,where,much,0\n",
            map,
            "t: found no requests, wanted at least one request of more than 0 bytes",
        ),
    ] {
        assert_eq!(read(content, map).map(|trace| shorts(&trace)), Err(message.to_string()), "{content}");
    }
}

#[test]
fn a_map_needs_its_format_and_the_format_its_map() {
    let read = |pairs: &[&str]| {
        let options = Options::from_pairs(pairs.iter().copied()).expect("valid options");
        read_bytes("t", b"1,8,8,0\n", &options).expect_err("they do not fit").to_string()
    };
    assert_eq!(
        read(&["format=columns"]),
        "trace option columns: found none, wanted the columns of the file, such as columns=ts:s,off:512,len:512,op:0=R|1=W"
    );
    assert!(read(&["columns=ts:s,off,len,op=R", "format=msr"]).contains("which has columns of its own"));
    assert!(read(&["columns=ts:s,off,len,op=R", "time_unit=ms"]).contains("which fixes its units"));
}

#[test]
fn the_error_for_an_unknown_file_proposes_a_map_with_which_it_is_read() {
    let content = "1.5;vm1;8;R;8\n2.5;vm1;4096;W;16\n";
    let error =
        read_bytes("t", content.as_bytes(), &Options::default()).expect_err("no known format").to_string();
    let (_, map) = error.split_once("--trace-option 'columns=").expect(&error);
    let trace = read(content, map.trim_end_matches('\'')).expect("the proposal fits");
    assert_eq!(
        shorts(&trace),
        [(0, Op::Read, 0, 4096, 4096), (1_000_000_000, Op::Write, 0, 4096 * 512, 8192)]
    );
}
