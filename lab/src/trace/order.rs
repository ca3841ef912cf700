//! From rows as recorded to the requests of a trace: sorted, with the clock's jumps closed and the devices laid out.

use std::collections::BTreeMap;
use std::path::Path;

use wordline_kernel::{Bytes, Duration, Instant};

use super::options::{Devices, Options};
use super::row::{Found, Row};
use super::{Op, Request};
use crate::{Error, error::Result};

/// What stays of a gap that a jump of the clock made: chosen as 1 ms, a gap that orders the requests around it and
/// changes no statistic of a trace that lasts minutes.
const CLOSED_GAP_PS: i128 = 1_000_000_000;

/// From this many requests on, a single one across a jump is a stray; chosen so that in a short trace, where every
/// request counts, none is left out.
const STRAY_FROM: usize = 1_000;

/// Stacked devices begin at multiples of this; chosen so that no request's alignment changes.
const DEVICE_ALIGNMENT: u64 = 1 << 20;

/// Makes the requests of a trace out of the rows of its file, and notes what had to be done.
pub(super) fn requests(path: &Path, found: Found, options: &Options) -> Result<(Vec<Request>, Vec<String>)> {
    let Found { mut rows, mut notes, .. } = found;
    let of_any_device = rows.len();
    if let Some(device) = options.device {
        rows.retain(|row| row.device == device);
        notes.push(format!("{} of {of_any_device} requests are of device {device}", rows.len()));
    }
    let with_empty = rows.len();
    rows.retain(|row| row.size > 0 || row.op == Op::Flush);
    if rows.len() < with_empty {
        notes.push(format!("{} requests of 0 bytes were left out", with_empty - rows.len()));
    }
    if rows.is_empty() {
        return Err(Error::Content {
            path: path.into(),
            found: "no requests".into(),
            wanted: "at least one request of more than 0 bytes".into(),
        });
    }
    let jump = i128::from(options.jump.ps());
    sort(&mut rows, jump, &mut notes);
    if options.devices == Devices::Stack {
        stack(path, &mut rows, &mut notes)?;
    }
    let span = rows.last().map_or(0, |row| row.time);
    if span > i128::from(Duration::LIMIT.ps()) {
        return Err(Error::Content {
            path: path.into(),
            found: format!("times that span {} days", span / 86_400_000_000_000_000),
            wanted: "at most 106 days (see options time_unit and jump)".into(),
        });
    }
    Ok((rows.iter().map(|row| request(row, jump)).collect(), notes))
}

fn request(row: &Row, jump: i128) -> Request {
    // A response that is negative or as long as a jump was taken across one.
    let response = row.response.filter(|time| (0..=jump).contains(&i128::from(*time)));
    Request {
        arrival: Instant::from_ps(u64::try_from(row.time).expect("the span of the trace was checked")),
        op: row.op,
        fua: row.fua,
        device: row.device,
        offset: Bytes(row.offset),
        size: Bytes(row.size),
        response: response.and_then(|time| u64::try_from(time).ok()).map(Duration::from_ps),
        cpu: row.cpu,
        stream: row.stream,
    }
}

/// Sorts by time, stably; closes jumps; lets the first request arrive at zero.
fn sort(rows: &mut Vec<Row>, jump: i128, notes: &mut Vec<String>) {
    let is_in_order = |pair: &[Row]| (0..=jump).contains(&(pair[1].time - pair[0].time));
    if rows.windows(2).all(is_in_order) {
        let begins = rows.first().map_or(0, |row| row.time);
        rows.iter_mut().for_each(|row| row.time -= begins);
        return;
    }
    note_disorder(rows, jump, notes);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| rows[*at].time);
    let mut eras: Vec<&[usize]> =
        order.chunk_by(|before, after| rows[*after].time - rows[*before].time <= jump).collect();
    if eras.len() > 1 {
        // The file tells which way the clock was set: what it mentions first came first.
        eras.sort_by_key(|era| era.iter().min().copied());
        note_jumps(&eras, rows, notes);
        if rows.len() >= STRAY_FROM {
            eras.retain(|era| era.len() > 1);
        }
    }
    let mut sorted: Vec<Row> = Vec::with_capacity(rows.len());
    for era in eras {
        let begins = sorted.last().map_or(0, |last| last.time + CLOSED_GAP_PS);
        let shift = begins - era.first().map_or(0, |first| rows[*first].time);
        sorted.extend(era.iter().map(|at| Row { time: rows[*at].time + shift, ..rows[*at] }));
    }
    *rows = sorted;
}

fn note_disorder(rows: &[Row], jump: i128, notes: &mut Vec<String>) {
    let back =
        || rows.windows(2).map(|pair| pair[0].time - pair[1].time).filter(|back| *back > 0 && *back <= jump);
    let count = back().count();
    if count > 0 {
        let most = back().max().unwrap_or(0) as f64 / 1e12;
        notes.push(format!("{count} requests stood after a later one, by up to {most} s; sorted by time"));
    }
}

fn note_jumps(eras: &[&[usize]], rows: &[Row], notes: &mut Vec<String>) {
    let time = |at: Option<&usize>| at.map_or(0, |at| rows[*at].time);
    for pair in eras.windows(2) {
        let gap = (time(pair[1].first()) - time(pair[0].last())) / 1_000_000_000_000;
        let at = pair[1].iter().min().map_or(0, |at| at + 1);
        notes.push(format!("the clock jumps by {gap} s at request {at} of the file"));
    }
    let strays = eras.iter().filter(|era| era.len() == 1).count();
    if rows.len() >= STRAY_FROM && strays > 0 {
        notes.push(format!("{strays} single requests across a jump of the clock were left out"));
    }
    notes.push("jumps of the clock were closed to 1 ms".into());
}

/// Lays the devices one behind another in the order of their numbers.
fn stack(path: &Path, rows: &mut [Row], notes: &mut Vec<String>) -> Result<()> {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for row in rows.iter() {
        let end = ends.entry(row.device).or_default();
        *end = (*end).max(row.offset + row.size);
    }
    if ends.len() == 1 {
        return Ok(());
    }
    let mut begins: BTreeMap<u32, u64> = BTreeMap::new();
    let mut next = 0_u64;
    for (device, end) in &ends {
        begins.insert(*device, next);
        let length = end.next_multiple_of(DEVICE_ALIGNMENT);
        next = next.checked_add(length).filter(|next| *next <= 1 << 63).ok_or_else(|| Error::Content {
            path: path.into(),
            found: format!("{} devices that together have more than 8 EiB", ends.len()),
            wanted: "less, or option devices=keep".into(),
        })?;
    }
    for row in rows.iter_mut() {
        row.offset += begins[&row.device];
    }
    notes.push(format!("{} devices were laid one behind another, {} in all", ends.len(), Bytes(next)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = 1_000_000_000_000;
    const DAY: i128 = 86_400 * S;

    fn row(time: i128, device: u32, offset: u64) -> Row {
        Row::new(time, Op::Read, device, offset, 512).expect("in range")
    }

    fn ordered(rows: Vec<Row>, options: &Options) -> (Vec<Request>, Vec<String>) {
        requests(Path::new("t"), Found { rows, ..Found::default() }, options).expect("a trace")
    }

    fn times_in_ms(requests: &[Request]) -> Vec<u64> {
        requests.iter().map(|request| request.arrival.ps() / 1_000_000_000).collect()
    }

    #[test]
    fn an_unsorted_trace_is_sorted_stably_from_zero() {
        let rows = vec![row(7 * S, 0, 1), row(5 * S, 0, 2), row(7 * S, 0, 3), row(6 * S, 0, 4)];
        let (requests, notes) = ordered(rows, &Options::default());
        assert_eq!(times_in_ms(&requests), [0, 1000, 2000, 2000]);
        assert_eq!(requests.iter().map(|request| request.offset.0).collect::<Vec<_>>(), [2, 4, 1, 3]);
        assert_eq!(notes, ["2 requests stood after a later one, by up to 2 s; sorted by time"]);
    }

    #[test]
    fn a_clock_set_forward_is_closed_to_a_millisecond() {
        let rows = vec![row(S, 0, 1), row(2 * S, 0, 2), row(20_000 * DAY, 0, 3), row(20_000 * DAY + S, 0, 4)];
        let (requests, notes) = ordered(rows, &Options::default());
        assert_eq!(times_in_ms(&requests), [0, 1000, 1001, 2001]);
        assert_eq!(notes[0], "the clock jumps by 1727999998 s at request 3 of the file");
        assert_eq!(notes[1], "jumps of the clock were closed to 1 ms");
    }

    #[test]
    fn a_clock_set_backward_keeps_the_order_of_the_file() {
        let rows = vec![row(100 * DAY, 0, 1), row(100 * DAY + S, 0, 2), row(0, 0, 3), row(S, 0, 4)];
        let (requests, _) = ordered(rows, &Options::default());
        assert_eq!(requests.iter().map(|request| request.offset.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(times_in_ms(&requests), [0, 1000, 1001, 2001]);
    }

    #[test]
    fn a_single_request_across_a_jump_is_left_out_of_a_long_trace_only() {
        let long: Vec<Row> = (0..1_000).map(|n| row(n * S, 0, 0)).chain([row(9_000 * DAY, 0, 7)]).collect();
        let (requests, notes) = ordered(long, &Options::default());
        assert_eq!(requests.len(), 1_000);
        assert!(notes.iter().any(|note| note.starts_with("1 single requests across")), "{notes:?}");
        let (requests, _) = ordered(vec![row(0, 0, 0), row(9_000 * DAY, 0, 7)], &Options::default());
        assert_eq!(requests.len(), 2);
    }

    #[test]
    fn a_week_without_requests_is_no_jump_unless_the_option_says_so() {
        let rows = vec![row(0, 0, 1), row(7 * DAY, 0, 2)];
        assert_eq!(times_in_ms(&ordered(rows.clone(), &Options::default()).0), [0, 7 * 86_400_000]);
        let options = Options { jump: Duration::from_ms(1_000), ..Options::default() };
        assert_eq!(times_in_ms(&ordered(rows, &options).0), [0, 1]);
    }

    #[test]
    fn devices_are_stacked_kept_or_filtered() {
        let rows = vec![row(0, 9, 100), row(1, 2, 1 << 20), row(2, 9, 200)];
        let offsets = |options: &Options| {
            ordered(rows.clone(), options).0.iter().map(|request| request.offset.0).collect::<Vec<_>>()
        };
        assert_eq!(offsets(&Options::default()), [(2 << 20) + 100, 1 << 20, (2 << 20) + 200]);
        assert_eq!(offsets(&Options { devices: Devices::Keep, ..Options::default() }), [100, 1 << 20, 200]);
        assert_eq!(offsets(&Options { device: Some(9), ..Options::default() }), [100, 200]);
    }

    #[test]
    fn requests_without_bytes_are_left_out_and_flushes_stay() {
        let empty = Row { size: 0, ..row(0, 0, 0) };
        let flush = Row { op: Op::Flush, ..empty };
        let (requests, notes) = ordered(vec![empty, flush], &Options::default());
        assert_eq!(requests.iter().map(|request| request.op).collect::<Vec<_>>(), [Op::Flush]);
        assert_eq!(notes, ["1 requests of 0 bytes were left out"]);
    }

    #[test]
    fn a_trace_longer_than_the_clock_is_refused() {
        let options = Options { jump: Duration::LIMIT, ..Options::default() };
        let rows = vec![row(0, 0, 1), row(100 * DAY, 0, 2), row(200 * DAY, 0, 2)];
        let error =
            requests(Path::new("t"), Found { rows, ..Found::default() }, &options).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "t: found times that span 200 days, wanted at most 106 days (see options time_unit and jump)"
        );
    }
}
