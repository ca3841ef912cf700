//! Random operations, legal and illegal, in every cell mode. `tests/checker` compares what registers and cells
//! hold.

use proptest::prelude::*;

use super::*;

/// The next operation: a kind, a row, a byte and the wait before it.
type Step = (u8, u32, u32, u8, u64);

/// Arbitrary steps, in every cell mode.
fn anything(lun: &mut Lun, now: Instant, (kind, block, page, byte, _): Step) -> Result<(), Limit> {
    let row = row(block, page);
    let copyback = byte % 4 == 0;
    if kind < 20 && byte % 2 == 0 {
        lun.begin_load(row, !copyback);
        lun.load(page * 90, &[byte; 40]);
    }
    match kind {
        0..=7 => lun.program(row, ProgramKind::Start, copyback, now).map(drop),
        8 | 9 => lun.program(row, ProgramKind::Cache, copyback, now).map(drop),
        10 | 11 => lun.program(row, ProgramKind::Queue, copyback, now).map(drop),
        12..=16 => lun.program(row, ProgramKind::Page, copyback, now).map(drop),
        17..=19 => lun.program(row, ProgramKind::Reprogram, copyback, now).map(drop),
        20 | 21 => lun.erase(row, byte % 4 == 0, now).map(drop),
        22 => lun.read(row, ReadKind::Plain, now).map(drop),
        23 => lun.read(row, ReadKind::Queue, now).map(drop),
        24 => lun.read(row, ReadKind::Copyback, now).map(drop),
        25 => lun.read(row, ReadKind::CacheRandom, now).map(drop),
        26 => lun.read(row, ReadKind::Independent, now).map(drop),
        27 => lun.cache_read_next(now).map(drop),
        28 => lun.cache_read_end(now).map(drop),
        29 => lun.suspend(now).map(drop),
        30 => lun.resume(now).map(drop),
        31 if byte < 64 => {
            lun.cut_power(now);
            Ok(())
        }
        31 => {
            lun.reset(now);
            Ok(())
        }
        _ => lun.set_mode([CellMode::Native, CellMode::Slc, CellMode::Mlc][usize::from(byte) % 3]),
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_stretches_of_array_work_do_not_overlap(
        steps in prop::collection::vec((0u8..34, 0u32..5, 0u32..10, any::<u8>(), 0u64..1_200), 1..80),
        (one_shot, fatal, independent) in any::<(bool, bool, bool)>(),
    ) {
        let part = part(|file| {
            file.geometry.bits_per_cell = 3;
            file.geometry.pages_per_block = 9;
            file.geometry.one_shot = one_shot;
            file.geometry.independent_reads = independent;
            file.geometry.page_size = wordline_kernel::Bytes(512);
            file.geometry.spare_size = wordline_kernel::Bytes(16);
            file.geometry.blocks_per_plane = 2;
            file.timing.slc = Some(SLC);
            file.timing.reprogram = Some(REPROGRAM);
        });
        let failures = vec![InjectedFailure { row: row(0, 0), erase: false, nth: 1 }];
        let options = LunOptions { fatal, failures, bad_blocks: vec![3], ..LunOptions::default() };
        let mut lun = Lun::new(&part, DieId(0), options);
        let mut now = Instant::ZERO;
        for given in steps {
            let wait = Duration::from_us(given.4);
            now = if given.4 % 3 == 0 { now + wait } else { now.max(lun.pipeline().ready_at) };
            lun.settle(now);
            let pipeline = *lun.pipeline();
            match anything(&mut lun, now, given) {
                Ok(()) => (),
                Err(limit) => {
                    prop_assert!(fatal || !limit.can_be_ignored(), "{limit} is refused though it is counted");
                    prop_assert_eq!(*lun.pipeline(), pipeline, "{} takes no time", limit);
                }
            }
            prop_assert!(lun.pipeline().ready_at <= lun.pipeline().array_ready_at);
        }
        lun.settle(Instant::MAX);
        let mut spans = lun.spans();
        spans.sort_by_key(|span| span.begin);
        for pair in spans.windows(2).filter(|pair| pair[0].planes & pair[1].planes != 0) {
            prop_assert!(pair[0].end() <= pair[1].begin, "{pair:?}");
        }
    }
}
