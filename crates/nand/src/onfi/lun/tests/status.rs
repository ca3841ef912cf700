use super::*;

fn byte(lun: &mut Lun, now: Instant) -> u8 {
    lun.status(now).byte()
}

fn before(instant: Instant) -> Instant {
    Instant::from_ps(instant.ps() - 1)
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
fn a_failed_program_or_erase_leaves_its_cells_torn() {
    let failures = [(row(0, 0), false), (row(2, 0), true)];
    let failures = failures.map(|(row, erase)| InjectedFailure { row, erase, nth: 1 }).into();
    let mut lun = Lun::new(&part(|_| ()), DieId(0), LunOptions { failures, ..LunOptions::default() });
    let end = put(&mut lun, row(0, 0), 0x0f);
    let end = lun.erase(row(2, 0), false, end).expect("legal").ready_at;
    lun.settle(end);
    assert!(lun.contents().is_torn(row(0, 0)) && lun.contents().is_torn(row(2, 4)));
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
fn a_cache_read_shows_rdy_before_ardy() {
    let mut lun = lun();
    let first = lun.read(row(0, 0), ReadKind::Plain, at(0)).expect("legal");
    assert_eq!([at(0), first.ready_at].map(|now| byte(&mut lun, now)), [0x80, 0xe0]);
    let next = lun.cache_read_next(first.ready_at).expect("legal");
    let seen = [before(next.ready_at), next.ready_at, next.array_ready_at].map(|now| byte(&mut lun, now));
    assert_eq!(seen, [0x80, 0xc0, 0xe0]);
}
