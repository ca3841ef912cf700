//! Are rows sorted by time, and across clock jumps, with only a window of rows?

use proptest::prelude::*;

use super::super::Op;
use super::*;

const S: i128 = 1_000_000_000_000;
const DAY: i128 = 86_400 * S;

fn row(time: i128, offset: u64) -> Row {
    Row::new(time, Op::Read, 0, offset, 512).expect("in range")
}

struct Sorted {
    rows: Vec<Row>,
    notes: Vec<String>,
    disorder: (u64, i128),
}

impl Sorted {
    fn ms(&self) -> Vec<i128> {
        self.rows.iter().map(|row| row.time / 1_000_000_000).collect()
    }

    fn offsets(&self) -> Vec<u64> {
        self.rows.iter().map(|row| row.offset).collect()
    }
}

fn sorted_by(rows: &[Row], window: usize, jump: Duration) -> Result<Sorted, OrderError> {
    let mut sorter = Sorter::new(window, jump);
    let mut out = Vec::new();
    for row in rows {
        if sorter.is_full() {
            out.extend(sorter.pop(None));
        }
        sorter.push(*row)?;
    }
    out.extend(std::iter::from_fn(|| sorter.pop(None)));
    assert_eq!(sorter.held, 0);
    Ok(Sorted { rows: out, notes: sorter.notes(), disorder: sorter.disorder() })
}

fn sorted(rows: &[Row]) -> Sorted {
    sorted_by(rows, 1 << 16, Duration::from_ms(10 * 86_400_000)).expect("the window holds all of it")
}

#[test]
fn an_unsorted_trace_is_sorted_stably_from_zero() {
    let sorted = sorted(&[row(7 * S, 1), row(5 * S, 2), row(7 * S, 3), row(6 * S, 4)]);
    assert_eq!(sorted.ms(), [0, 1000, 2000, 2000]);
    assert_eq!(sorted.offsets(), [2, 4, 1, 3]);
    assert_eq!(sorted.disorder, (2, 2 * S));
}

#[test]
fn a_clock_set_forward_is_closed_to_a_millisecond() {
    let sorted = sorted(&[row(S, 1), row(2 * S, 2), row(20_000 * DAY, 3), row(20_000 * DAY + S, 4)]);
    assert_eq!(sorted.ms(), [0, 1000, 1001, 2001]);
    assert_eq!(sorted.notes[0], "the clock jumps by 1727999998 s at request 3 of the file");
    assert_eq!(sorted.notes[1], "jumps of the clock were closed to 1 ms");
}

#[test]
fn a_clock_set_backward_keeps_the_order_of_the_file() {
    let sorted = sorted(&[row(100 * DAY, 1), row(100 * DAY + S, 2), row(0, 3), row(S, 4)]);
    assert_eq!(sorted.offsets(), [1, 2, 3, 4]);
    assert_eq!(sorted.ms(), [0, 1000, 1001, 2001]);
}

#[test]
fn a_single_request_across_a_jump_is_left_out_of_a_long_trace_only() {
    let long: Vec<Row> = (0..1_000).map(|n| row(n * S, 0)).chain([row(9_000 * DAY, 7)]).collect();
    let sorted_long = sorted(&long);
    assert_eq!(sorted_long.rows.len(), 1_000);
    assert!(sorted_long.notes.iter().any(|note| note.starts_with("1 single requests across")));
    assert_eq!(sorted(&[row(0, 0), row(9_000 * DAY, 7)]).rows.len(), 2);
}

#[test]
fn a_week_without_requests_is_no_jump_unless_the_option_says_so() {
    let rows = [row(0, 1), row(7 * DAY, 2)];
    assert_eq!(sorted(&rows).ms(), [0, 7 * 86_400_000]);
    let short = sorted_by(&rows, 1_000, Duration::from_ms(1_000)).expect("in order");
    assert_eq!(short.ms(), [0, 1]);
}

#[test]
fn two_stretches_are_one_where_a_later_row_lies_between_them() {
    let sorted = sorted(&[row(18 * DAY, 1), row(0, 2), row(9 * DAY, 3)]);
    assert_eq!((sorted.offsets(), sorted.notes.len()), (vec![2, 3, 1], 0));
}

#[test]
fn a_row_that_stands_farther_behind_than_the_window_holds_is_refused() {
    let jump = Duration::from_ms(10 * 86_400_000);
    let late = |behind: i128| {
        let rows: Vec<Row> = (1..=behind).map(|n| row(n * S, 0)).chain([row(0, 7)]).collect();
        sorted_by(&rows, 1_000, jump).map(|sorted| sorted.offsets()[0])
    };
    assert_eq!(late(999), Ok(7));
    assert_eq!(late(1_500), Err(OrderError::TooLate(501 * S)));
}

#[test]
fn a_clock_that_jumps_all_the_time_is_told_ten_times_and_takes_no_longer() {
    let rows: Vec<Row> = (0..20_000).map(|n| row((n % 2) * 20_000 * DAY + n / 2 * 11 * DAY, 0)).collect();
    let sorted = sorted_by(&rows, 1_000, Duration::from_ms(10 * 86_400_000)).expect("each is on its own");
    assert!(sorted.notes.len() <= MAX_JUMP_NOTES + 3, "{:?}", sorted.notes);
}

proptest! {
    #[test]
    fn what_a_window_holds_comes_out_as_a_stable_sort_would_give_it(
        steps in prop::collection::vec(0_i128..50, 1..300),
        swaps in prop::collection::vec((0_usize..300, 0_usize..20), 0..60),
    ) {
        let mut time = 0;
        let mut rows: Vec<Row> = (0..).zip(&steps).map(|(n, step)| { time += step; row(time, n) }).collect();
        for (at, by) in swaps {
            let (one, other) = (at % rows.len(), (at + by) % rows.len());
            rows.swap(one, other);
        }
        let mut wanted = rows.clone();
        wanted.sort_by_key(|row| row.time);
        let first = wanted[0].time;
        wanted.iter_mut().for_each(|row| row.time -= first);
        let sorted = sorted_by(&rows, 400, Duration::from_ms(1)).expect("the window holds all of it");
        let pairs = |rows: &[Row]| rows.iter().map(|row| (row.time, row.offset)).collect::<Vec<_>>();
        prop_assert_eq!(pairs(&sorted.rows), pairs(&wanted));
    }
}
