use super::*;

fn byte(lun: &mut Lun, now: Instant) -> u8 {
    lun.status(now).byte()
}

fn before(instant: Instant) -> Instant {
    Instant::from_ps(instant.ps() - 1)
}

fn failing(rows: &[(Row, bool)]) -> Lun {
    let failures = rows.iter().map(|(row, erase)| InjectedFailure { row: *row, erase: *erase, nth: 1 });
    let options = LunOptions { failures: failures.collect(), ..LunOptions::default() };
    Lun::new(&part(|_| ()), DieId(0), options)
}

#[test]
fn status_follows_a_program_from_idle_to_idle() {
    let mut lun = lun();
    assert_eq!(byte(&mut lun, at(0)), 0xe0);
    let end = program(&mut lun, row(0, 0), 0, ProgramKind::Start, at(1)).expect("legal").ready_at;
    assert_eq!([at(1), before(end), end].map(|now| byte(&mut lun, now)), [0x80, 0x80, 0xe0]);
}

#[test]
fn status_shows_the_cache_register_free_while_the_array_works() {
    let mut lun = lun();
    let first = program(&mut lun, row(0, 0), 0, ProgramKind::Cache, at(0)).expect("legal");
    let seen = [before(first.ready_at), first.ready_at, before(first.array_ready_at), first.array_ready_at]
        .map(|now| byte(&mut lun, now));
    assert_eq!(seen, [0x80, 0xc0, 0xc0, 0xe0]);
}

#[test]
fn a_failed_program_shows_until_the_next_operation() {
    let mut lun = failing(&[(row(0, 0), false)]);
    let end = put(&mut lun, row(0, 0), 0x0f);
    assert_eq!([before(end), end].map(|now| byte(&mut lun, now)), [0x80, 0xe1]);
    assert!(lun.contents().is_torn(row(0, 0)));
    let end = put(&mut lun, row(0, 1), 0x0f);
    assert_eq!(byte(&mut lun, end), 0xe0);
}

#[test]
fn a_failed_cache_page_moves_to_failc_when_the_next_page_begins() {
    let mut lun = failing(&[(row(0, 0), false)]);
    let first = program(&mut lun, row(0, 0), 1, ProgramKind::Cache, at(0)).expect("legal");
    let second = program(&mut lun, row(0, 1), 2, ProgramKind::Cache, first.ready_at).expect("legal");
    assert_eq!(byte(&mut lun, before(second.ready_at)), 0x80);
    assert_eq!(byte(&mut lun, second.ready_at), 0xc2);
    assert_eq!(byte(&mut lun, second.array_ready_at), 0xe2);
    let third = program(&mut lun, row(0, 2), 3, ProgramKind::Start, second.array_ready_at).expect("legal");
    assert_eq!(byte(&mut lun, third.ready_at), 0xe0, "two pages later it is forgotten");
}

#[test]
fn the_last_of_two_cache_pages_fails_alone() {
    let mut lun = failing(&[(row(0, 1), false)]);
    let first = program(&mut lun, row(0, 0), 1, ProgramKind::Cache, at(0)).expect("legal");
    let second = program(&mut lun, row(0, 1), 2, ProgramKind::Start, first.ready_at).expect("legal");
    assert_eq!(byte(&mut lun, second.ready_at), 0xe1);
}

#[test]
fn each_plane_shows_its_own_failure() {
    let mut lun = failing(&[(row(1, 0), false), (row(2, 0), true)]);
    let queued = program(&mut lun, row(0, 0), 0, ProgramKind::Queue, at(0)).expect("legal");
    let end = program(&mut lun, row(1, 0), 0, ProgramKind::Start, queued.ready_at).expect("legal").ready_at;
    assert_eq!(lun.status_of(row(0, 0), end).byte(), 0xe0);
    assert_eq!(lun.status_of(row(1, 0), end).byte(), 0xe1);
    assert_eq!(byte(&mut lun, end), 0xe1);
    let queued = lun.erase(row(2, 0), true, end).expect("legal");
    let end = lun.erase(row(3, 0), false, queued.ready_at).expect("legal").ready_at;
    assert_eq!([2, 3].map(|block| lun.status_of(row(block, 0), end).byte()), [0xe1, 0xe0]);
    assert!(lun.contents().is_torn(row(2, 4)), "a failed erase leaves the block undefined");
}

#[test]
fn only_the_nth_program_of_a_page_fails() {
    let failures = vec![InjectedFailure { row: row(0, 0), erase: false, nth: 2 }];
    let options = LunOptions { failures, ..LunOptions::default() };
    let mut lun = Lun::new(&part(|file| file.geometry.bits_per_cell = 1), DieId(0), options);
    let seen = [0; 3].map(|byte_in| {
        let end = put(&mut lun, row(0, 0), byte_in);
        byte(&mut lun, end)
    });
    assert_eq!(seen, [0xe0, 0xe1, 0xe0]);
}

#[test]
fn write_protect_shows_and_refuses() {
    let mut lun = lun();
    put(&mut lun, row(0, 0), 0x21);
    let now = lun.pipeline().ready_at;
    lun.set_write_protect(true);
    assert_eq!(byte(&mut lun, now), 0x60);
    assert_eq!(program(&mut lun, row(0, 1), 0, ProgramKind::Start, now), Err(Limit::WriteProtected));
    assert_eq!(lun.erase(row(0, 0), false, now), Err(Limit::WriteProtected));
    assert_eq!(get(&mut lun, row(0, 0)), 0x21);
    lun.set_write_protect(false);
    put(&mut lun, row(0, 1), 0x22);
}

#[test]
fn a_cache_read_shows_rdy_before_ardy() {
    let mut lun = lun();
    let first = lun.read(row(0, 0), ReadKind::Plain, at(0)).expect("legal");
    assert_eq!([at(0), first.ready_at].map(|now| byte(&mut lun, now)), [0x80, 0xe0]);
    let next = lun.cache_read_next(first.ready_at).expect("legal");
    let seen = [before(next.ready_at), next.ready_at, next.array_ready_at].map(|now| byte(&mut lun, now));
    assert_eq!(seen, [0x80, 0xc0, 0xe0]);
}
