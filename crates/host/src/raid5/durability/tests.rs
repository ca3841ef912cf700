use super::super::layout::Layout;
use super::*;

/// Four members with 300 rows, and a log of 32 sectors on each member. The parity of the first row is on the
/// last member.
fn durability() -> Durability {
    let striping = Striping { layout: Layout::LeftSymmetric, members: 4, chunk: 8, block: 8, chunks: 300 };
    Durability::new(striping, 32, true)
}

fn none() -> BTreeSet<u64> {
    BTreeSet::new()
}

fn flush(of: &mut Durability, open: &[u64]) {
    of.start_flush(&open.iter().copied().collect(), &none());
    of.end_flush(false);
}

/// Cuts the power. Returns the rows whose parity may be wrong after the cut.
fn cut(of: &mut Durability) -> Vec<u64> {
    let before = of.rows.wrong();
    let in_doubt = of.cut(std::iter::empty()).in_doubt;
    let next = |row: &u64| of.rows.next_dirty(row + 1);
    let rows: Vec<u64> = std::iter::successors(of.rows.next_dirty(0), next).collect();
    assert_eq!(before + in_doubt, rows.len() as u64, "each row counts once");
    rows
}

#[test]
fn a_flush_covers_what_was_written_before_it_began() {
    let mut of = durability();
    [3, 64, 299].iter().for_each(|row| of.note_write_start(*row, false));
    of.start_flush(&none(), &none());
    of.note_write_start(64, false);
    of.end_flush(false);
    assert_eq!(cut(&mut of), [64]);
    of.rows.is_right(64);
    assert_eq!(of.rows.wrong(), 0);
    assert!(cut(&mut of).is_empty());
}

#[test]
fn a_flush_that_fails_moves_nothing_and_the_next_covers_what_it_left() {
    let mut of = durability();
    of.note_write_start(3, false);
    of.start_flush(&none(), &none());
    of.note_write_start(5, false);
    of.end_flush(true);
    let mut other = of.clone();
    assert_eq!(cut(&mut other), [3, 5]);
    of.start_flush(&none(), &none());
    of.note_write_start(100, false);
    of.end_flush(false);
    assert_eq!(cut(&mut of), [100]);
}

#[test]
fn a_row_that_is_being_written_when_a_flush_begins_is_not_covered() {
    let mut of = durability();
    [3, 64].iter().for_each(|row| of.note_write_start(*row, false));
    flush(&mut of, &[64, 65]);
    let mut other = of.clone();
    assert_eq!(cut(&mut other), [64], "65 was not written");
    flush(&mut of, &[]);
    assert!(cut(&mut of).is_empty());
}

#[test]
fn a_flush_does_not_make_discards_durable() {
    let mut of = durability();
    of.discard(9);
    flush(&mut of, &[]);
    of.note_write_start(9, false);
    flush(&mut of, &[]);
    assert_eq!(cut(&mut of), [9]);
    of.rows.is_right(9);
    assert!(cut(&mut of).is_empty());
}

#[test]
fn rows_stay_what_they_are_over_more_flushes_than_a_byte_has_numbers() {
    let mut of = durability();
    of.note_write_start(1, false);
    flush(&mut of, &[]);
    of.discard(9);
    of.note_write_start(2, false);
    for _ in 0..1000 {
        of.start_flush(&BTreeSet::from([2]), &none());
        of.note_write_start(3, false);
        of.end_flush(true);
        flush(&mut of, &[2, 3]);
        let mut other = of.clone();
        assert_eq!(cut(&mut other), [2, 3, 9]);
    }
    flush(&mut of, &[]);
    assert_eq!(cut(&mut of), [9]);
    assert_eq!(of.check_loaded(), Ok(()));
}

#[test]
fn an_area_is_full_until_a_flush_covers_its_rows() {
    let mut of = durability();
    // The parity of rows 0, 4 and 8 is on one member.
    assert_eq!((of.write_in_log(0, 0b001), of.allocate_log(0, 16)), (None, Some(0)));
    assert_eq!((of.write_in_log(1, 0b001), of.allocate_log(1, 16)), (None, Some(0)), "another area");
    assert_eq!((of.write_in_log(0, 0b100), of.allocate_log(0, 16)), (Some(0b001), Some(16)));
    assert_eq!((of.write_in_log(4, 0b001), of.allocate_log(4, 16)), (None, None));
    let open = BTreeSet::from([1, 4]);
    assert!(of.log.can_free_space(&open, &none()));
    flush(&mut of, &[1, 4]);
    assert_eq!((of.log.modified(0), of.log.modified(1)), (None, Some(0b001)));
    assert_eq!((of.allocate_log(4, 16), of.allocate_log(4, 24)), (Some(0), None));
    assert!(!of.log.can_free_space(&open, &none()) && of.log.can_free_space(&open, &open));
    of.start_flush(&open, &open);
    of.end_flush(false);
    assert_eq!(of.log.modified(4), Some(0b001), "a row that waits for room keeps its entry");
    assert_eq!((of.allocate_log(4, 32), of.allocate_log(1, 32)), (Some(0), Some(0)));
    assert_eq!(of.check_loaded(), Ok(()));
}

#[test]
fn log_space_after_a_wrap_is_free_only_where_no_entry_is_needed() {
    let mut of = durability();
    let log = |of: &mut Durability, row, sectors| {
        of.write_in_log(row, 0b001);
        of.note_write_start(row, false);
        of.allocate_log(row, sectors)
    };
    assert_eq!((log(&mut of, 0, 12), log(&mut of, 4, 12)), (Some(0), Some(12)));
    flush(&mut of, &[4]);
    assert_eq!(log(&mut of, 8, 12), Some(0), "the rest of 8 sectors is too small");
    assert_eq!(log(&mut of, 12, 8), None, "the entry of row 4 is needed");
    flush(&mut of, &[]);
    assert_eq!(log(&mut of, 12, 8), Some(12));
}

#[test]
fn a_row_that_is_written_beside_a_flush_keeps_its_entry() {
    let mut of = durability();
    assert_eq!((of.write_in_log(0, 0b001), of.allocate_log(0, 16)), (None, Some(0)));
    of.start_flush(&none(), &none());
    assert_eq!(of.write_in_log(0, 0b100), Some(0b001));
    of.end_flush(false);
    assert_eq!(of.log.modified(0), Some(0b101));
    assert!(cut(&mut of).is_empty(), "nothing was written yet");
    assert!(!of.log.has(0), "a row that is not in doubt needs no entry");
}

#[test]
fn a_discard_is_taken_back_by_a_power_cut_until_its_sectors_are_written_and_flushed() {
    let mut of = durability();
    of.lost.add(7, 1, 0b1111);
    of.discard(7);
    assert_eq!(of.lost.count(), 0);
    of.written(7, 1, 0b0011, false);
    flush(&mut of, &[]);
    cut(&mut of);
    assert_eq!(of.lost.of(7, 1), 0b1100);
}

#[test]
fn lost_sectors_are_lost_until_they_are_written_and_flushed() {
    let mut of = durability();
    assert_eq!((of.lost.add(7, 1, 0b1100), of.lost.add(7, 1, 0b0110)), (2, 1));
    let lost = &of.lost;
    assert!(lost.touches(1, &(7 * 8 + 3..7 * 8 + 4), 8) && !lost.touches(1, &(7 * 8 + 4..8 * 8 + 8), 8));
    assert!(!lost.touches(0, &(0..1000), 8));
    of.written(7, 1, 0b0110, false);
    of.start_flush(&none(), &none());
    of.written(7, 1, 0b1000, false);
    assert_eq!(of.lost.count(), 0);
    of.end_flush(false);
    cut(&mut of);
    assert_eq!(of.lost.of(7, 1), 0b1000, "its write was not flushed");
}

#[test]
fn a_rebuild_goes_on_from_the_rows_that_a_flush_of_its_device_covered() {
    let mut of = durability();
    let rebuild = Task::Rebuild { member: 1 };
    assert!(of.held.fail(1) && !of.held.fail(1));
    of.held.replace(1);
    [0, 2, 1, 4].iter().for_each(|row| of.note_row_synced(rebuild, *row));
    assert_eq!([2, 3, 4, 5].map(|row| of.held.missing(row)), [0, 0b10, 0, 0b10]);
    of.start_flush(&none(), &none());
    of.note_row_synced(rebuild, 3);
    of.end_flush(false);
    let mut other = of.clone();
    cut(&mut other);
    assert_eq!(other.next_sync(), Some((rebuild, 3)));
    // The device is replaced again while a flush is in progress.
    of.start_flush(&none(), &none());
    assert!(of.held.fail(1));
    of.held.replace(1);
    of.end_flush(false);
    cut(&mut of);
    assert_eq!(of.next_sync(), Some((rebuild, 0)));
    of.held.rebuilt(2, false);
    assert_eq!(of.held.incomplete(), 0b10, "another member");
    of.held.rebuilt(1, false);
    assert_eq!((of.next_sync(), of.held.incomplete()), (None, 0));
}

#[test]
fn what_a_missing_member_held_of_a_row_in_doubt_is_lost() {
    let mut of = durability();
    assert!(of.held.fail(0));
    [0, 1].iter().for_each(|row| of.note_write_start(*row, false));
    // A row without its parity member is consistent.
    assert_eq!(of.striping.parity(3), 0);
    assert_eq!(of.cut([3].into_iter()), CutOutcome { in_doubt: 3, lost: 16 });
    assert_eq!([0, 1, 3].map(|row| of.lost.of(row, 0)), [0xff, 0xff, 0]);
    assert_eq!(of.rows.wrong(), 0);
}

#[test]
fn the_log_gives_no_parity_of_a_row_without_a_block_that_was_written() {
    let replays = |written: MemberSet| {
        let mut of = durability();
        assert!(of.held.fail(0));
        of.note_write_start(0, false);
        assert_eq!((of.write_in_log(0, written), of.allocate_log(0, 16)), (None, Some(0)));
        let lost = of.cut(std::iter::empty()).lost;
        (of.log.replays(0), lost)
    };
    assert_eq!(replays(0b110), (0b110, 0), "the missing block was left alone");
    assert_eq!(replays(0b111), (0, 8), "the missing block was written");
}
