//! Blocks that a design suspends before they are full must keep their data, and the device must never run out
//! of blocks.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::Design;
use wordline_ftl::blocks::State;
use wordline_ftl::config::Scope;
use wordline_ftl::design::{ExtensionPoint, Needs, SuspendedBlocks, View, WriteStream};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::policy::victim::Candidates;
use wordline_ftl::policy::wear::WearKind;
use wordline_kernel::metrics::Value;
use wordline_kernel::{Bytes, Duration, Seed, state};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_nand::{BlockSetId, PlaneGroupId};
use wordline_ssd::{Device, DeviceFile, contract};

use crate::common::sets_aside::Settings;
use crate::common::{Rig, small};

/// Device with enough blocks and over-provisioning for suspended blocks.
fn roomy(settings: Settings) -> DeviceFile {
    let mut file = small();
    let streams = 2 * u32::from(settings.streams);
    let open = streams * u32::from(settings.open_blocks);
    file.part.geometry.blocks_per_plane = 32 + 2 * (open + streams * u32::from(settings.limit));
    file.ftl.over_provisioning = 0.55;
    let start = 3 + u32::from(settings.streams);
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (start, start + 1);
    file
}

/// Gives a device TLC chips with one-shot programs.
fn of_three_bits(mut file: DeviceFile) -> DeviceFile {
    let geometry = &mut file.part.geometry;
    (geometry.bits_per_cell, geometry.one_shot, geometry.pages_per_block) = (3, true, 24);
    file.buffer.size = Bytes::kib(128);
    file
}

fn rig(file: &DeviceFile, settings: Settings) -> Rig {
    Rig::with(file, settings.design(), 1).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// The device with the smallest over-provisioning that passes the check with this design, to a thousandth.
fn tight(file: &DeviceFile, settings: Settings) -> DeviceFile {
    let with = |thousandths: u32| {
        let mut file = file.clone();
        file.ftl.over_provisioning = f64::from(thousandths) / 1_000.0;
        file
    };
    let is_taken = |file: DeviceFile| Rig::with(&file, settings.design(), 1).is_ok();
    let (mut refused, mut taken) = (0, (file.ftl.over_provisioning * 1_000.0) as u32);
    while taken - refused > 1 {
        let middle = u32::midpoint(refused, taken);
        if is_taken(with(middle)) { taken = middle } else { refused = middle }
    }
    with(taken)
}

/// Value of a count metric since a mark.
fn counted(rig: &Rig, mark: &<Device as BlockDevice>::Mark, name: &str) -> u64 {
    match rig.device.metrics(mark, rig.calendar_now()).get(name) {
        Some(Value::Count(count)) => count,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_design_that_suspends_blocks_at_random_keeps_the_contract() {
    let all = |settings: Settings| contract::check(&roomy(settings), move |_| settings.design());
    all(Settings::suspending(1));
    all(Settings { chances: [10, 30, 30], ..Settings::suspending(4) });
    // Suspended blocks are resumed or collected only if there is no other block.
    all(Settings { chances: [100, 0, 0], ..Settings::suspending(3) });
    all(Settings { open_blocks: 3, ..Settings::suspending(2) });
    all(Settings { streams: 3, chances: [30, 60, 30], ..Settings::suspending(2) });
}

#[test]
fn so_it_does_on_other_devices() {
    let settings = Settings { chances: [30, 60, 30], ..Settings::suspending(2) };
    contract::check(&of_three_bits(roomy(settings)), |_| settings.design());
    let mut cached = roomy(settings);
    cached.ftl.mapping.cache = Some(Bytes::kib(16));
    (cached.ftl.gc.start_below_free_blocks, cached.ftl.gc.stop_at_free_blocks) = (5, 6);
    contract::check(&cached, |_| settings.design());
    let mut levelled = roomy(settings);
    levelled.ftl.wear.levelling = WearKind::Bet { k: 0, threshold: 3 };
    contract::check(&levelled, |_| settings.design());
    let mut pools = crate::common::two_pools(16_384);
    for part in [&mut pools.part].into_iter().chain(pools.pools.iter_mut().map(|pool| &mut pool.part)) {
        part.geometry.blocks_per_plane = 48;
    }
    pools.ftl.over_provisioning = 0.75;
    let both = Settings { pools: 2, ..settings };
    contract::check(&pools, |_| both.design());
}

#[test]
fn blocks_in_slc_mode_are_suspended_too() {
    let settings = Settings { streams: 2, slc: true, chances: [40, 60, 30], ..Settings::suspending(2) };
    let mut file = contract::small_with_slc();
    file.part.geometry.blocks_per_plane = 56;
    file.ftl.slc_cache.as_mut().expect("it has one").blocks = 8;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (5, 6);
    contract::check(&file, |_| settings.design());
    let several = Settings { open_blocks: 2, ..settings };
    file.ftl.slc_cache.as_mut().expect("it has one").spare = 0.5;
    contract::check(&file, |_| several.design());
}

#[test]
fn blocks_of_which_word_lines_are_programmed_again_are_suspended_too() {
    let settings = Settings { streams: 2, again: 2, chances: [40, 60, 30], ..Settings::suspending(3) };
    let mut file = contract::small_with_two_bits();
    file.part.geometry.blocks_per_plane = 64;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (5, 6);
    contract::check(&file, |_| settings.design());
    // Full blocks are suspended too, and stay suspended.
    let all = Settings { chances: [100, 0, 0], ..settings };
    contract::check(&file, |_| all.design());
}

#[test]
fn relocated_pages_share_programs_with_host_pages() {
    let settings = Settings { streams: 2, again: 2, chances: [80, 50, 10], ..Settings::suspending(2) };
    let mut file = contract::small_with_two_bits();
    file.part.geometry.blocks_per_plane = 64;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (5, 6);
    let mut rig = rig(&file, settings);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(3).stream("test.overwrite", 0);
    for n in 0..20_000 {
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, random.below(pages.min(200)) * 8, 8);
        if n % 500 == 0 {
            rig.audit();
        }
    }
    let moved = rig.device.totals().unit_programs;
    assert!(moved > 100, "{moved} pages");
    for page in 0..pages.min(200) {
        rig.alone(Operation::Read, false, page * 8, 8);
    }
}

#[test]
fn a_full_device_with_the_least_spare_space_never_runs_dry() {
    let never = [[100, 0, 0], [100, 5, 0], [30, 60, 0], [30, 30, 50]];
    for (limit, chances) in [1, 4].into_iter().flat_map(|limit| never.map(|chances| (limit, chances))) {
        for one_shot in [false, true] {
            let settings = Settings { chances, ..Settings::suspending(limit) };
            let roomy = roomy(settings);
            let file = tight(&if one_shot { of_three_bits(roomy) } else { roomy }, settings);
            let mut rig = rig(&file, settings);
            rig.device.fill(1.0);
            let mark = rig.device.mark(rig.calendar_now());
            let pages = u64::from(rig.device.config().ftl.logical_pages);
            let mut random = Seed(3).stream("test.overwrite", 0);
            for n in 0..8 * pages {
                rig.run_down_to(15);
                rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
                if n % 2_000 == 0 {
                    rig.audit();
                }
            }
            rig.run_down_to(0);
            rig.audit();
            assert!(rig.device.invalid_decision().is_none(), "{:?}", rig.device.invalid_decision());
            assert!(rig.completions.iter().all(|(_, completion)| !completion.failed), "{settings:?}");
            assert!(counted(&rig, &mark, "sets_aside.suspended") > 0, "{settings:?}");
            assert_eq!(counted(&rig, &mark, "sets_aside.resumed") > 0, chances[1] > 0, "{settings:?}");
            assert_eq!(counted(&rig, &mark, "sets_aside.victims") > 0, chances[2] > 0, "{settings:?}");
        }
    }
}

#[test]
fn a_steady_state_is_reached_as_without_suspended_blocks() {
    for chances in [[100, 0, 0], [15, 50, 20]] {
        let settings = Settings { chances, ..Settings::suspending(3) };
        let file = tight(&roomy(settings), settings);
        let mut rig = rig(&file, settings);
        rig.device.fill_steady(Seed(1));
        rig.audit();
        rig.overwrite(3_000);
    }
}

#[test]
fn a_device_that_wears_out_refuses_writes_and_still_reads() {
    let settings = Settings { chances: [30, 40, 30], ..Settings::suspending(2) };
    let mut file = roomy(settings);
    file.part.endurance = 6;
    file.faults = vec![FaultFile { every: Some(60), ..FaultFile::new(Fails::Program) }];
    let mut rig = rig(&file, settings);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(3).stream("test.overwrite", 0);
    for n in 0..60 * pages {
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
        if n % 2_000 == 0 {
            rig.audit();
        }
        if rig.device.is_read_only() {
            break;
        }
    }
    rig.run_down_to(0);
    rig.audit();
    assert!(rig.device.is_read_only(), "it came to its end");
    rig.alone(Operation::Read, false, 0, pages * 8);
    assert!(!rig.completions.last().expect("it was answered").1.failed);
}

#[test]
fn suspended_blocks_need_spare_space() {
    let settings = Settings::suspending(4);
    let mut file = roomy(settings);
    file.part.geometry.blocks_per_plane = 24;
    file.ftl.over_provisioning = 0.4;
    let wrong = Rig::with(&file, settings.design(), 1).err().expect("8 more blocks are active");
    let wanted = "15 are active or reserved or suspended, 8 of them suspended by designs at the most";
    assert!(wrong.contains("ftl.over_provisioning") && wrong.contains(wanted), "{wrong}");
    file.ftl.over_provisioning = 0.65;
    assert!(Rig::with(&file, settings.design(), 1).is_ok());
    file.ftl.gc.scope = Scope::SuperBlock;
    let wrong = Rig::with(&file, settings.design(), 1).err().expect("super blocks are written together");
    assert!(wrong.contains("ftl.gc.scope") && wrong.contains("suspends blocks"), "{wrong}");
}

/// Overwrites whole pages. Returns the invalid decision of the design.
fn invalid_decision(completions: Wrong) -> String {
    let file = roomy(Settings::suspending(1));
    let mut rig = Rig::with(&file, Box::new(completions), 1).unwrap_or_else(|wrong| panic!("{wrong}"));
    for n in 0..20_000 {
        rig.submit(Operation::Write, false, n * 7919 % 500 * 8, 8);
        while rig.device.outstanding() > 3 && rig.device.invalid_decision().is_none() {
            let event = rig.calendar.advance().expect("writes are under way");
            rig.device.handle(event, &mut rig.calendar);
        }
        rig.take_completions();
        if let Some(wrong) = rig.device.invalid_decision() {
            return wrong.to_string();
        }
    }
    panic!("it was not asked");
}

/// Invalid decisions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Suspends,
    Resumes,
    Cleans,
}

state!(
    enum Wrong {
        Suspends,
        Resumes,
        Cleans,
    }
);

impl Design for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn needs(&self) -> Needs {
        let streams = vec![WriteStream::native("one", 0).suspending(1)];
        Needs {
            streams,
            ..Needs::of(&[ExtensionPoint::Stream, ExtensionPoint::Frontier, ExtensionPoint::Victim])
        }
    }

    fn stream(&mut self, _: &HostPage<'_>, _: u8, _: &mut View<'_>) -> u8 {
        0
    }

    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        _: &SuspendedBlocks<'_>,
        _: &mut View<'_>,
    ) -> Option<BlockSetId> {
        let written = open.iter().find(|one| one.written > 0).map(|one| one.block);
        if *self == Self::Suspends { Some(BlockSetId(u32::MAX)) } else { written }
    }

    fn select_to_resume(&mut self, suspended: &SuspendedBlocks<'_>, _: &mut View<'_>) -> Option<BlockSetId> {
        let other = suspended.iter().next().map(|one| BlockSetId(one.block.0 + 1));
        if *self == Self::Resumes { other } else { None }
    }

    fn victim(&mut self, from: Candidates<'_>, _: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
        let open = view.pools().all_blocks().find(|block| view.block(*block).state == State::Open);
        if *self == Self::Cleans { open } else { from.fewest_valid() }
    }
}

#[test]
fn an_invalid_decision_is_reported() {
    let wrong = invalid_decision(Wrong::Suspends);
    assert!(wrong.contains("`frontier`") && wrong.contains("wanted an open block of the stream"), "{wrong}");
    let wrong = invalid_decision(Wrong::Resumes);
    assert!(
        wrong.contains("`frontier`") && wrong.contains("wanted a suspended block of the stream"),
        "{wrong}"
    );
    let wrong = invalid_decision(Wrong::Cleans);
    assert!(wrong.contains("`victim`") && wrong.contains("a suspended block, or none"), "{wrong}");
}

#[test]
fn the_device_of_a_design_that_cannot_suspend_is_refused() {
    struct Silent;
    state!(Silent {});
    impl Design for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }
        fn needs(&self) -> Needs {
            Needs {
                streams: vec![WriteStream::native("one", 0).suspending(1)],
                ..Needs::of(&[ExtensionPoint::Stream])
            }
        }
    }
    let wrong = Rig::with(&small(), Box::new(Silent), 1).err().expect("it does not say which blocks");
    assert!(wrong.contains("a design that decides `frontier`"), "{wrong}");
}

/// A power loss at every event of a small run: flushed data must be there, and the device must continue.
#[test]
fn a_cut_after_any_event_loses_nothing_that_was_flushed() {
    let settings = Settings { chances: [40, 40, 20], ..Settings::suspending(2) };
    let mut file = roomy(settings);
    file.layout.channels = 1;
    file.layout.dies_per_package = 1;
    let (mut cut_with_suspended, mut after) = (0, 0);
    loop {
        let mut rig = rig(&file, settings);
        rig.device.fill(1.0);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        let mut random = Seed(5).stream("test.cut", 0);
        for _ in 0..3 * pages {
            rig.run_down_to(7);
            rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
        }
        rig.alone(Operation::Flush, false, 0, 0);
        let flushed: Vec<_> = (0..pages as u32).map(|page| rig.device.version(LogicalPage(page))).collect();
        for _ in 0..24 {
            rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
        }
        for _ in 0..after {
            let Some(event) = rig.calendar.advance() else { break };
            rig.device.handle(event, &mut rig.calendar);
        }
        let is_over = rig.calendar.pending().is_empty();
        rig.take_completions();
        let suspended = |rig: &Rig| {
            let blocks = &rig.device.ftl().blocks;
            blocks
                .pools()
                .all_blocks()
                .filter(|block| blocks.table().state(*block) == State::Suspended)
                .count()
        };
        cut_with_suspended += usize::from(suspended(&rig) > 0);
        rig.cut_power();
        rig.audit();
        for (page, before) in (0..).zip(&flushed) {
            let found = rig.device.version(LogicalPage(page));
            assert!(found >= *before, "after {after} events page {page} has {found:?}, not {before:?}");
        }
        rig.wait_until_ready();
        for _ in 0..pages {
            rig.run_down_to(7);
            rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
        }
        rig.rest(Duration::from_ms(10));
        rig.run_down_to(0);
        rig.audit();
        if is_over || after >= 80 {
            break;
        }
        after += 1;
    }
    assert!(cut_with_suspended > 20, "{cut_with_suspended} of {after} cuts met a suspended block");
}
