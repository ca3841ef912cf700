//! Host and GC streams that a design declares with a cell mode.

use wordline_device::Operation;
use wordline_ftl::Policies;
use wordline_ftl::config::{FreeSpace, SlcCacheFile, TwoBitFile};
use wordline_ftl::design::OpenedBy;
use wordline_ftl::design::{
    Combination, DeviceEvent, EventMask, ExtensionPoint, Needs, ProgramSource, View, WriteStream,
};
use wordline_ftl::policy::relocator::RelocatedPage;
use wordline_ftl::policy::router::{HostPage, RouterKind};
use wordline_ftl::pools::PoolFile;
use wordline_ftl::{Config, Design};
use wordline_kernel::{Bytes, Calendar, Duration, Seed, state};
use wordline_nand::CellMode;
use wordline_ssd::{Device, DeviceFile, contract};

use crate::common::Rig;

/// Design that sends the pages below a number to blocks in another mode: host writes, relocated pages, or
/// both.
struct Sorts {
    name: &'static str,
    below: u32,
    streams: Vec<WriteStream>,
    of_collector: Vec<WriteStream>,
    /// GC programs in blocks in the other mode.
    moved_there: u64,
}

state!(Sorts { values { moved_there } fixed { name, below, streams, of_collector } });

fn stream(mode: CellMode, pool: u8) -> WriteStream {
    WriteStream { mode, ..WriteStream::native(if mode == CellMode::Native { "high" } else { "low" }, pool) }
}

/// Streams of the first pool: a native one, and one in `mode`.
fn native_and(mode: CellMode) -> Vec<WriteStream> {
    vec![stream(CellMode::Native, 0), stream(mode, 0)]
}

fn both() -> Vec<WriteStream> {
    native_and(CellMode::Slc)
}

impl Sorts {
    fn new(streams: Vec<WriteStream>, of_collector: Vec<WriteStream>) -> Self {
        Self { name: "sorts", below: 100, streams, of_collector, moved_there: 0 }
    }

    /// Design with GC streams only.
    fn moved() -> Self {
        Self::new(Vec::new(), both())
    }
}

impl Design for Sorts {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> Needs {
        let seams = [(&self.streams, ExtensionPoint::Stream), (&self.of_collector, ExtensionPoint::Relocate)];
        let completions: Vec<ExtensionPoint> =
            seams.into_iter().filter(|(named, _)| !named.is_empty()).map(|(_, seam)| seam).collect();
        Needs {
            observes: EventMask::PROGRAMMED,
            streams: self.streams.clone(),
            gc_streams: self.of_collector.clone(),
            ..Needs::of(&completions)
        }
    }

    fn stream(&mut self, written: &HostPage<'_>, pool: u8, _: &mut View<'_>) -> u8 {
        let has_both = self.streams.iter().filter(|stream| stream.pool == pool).count() > 1;
        u8::from(has_both && written.logical < self.below)
    }

    fn relocate(&mut self, page: &RelocatedPage, pool: u8, _: &mut View<'_>) -> u8 {
        let has_both = self.of_collector.iter().filter(|stream| stream.pool == pool).count() > 1;
        u8::from(has_both && page.logical < self.below)
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        if let DeviceEvent::Programmed { first, of: ProgramSource::Gc, .. } = *seen {
            let block = view.block(view.pools().block_of(first));
            self.moved_there += u64::from(block.mode != CellMode::Native);
            assert!(
                block.mode == CellMode::Native || block.opened_by == OpenedBy::Gc(1),
                "a block in another mode is of that stream"
            );
        }
    }

    fn measure(&self) -> Vec<(&'static wordline_kernel::Metric, wordline_kernel::metrics::Value)> {
        vec![(&MOVED, self.moved_there.into())]
    }
}

static MOVED: wordline_kernel::Metric = wordline_kernel::Metric::new(
    "sorts.moved",
    wordline_kernel::metrics::Unit::Count,
    "Programs of the collector in another mode than the native one.",
);

pub fn rig(file: &DeviceFile, design: impl Fn(&Config) -> Box<dyn Design>) -> Rig {
    let config = file.clone().check().expect("the device is sound");
    let policies = Policies::of(&config.ftl).with_designs(Combination::of(vec![design(&config.ftl)]));
    let config = config.check_policies(&policies).unwrap_or_else(|wrong| panic!("{wrong}"));
    Rig::of(Device::with(config, policies, Seed(1)), Calendar::new())
}

/// Writes each page once, then random pages.
fn overwrite(rig: &mut Rig, writes: u64) {
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for page in 0..pages {
        rig.run_down_to(7);
        rig.submit(Operation::Write, false, page * 8, 8);
    }
    crate::designs::overwrite(rig, writes);
    rig.settle();
    rig.audit();
}

#[test]
fn pages_relocated_there_are_in_slc_mode_while_the_share_of_the_group_lasts() {
    let mut rig = rig(&contract::small_with_slc(), |_| Box::new(Sorts::moved()));
    overwrite(&mut rig, 6_000);
    let cached = rig.device.ftl().blocks.by_pool().blocks_in(CellMode::Slc);
    assert!(cached > 0 && cached <= 4 * 3, "{cached} blocks of four rows that spare three each");
    assert_eq!(rig.device.totals().slc_programs, 0, "the host's go to blocks of all bits");
    assert!(rig.device.totals().folded > 0, "such blocks are cleaned again");
}

#[test]
fn a_read_of_a_page_that_was_relocated_there_takes_the_time_of_the_mode() {
    let mut rig = rig(&contract::small_with_slc(), |_| Box::new(Sorts::moved()));
    overwrite(&mut rig, 6_000);
    let times: Vec<Duration> = (0..100).map(|page| rig.alone(Operation::Read, false, page * 8, 8)).collect();
    let (least, most) = (times.iter().min().expect("some"), times.iter().max().expect("some"));
    let saved = most.ps() - least.ps();
    // The time of a row address differs by a bus cycle.
    assert!((5_000_000..5_200_000).contains(&saved), "25 us of the part, 20 us in SLC mode: {saved} ps");
}

fn sorts(streams: bool, of_collector: bool) -> impl Fn(&Config) -> Box<dyn Design> {
    let named = |are: bool| if are { both() } else { Vec::new() };
    move |_| Box::new(Sorts::new(named(streams), named(of_collector)))
}

#[test]
#[should_panic(expected = "contract::small_with_slc() has an SLC mode")]
fn the_contract_names_a_device_with_an_slc_mode_where_the_streams_need_one() {
    contract::check(&contract::small(), sorts(false, true));
}

#[test]
fn streams_in_slc_mode_keep_the_contract() {
    contract::check(&contract::small_with_slc(), sorts(false, true));
    contract::check(&contract::small_with_slc(), sorts(true, true));
    contract::check(&contract::small_with_slc(), sorts(true, false));
}

#[test]
fn streams_in_slc_mode_keep_the_contract_where_room_is_short() {
    let mut file = contract::small_with_slc();
    file.ftl.slc_cache = Some(SlcCacheFile { blocks: 1, spare: 0.5, size: None, fold_above: Some(1) });
    file.ftl.over_provisioning = 0.36;
    contract::check(&file, sorts(false, true));
    contract::check(&file, sorts(true, true));
}

/// Device with a native first pool, and a second pool of the same chips with other modes. Small writes go to
/// the second pool.
fn two_pools() -> DeviceFile {
    let mut file = contract::small_with_slc();
    let mut part = file.part.clone();
    part.geometry.blocks_per_plane = 32;
    file.ftl.mapping.whole_units = true;
    file.ftl.router = RouterKind::BySize { least: Bytes::kib(16) };
    file.ftl.over_provisioning = 0.8;
    file.pools = vec![PoolFile {
        start_below_free_blocks: Some(5),
        stop_at_free_blocks: Some(6),
        slc_cache: file.ftl.slc_cache.take(),
        ..PoolFile::new(part, file.layout)
    }];
    file
}

/// Design with a native stream and a stream in SLC mode in the second pool.
fn in_second(streams: bool, of_collector: bool) -> impl Fn(&Config) -> Box<dyn Design> {
    let both = vec![stream(CellMode::Native, 1), stream(CellMode::Slc, 1)];
    let first = std::iter::once(stream(CellMode::Native, 0));
    let of_host: Vec<WriteStream> = if streams { first.chain(both.clone()).collect() } else { Vec::new() };
    let of_collector = if of_collector { both } else { Vec::new() };
    move |_| Box::new(Sorts::new(of_host.clone(), of_collector.clone()))
}

#[test]
fn a_stream_in_slc_mode_of_another_pool_than_the_first_keeps_the_contract() {
    for (streams, of_collector) in [(false, true), (true, true), (true, false)] {
        contract::check(&two_pools(), in_second(streams, of_collector));
    }
}

#[test]
fn blocks_of_the_second_pool_are_in_slc_mode_where_a_design_has_its_stream_there() {
    let mut rig = rig(&two_pools(), in_second(true, true));
    overwrite(&mut rig, 6_000);
    let cached = rig.device.ftl().blocks.by_pool().blocks_in(CellMode::Slc);
    assert!(cached > 0 && cached <= 4 * 3, "{cached} blocks of four rows that spare three each");
    assert!(rig.device.totals().slc_programs > 0 && rig.device.totals().folded > 0);
    let checked = |file: &DeviceFile| {
        let config = file.clone().check().expect("the device is sound");
        let designs = Combination::of(vec![in_second(true, true)(&config.ftl)]);
        config.check_policies(&Policies::of(&config.ftl).with_designs(designs)).map(drop)
    };
    let mut without = two_pools();
    without.pools[0].slc_cache = None;
    let wrong = checked(&without).expect_err("no block is for the stream").to_string();
    assert!(wrong.contains("pools[0].slc_cache: found nothing, wanted the number of blocks"), "{wrong}");
}

#[test]
fn more_streams_than_a_device_supports_are_refused() {
    let many = |pool: u8, count: usize| Sorts::new(vec![stream(CellMode::Native, pool); count], Vec::new());
    let mut file = two_pools();
    file.pools[0].slc_cache = None;
    let config = file.check().expect("the device is sound");
    // One design for each pool. The design of the second pool decides only for that pool.
    let both = |first, second| {
        let other: Box<dyn Design> = Box::new(Sorts { name: "others", ..many(1, second) });
        let of_first: Box<dyn Design> = Box::new(many(0, first));
        let designs = Combination::of(vec![of_first]).and(other).in_pool(1, &["others".to_owned()]);
        config.check_policies(&Policies::of(&config.ftl).with_designs(designs)).map(drop)
    };
    let wrong = both(16, 16).expect_err("32 and one of tables").to_string();
    assert!(
        wrong.contains("designs: found 32 host streams in all pools together, wanted at most 31"),
        "{wrong}"
    );
}

#[test]
fn a_stream_in_slc_mode_wants_blocks_for_it_and_a_native_one_beside_it() {
    let refused = |file: &DeviceFile, design: Sorts| {
        let config = file.clone().check().expect("the device is sound");
        let policies = Policies::of(&config.ftl).with_designs(Combination::of(vec![Box::new(design)]));
        config.check_policies(&policies).map(drop).expect_err("it does not fit").to_string()
    };
    let mut without = contract::small_with_slc();
    without.ftl.slc_cache = None;
    let wrong = refused(&without, Sorts::moved());
    assert!(wrong.contains("ftl.slc_cache: found nothing, wanted the SLC cache that"), "{wrong}");
    let mut late = contract::small_with_slc();
    late.ftl.gc.stop_at_free_blocks = 4;
    let wrong = refused(&late, Sorts::moved());
    assert!(wrong.contains("ftl.gc.stop_at_free_blocks: found 4, wanted at least 5: GC opens"), "{wrong}");
    let first = vec![stream(CellMode::Slc, 0), stream(CellMode::Native, 0)];
    let wrong = refused(&contract::small_with_slc(), Sorts::new(Vec::new(), first));
    assert!(wrong.contains("sorts with the stream low in SLC mode as the first"), "{wrong}");
    let elsewhere = vec![stream(CellMode::Native, 0), stream(CellMode::Slc, 1)];
    let wrong = refused(&contract::small_with_slc(), Sorts::new(Vec::new(), elsewhere));
    assert!(wrong.contains("the stream low in pool 1, wanted pools from 0 to 0"), "{wrong}");
}

#[test]
fn two_streams_of_the_host_in_one_mode_keep_the_contract() {
    let of_host = |mode| vec![stream(mode, 0), stream(mode, 0)];
    for (file, mode) in
        [(contract::small_with_slc(), CellMode::Slc), (contract::small_with_two_bits(), CellMode::Mlc)]
    {
        contract::check(&file, |_| Box::new(Sorts::new(of_host(mode), native_and(mode))));
    }
}

fn sorts_two_bits(streams: bool, of_collector: bool) -> impl Fn(&Config) -> Box<dyn Design> {
    let named = |are: bool| if are { native_and(CellMode::Mlc) } else { Vec::new() };
    move |_| Box::new(Sorts::new(named(streams), named(of_collector)))
}

#[test]
fn a_stream_in_the_two_bit_mode_opens_blocks_of_two_pages_a_word_line() {
    let mut rig = rig(&contract::small_with_two_bits(), sorts_two_bits(true, true));
    let mut most = 0;
    for _ in 0..8 {
        overwrite(&mut rig, 500);
        let ftl = rig.device.ftl();
        let chips = ftl.flash.chips();
        for block in ftl.blocks.pools().all_blocks() {
            assert_eq!(
                chips.mode(block),
                ftl.blocks.table().mode(block),
                "the chips and the table agree on {block:?}"
            );
            if chips.mode(block) == CellMode::Mlc {
                most = most.max(chips.programmed(block));
            }
        }
    }
    assert_eq!(most, 8 * 2 * 2, "eight word lines of two pages in two planes");
    assert!(rig.device.totals().two_bit_programs > 0);
}

#[test]
fn streams_in_the_two_bit_mode_keep_the_contract() {
    for (streams, of_collector) in [(false, true), (true, true), (true, false)] {
        contract::check(&contract::small_with_two_bits(), sorts_two_bits(streams, of_collector));
    }
}

/// SSDSim's count of free pages ignores that a block in MLC mode has a third fewer. The device must still
/// keep the last free blocks for GC.
#[test]
fn a_count_of_programs_runs_ahead_of_the_flash_and_leaves_gc_its_blocks() {
    let file = |free_space| {
        let mut file = contract::small_with_two_bits();
        (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (6, 6);
        file.ftl.gc.free_space = free_space;
        file
    };
    let erases = |free_space| {
        let mut rig = rig(&file(free_space), sorts_two_bits(true, false));
        overwrite(&mut rig, 2_000);
        let blocks = &rig.device.ftl().blocks;
        let rows = || blocks.pools().all_groups();
        let ahead = |row| blocks.room_to_collector(row) > u64::from(blocks.room_of(row));
        assert_eq!(rows().any(ahead), free_space == FreeSpace::Programs);
        assert!(
            rows().all(|row| blocks.space().free(row) >= blocks.space().kept(row)),
            "they are kept for GC"
        );
        let fewest = rows().map(|row| blocks.space().free(row)).min().expect("there are rows");
        (rig.device.totals().erases, fewest)
    };
    let (by_blocks, by_programs) = (erases(FreeSpace::Blocks), erases(FreeSpace::Programs));
    assert!(by_programs.0 < by_blocks.0 && by_programs.1 < by_blocks.1, "{by_programs:?} {by_blocks:?}");
    contract::check(&file(FreeSpace::Programs), sorts_two_bits(true, true));
}

#[test]
fn a_part_may_have_streams_in_both_modes() {
    let mut file = contract::small_with_two_bits();
    let slc = contract::small_with_slc();
    (file.part.timing.slc, file.ftl.slc_cache) = (slc.part.timing.slc, slc.ftl.slc_cache);
    file.ftl.over_provisioning = 0.6;
    let of_host = || vec![stream(CellMode::Mlc, 0), stream(CellMode::Slc, 0)];
    contract::check(&file, |_| Box::new(Sorts::new(of_host(), native_and(CellMode::Mlc))));
    let mut rig = rig(&file, |_| Box::new(Sorts::new(of_host(), Vec::new())));
    overwrite(&mut rig, 3_000);
    let totals = rig.device.totals();
    assert!(totals.slc_programs > 0 && totals.two_bit_programs > 0, "{totals:?}");
}

#[test]
fn a_stream_in_a_mode_that_its_part_lacks_is_refused() {
    let refused = |file: &DeviceFile, mode| {
        let config = file.clone().check().expect("the device is sound");
        let design: Box<dyn Design> = Box::new(Sorts::new(native_and(mode), Vec::new()));
        let policies = Policies::of(&config.ftl).with_designs(Combination::of(vec![design]));
        config.check_policies(&policies).map(drop).expect_err("it does not fit").to_string()
    };
    let wrong = refused(&contract::small(), CellMode::Mlc);
    assert!(wrong.contains("ftl.two_bit: found nothing, wanted the number of blocks"), "{wrong}");
    let mut file = contract::small();
    file.ftl.two_bit = contract::small_with_two_bits().ftl.two_bit;
    let wrong = file.check().map(drop).expect_err("its cells hold one bit").to_string();
    assert!(
        wrong.contains("ftl.two_bit: found the part small, wanted a one-shot part of three bits"),
        "{wrong}"
    );
}

#[test]
fn more_blocks_with_two_bits_than_spare_ones_make_up_for_are_refused() {
    let wrong = |two_bit| {
        let mut file = contract::small_with_two_bits();
        file.ftl.two_bit = Some(two_bit);
        file.check().map(drop).expect_err("it is too many").to_string()
    };
    let spare = wrong(TwoBitFile { blocks: 2, spare: Some(3.5) });
    assert!(spare.contains("ftl.two_bit.spare: found 3.5, wanted from 0 to 3"), "{spare}");
    let blocks = wrong(TwoBitFile { blocks: 24, spare: Some(0.0) });
    assert!(blocks.contains("ftl.two_bit.blocks: found 24, wanted fewer than the 24 blocks"), "{blocks}");
}
