//! Does a table in Parquet mean what the same table means as text? Are files and rows that do not fit named?

use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use wordline_trace::{Format, Op, Options, Request, Trace, open, read_bytes};

/// Values of a column; `None` stands for no value in an optional column.
enum Values {
    Bool(Vec<bool>),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Double(Vec<f64>),
    Text(Vec<Option<&'static str>>),
    Fixed(Vec<Vec<u8>>),
}
use Values::{Bool, Double, Fixed, Int, Long, Text};

impl Values {
    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) {
        let mut column = group.next_column().expect("a column").expect("as many as in the schema");
        let written = match self {
            Bool(values) => column.typed::<BoolType>().write_batch(values, None, None),
            Int(values) => column.typed::<Int32Type>().write_batch(values, None, None),
            Long(values) => column.typed::<Int64Type>().write_batch(values, None, None),
            Fixed(values) => {
                let values: Vec<FixedLenByteArray> =
                    values.iter().map(|value| ByteArray::from(value.clone()).into()).collect();
                column.typed::<FixedLenByteArrayType>().write_batch(&values, None, None)
            }
            Double(values) => column.typed::<DoubleType>().write_batch(values, None, None),
            Text(values) => {
                let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                let texts: Vec<ByteArray> =
                    values.iter().flatten().map(|text| ByteArray::from(*text)).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)
            }
        };
        written.expect("the values are of the column's type");
        column.close().expect("memory suffices");
    }
}

/// A Parquet file with these columns, and `groups` times the rows.
fn file(schema: &str, columns: &[Values], groups: usize, how: WriterProperties) -> Vec<u8> {
    let schema = parse_message_type(&format!("message trace {{ {schema} }}")).expect("a schema");
    let mut writer =
        SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(how)).expect("a writer");
    for _ in 0..groups {
        let mut group = writer.next_row_group().expect("a group");
        columns.iter().for_each(|column| column.write(&mut group));
        group.close().expect("memory suffices");
    }
    writer.into_inner().expect("memory suffices")
}

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

fn read(content: &[u8], pairs: &[&str]) -> Result<Trace, String> {
    let options = Options::from_pairs(pairs.iter().copied()).map_err(|error| error.to_string())?;
    read_bytes("t.parquet", content, &options).map_err(|error| error.to_string())
}

/// A request in short: microseconds, op, offset, size.
fn shorts(trace: &Trace) -> Vec<(u64, Op, u64, u64)> {
    let short =
        |request: &Request| (request.arrival.ps() / 1_000_000, request.op, request.offset.0, request.size.0);
    trace.requests.iter().map(short).collect()
}

const OURS: &str =
    "required int64 t_us; optional binary op (UTF8); required int64 offset; required int32 size;
                    required double resp_us; required boolean fua; optional binary tenant (UTF8);";

fn ours() -> Vec<Values> {
    vec![
        Long(vec![7, 9, 12]),
        Text(vec![Some("W"), Some("read"), Some("F")]),
        Long(vec![4096, 1 << 40, 0]),
        Int(vec![8192, 512, 0]),
        Double(vec![10.5, 20.0, 0.25]),
        Bool(vec![true, false, false]),
        Text(vec![Some("a,b"), None, Some("c")]),
    ]
}

#[test]
fn columns_with_the_names_of_our_csv_mean_the_same() {
    let csv = "t_us,op,offset,size,resp_us,fua,tenant\n7,W,4096,8192,10.5,true,a\n9,read,1099511627776,512,20,false,\n\
               12,F,0,0,0.25,false,c\n";
    let text = read(csv.as_bytes(), &[]).expect("valid");
    let zstd = || WriterProperties::builder().set_compression(Compression::ZSTD(Default::default()));
    for how in [
        plain(),
        zstd().build(),
        zstd().set_dictionary_enabled(false).set_encoding(Encoding::PLAIN).build(),
        zstd().set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0).build(),
        WriterProperties::builder().set_compression(Compression::SNAPPY).build(),
        WriterProperties::builder().set_compression(Compression::GZIP(Default::default())).build(),
    ] {
        let trace = read(&file(OURS, &ours(), 1, how), &[]).expect("valid");
        assert_eq!(trace.format, Format::Parquet);
        assert_eq!(trace.requests, text.requests);
        let notes = trace.notes.join("; ");
        assert!(notes.contains("of which 3 rows were read; columns are those of the format csv"), "{notes}");
        assert!(notes.contains("ignored columns: \"tenant\""), "{notes}");
    }
    // The option applies to a time whose name has no unit.
    let columns = [Long(vec![7, 9]), Text(vec![Some("W"), Some("R")]), Long(vec![0, 8]), Int(vec![8, 8])];
    let schema = "required int64 t; optional binary op (UTF8); required int64 lba; required int32 sectors;";
    let trace = read(&file(schema, &columns, 1, plain()), &["time_unit=ms"]).expect("valid");
    assert_eq!(shorts(&trace), [(0, Op::Write, 0, 4096), (2_000, Op::Read, 4096, 4096)]);
}

#[test]
fn files_archives_and_pipes_of_any_length_are_read() {
    let rows = 10_000;
    let count = i64::try_from(rows).expect("small");
    let columns = [
        Long((0..count).collect()),
        Text(vec![Some("R"); rows]),
        Long((0..count).map(|row| row * 4096).collect()),
        Int(vec![4096; rows]),
    ];
    let schema =
        "required int64 t_us; optional binary op (UTF8); required int64 offset; required int32 size;";
    let content = file(schema, &columns, 3, plain());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trace.data");
    std::fs::write(&path, &content).expect("it can be written");
    let mut stream = open(&path, &Options::default()).expect("valid");
    let mut last = None;
    for (row, request) in stream.by_ref().enumerate() {
        last = Some((row, request.expect("valid").offset.0));
    }
    assert_eq!(last.map(|(row, _)| row), Some(3 * rows - 1));
    assert_eq!(stream.progress().bytes, content.len() as u64);
    let packed = zstd::encode_all(content.as_slice(), 0).expect("memory suffices");
    let trace = read(&packed, &[]).expect("a compressed file is unpacked first");
    assert_eq!(trace.requests.len(), 3 * rows);
}

#[test]
fn a_column_map_reads_columns_by_name_and_by_number() {
    let schema = "required boolean is_write; required int64 when (TIMESTAMP(MICROS,true)); required int64 lba (INTEGER(64,false));
                  required int32 amount (DECIMAL(9,1)); optional binary disk (UTF8);";
    let columns = [
        Bool(vec![true, false]),
        Long(vec![1_700_000_000_000_000, 1_700_000_000_000_250]),
        Long(vec![8, 16]),
        Int(vec![80, 10]),
        Text(vec![Some("nvme0n1"), Some("nvme1n1")]),
    ];
    let content = file(schema, &columns, 1, plain());
    for map in [
        "op@is_write:true=W|false=R,ts@when:us,off@lba:512,len@lba2:512",
        "op@is_write:true=W|false=R,ts@when:ms,off@lba:512,len@lba:512",
        "op:true=W|false=R,ts:us,off:512,_,dev,len:512",
    ] {
        assert!(read(&content, &[&format!("columns={map}")]).is_err(), "{map}");
    }
    let whole = file(&schema.replace("amount (DECIMAL(9,1))", "amount"), &columns, 1, plain());
    for map in [
        "op@is_write:true=W|false=R,dev@disk,ts@when:us,off@lba:512,len@amount:512",
        "op:true=W|false=R,ts:us,off:512,len:512,dev",
    ] {
        let trace = read(&whole, &[&format!("columns={map}"), "devices=keep"]).expect(map);
        assert_eq!(shorts(&trace), [(0, Op::Write, 4096, 40_960), (250, Op::Read, 8192, 5_120)], "{map}");
        assert_eq!(trace.requests[1].device, 1);
        assert!(
            trace.notes.join("; ").contains("columns are those of the option columns"),
            "{:?}",
            trace.notes
        );
    }
    // A decimal is a time like any other number.
    let map = "columns=op=R,ts@amount:ms,off@lba:512,len@lba:512";
    assert!(read(&content, &[map]).is_err_and(|error| error.contains("len in column \"lba\" twice")));
    let map = "columns=op=R,ts@amount:ms,off@when,len@lba:512";
    let trace = read(&content, &[map]);
    assert_eq!(trace.map(|trace| trace.requests[1].arrival.ps() / 1_000_000_000), Ok(7));
}

#[test]
fn decimals_in_bytes_are_read() {
    let schema = "required fixed_len_byte_array(5) t_us (DECIMAL(10,2)); optional binary op (UTF8);
                  required fixed_len_byte_array(9) offset (DECIMAL(20,0)); required int32 size;";
    let bytes = |values: [i128; 3], length: usize| {
        Fixed(values.map(|value| value.to_be_bytes()[16 - length..].to_vec()).into())
    };
    let columns = [
        bytes([-250, 0, 12_345], 5),
        Text(vec![Some("W"), Some("R"), Some("R")]),
        bytes([0, 1 << 40, 4096], 9),
        Int(vec![512; 3]),
    ];
    let trace = read(&file(schema, &columns, 1, plain()), &[]).expect("valid");
    let times: Vec<u64> = trace.requests.iter().map(|request| request.arrival.ps() / 10_000).collect();
    assert_eq!(times, [0, 250, 12_595]);
    assert_eq!(shorts(&trace)[1].2, 1 << 40);
}

#[test]
fn columns_with_the_names_of_other_formats_are_known() {
    let schema = "required int64 device_id; optional binary opcode (UTF8); required int64 offset; required int64 length;
                  required int64 timestamp;";
    let columns = [
        Long(vec![3, 3]),
        Text(vec![Some("W"), Some("R")]),
        Long(vec![4096, 0]),
        Long(vec![512, 1024]),
        Long(vec![1_577_808_000_000_000, 1_577_808_000_000_040]),
    ];
    let trace = read(&file(schema, &columns, 1, plain()), &["devices=keep"]).expect("valid");
    assert_eq!(shorts(&trace), [(0, Op::Write, 4096, 512), (40, Op::Read, 0, 1024)]);
    assert!(trace.notes.join("; ").contains("columns are those of the format alibaba"), "{:?}", trace.notes);
}

#[test]
fn the_type_of_a_column_gives_the_unit_of_times_in_the_columns_of_every_format() {
    let alibaba = |kind: &str, ticks: i64| {
        let schema = format!(
            "required int64 device_id; optional binary opcode (UTF8); required int64 offset; required int64 length;
             required int64 timestamp ({kind});"
        );
        let date = 1_577_808_000 * ticks;
        let times = Long(vec![date, date + ticks / 1000, date + 3 * ticks / 1000]);
        let (zeros, sizes) = (vec![0; 3], vec![512; 3]);
        let ops = Text(vec![Some("R"); 3]);
        file(&schema, &[Long(zeros.clone()), ops, Long(zeros), Long(sizes), times], 1, plain())
    };
    for (kind, ticks) in [
        ("TIMESTAMP(NANOS,true)", 1_000_000_000),
        ("TIMESTAMP(MICROS,true)", 1_000_000),
        ("TIMESTAMP(MILLIS,true)", 1_000),
        ("TIMESTAMP_MILLIS", 1_000),
    ] {
        let trace = read(&alibaba(kind, ticks), &[]).expect(kind);
        let times: Vec<u64> = shorts(&trace).iter().map(|request| request.0).collect();
        assert_eq!(times, [0, 1_000, 3_000], "{kind}");
    }
    // Times in seconds, of which only one has a type.
    let schema = "required int64 Timestamp (TIMESTAMP(MICROS,true)); required double Response; optional binary IOType (UTF8);
                  required int32 LUN; required int64 Offset; required int32 Size;";
    let columns = [
        Long(vec![1_577_808_000_000_000, 1_577_808_000_000_250]),
        Double(vec![0.5, 0.25]),
        Text(vec![Some("R"), Some("W")]),
        Int(vec![0, 0]),
        Long(vec![0, 0]),
        Int(vec![512, 512]),
    ];
    let trace = read(&file(schema, &columns, 1, plain()), &[]).expect("valid");
    let responses = trace.requests.iter().filter_map(|request| request.response).map(|time| time.ps());
    assert_eq!(responses.collect::<Vec<_>>(), [500_000_000_000, 250_000_000_000]);
    assert_eq!(shorts(&trace)[1].0, 250);
}

#[test]
fn our_log_is_read_with_numbers_and_names_of_operations() {
    let wanted = [(0, Op::Write, 4096, 4096), (2, Op::Flush, 0, 0), (7, Op::WriteZeroes, 8192, 512)];
    let log = |operation: &str, operations: Values| {
        let schema = format!(
            "required int64 submitted_ps; required int64 latency_ps; {operation}; required int64 sector;
             required int64 sectors; required boolean failed;"
        );
        let long = |values: [i64; 3]| Long(values.into());
        let [times, sectors] = [long([3_000_000, 5_000_000, 10_000_000]), long([8, 0, 16])];
        let columns = [times, long([9; 3]), operations, sectors, long([8, 0, 1]), Bool(vec![false; 3])];
        read(&file(&schema, &columns, 1, plain()), &[]).expect("valid")
    };
    let numbers = log("required int32 operation", Int(vec![1, 3, 4]));
    let names = [Some("write"), Some("flush"), Some("write_zeroes")];
    let names = log("optional binary operation (UTF8)", Text(names.into()));
    let text = "# a comment\nsubmitted_ps,latency_ps,operation,sector,sectors,failed\n3000000,9,write,8,8,false\n\
                5000000,9,flush,0,0,false\n10000000,9,4,16,1,false\n";
    let text = read(text.as_bytes(), &[]).expect("valid");
    for trace in [numbers, names, text] {
        assert_eq!(
            (shorts(&trace).as_slice(), trace.requests[0].response.map(|time| time.ps())),
            (&wanted[..], Some(9))
        );
    }
}

#[test]
fn errors_name_the_file_the_row_and_the_column() {
    let message = |columns: &[Values], schema: &str, pairs: &[&str]| {
        read(&file(schema, columns, 1, plain()), pairs).expect_err("it does not fit")
    };
    let mut columns = ours();
    columns[1] = Text(vec![Some("W"), Some("erase"), Some("F")]);
    assert!(message(&columns, OURS, &[]).starts_with("t.parquet:2: found op \"erase\", wanted R, W, D"));
    columns[1] = Text(vec![Some("W"), None, Some("F")]);
    assert!(message(&columns, OURS, &[]).starts_with("t.parquet:2: found op \"\", wanted R, W, D"));
    columns[1] = Text(vec![Some("W"), Some("R,W"), Some("F")]);
    assert_eq!(
        message(&columns, OURS, &[]),
        "t.parquet:2: found column \"op\" with \"R,W\", wanted text without commas"
    );
    columns = ours();
    columns[2] = Long(vec![0, -5, 0]);
    assert!(
        message(&columns, OURS, &[]).starts_with("t.parquet:2: found offset \"-5\", wanted a whole number")
    );
    columns = ours();
    columns[4] = Double(vec![f64::NAN, 1.0, 1.0]);
    assert!(
        message(&columns, OURS, &[])
            .starts_with("t.parquet:1: found response time \"NaN\", wanted a decimal")
    );

    assert_eq!(
        message(&ours()[2..3], "required int64 offset;", &[]),
        "t.parquet: found a Parquet file with columns \"offset\", wanted columns with the names of a known format, or a map \
         of its columns (option columns)"
    );
    let named = "required int64 start; optional binary rw (UTF8); required int64 lba; required int32 bytes;";
    let error = message(&ours()[..4], named, &[]);
    let (_, map) = error.split_once("--trace-option 'columns=").expect(&error);
    let map = format!("columns={}", map.trim_end_matches('\''));
    assert!(read(&file(named, &ours()[..4], 1, plain()), &[&map]).is_ok(), "{map}");
    let map = "columns=ts@start:us,op@rw,off@sector,len@bytes";
    assert_eq!(
        message(&ours()[..4], named, &[map]),
        "t.parquet: found column \"sector\" in the option columns, wanted columns of the file: \"start\", \"rw\", \"lba\", \"bytes\""
    );
    let map = "columns=ts:us,op,off,len,dev@9";
    assert!(message(&ours()[..4], named, &[map]).contains("found column 9 in the option columns"));
    let error = message(&ours()[..4], named, &["format=parquet", "time_unit=ms", "columns=ts:us,op,off,len"]);
    assert!(error.contains("trace option time_unit"), "{error}");

    let typed = OURS.replace("int64 t_us", "int64 t_us (TIMESTAMP(NANOS,true))");
    assert_eq!(
        message(&ours(), &typed, &[]),
        "t.parquet: found column \"t_us\" with times in ns by its type, wanted us, by its name or an option"
    );
    assert!(
        read(b"0,0,8,8,0\n", &["format=parquet"])
            .is_err_and(|error| error.contains("found a Parquet file that cannot be read"))
    );
}

#[test]
fn lists_and_unknown_types_are_refused() {
    let list = "required int64 t_us; optional binary op (UTF8); required int64 offset; required group size { required int32 item; }";
    let error = read(&file(list, &ours()[..4], 1, plain()), &[]).expect_err("a group");
    assert_eq!(
        error,
        "t.parquet: found column \"size\" of lists or groups, wanted a column of numbers or texts"
    );
}

/// Files that pyarrow wrote: two rows, compressed as pandas, DuckDB and Spark do if not told otherwise, and
/// with Brotli.
const SNAPPY: &[u8] = include_bytes!("data/snappy.parquet");
const BROTLI: &[u8] = include_bytes!("data/brotli.parquet");

#[test]
fn files_of_pyarrow_are_read_and_other_compressions_named_with_their_remedy() {
    let trace = read(SNAPPY, &[]).expect("a file of pyarrow");
    assert_eq!(shorts(&trace), [(0, Op::Write, 0, 4096), (2, Op::Read, 4096, 512)]);
    assert_eq!(
        read(BROTLI, &[]).expect_err("compressed with Brotli"),
        "t.parquet: found column \"t_us\" compressed with brotli, wanted snappy, gzip, zstd or no compression, as \
         pandas writes with to_parquet(..., compression=\"zstd\")"
    );
    assert!(read(&SNAPPY[..SNAPPY.len() - 1], &[]).is_err_and(|error| error.contains("that cannot be read")));
}

#[test]
fn damaged_files_are_errors() {
    let content = file(OURS, &ours(), 1, plain());
    for length in (0..content.len()).step_by(3) {
        assert!(read(&content[..length], &[]).is_err(), "{length} bytes");
    }
    for at in 0..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
        // Some damage leaves a valid file.
        let _ = read(&damaged, &[]);
    }
}
