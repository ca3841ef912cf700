//! Write streams that a design names with a cell mode: of the host, and of the collector.

mod common;

use common::{Rig, small};
use wordline_kernel::{Calendar, Duration, Seed, state};
use wordline_nand::CellMode;
use wordline_nand::part::SlcTiming;
use wordline_ssd::config::SlcCacheFile;
use wordline_ssd::design::{Combination, Needs, Observes, Seam, Seen, View, WriteStream, Writes};
use wordline_ssd::policy::relocator::Leaving;
use wordline_ssd::policy::router::Outgoing;
use wordline_ssd::{Config, Design, Device, DeviceFile, Operation, Parts, contract};

/// Sends the pages below a number to blocks in SLC mode: what the host writes of them, what is moved, or both.
struct Sorts {
    below: u32,
    streams: Vec<WriteStream>,
    of_collector: Vec<WriteStream>,
    /// Programs of the collector in blocks in SLC mode.
    moved_there: u64,
}

state!(Sorts { values { moved_there } fixed { below, streams, of_collector } });

fn stream(mode: CellMode, pool: u8) -> WriteStream {
    WriteStream { name: if mode == CellMode::Slc { "low" } else { "high" }, pool, mode }
}

/// A native stream and one in SLC mode, of the first pool.
fn both() -> Vec<WriteStream> {
    vec![stream(CellMode::Native, 0), stream(CellMode::Slc, 0)]
}

impl Sorts {
    fn new(streams: Vec<WriteStream>, of_collector: Vec<WriteStream>) -> Self {
        Self { below: 100, streams, of_collector, moved_there: 0 }
    }

    /// Those of the collector alone.
    fn moved() -> Self {
        Self::new(Vec::new(), both())
    }
}

impl Design for Sorts {
    fn name(&self) -> &'static str {
        "sorts"
    }

    fn needs(&self) -> Needs {
        let seams = [(&self.streams, Seam::Stream), (&self.of_collector, Seam::Relocate)];
        let answers: Vec<Seam> =
            seams.into_iter().filter(|(named, _)| !named.is_empty()).map(|(_, seam)| seam).collect();
        Needs {
            observes: Observes::PROGRAMMED,
            streams: self.streams.clone(),
            collector_streams: self.of_collector.clone(),
            ..Needs::of(&answers)
        }
    }

    fn stream(&mut self, written: &Outgoing<'_>, _: u8, _: &mut View<'_>) -> u8 {
        u8::from(written.logical < self.below)
    }

    fn relocate(&mut self, page: &Leaving, _: &mut View<'_>) -> u8 {
        u8::from(page.logical < self.below)
    }

    fn observe(&mut self, seen: &Seen<'_>, view: &mut View<'_>) {
        if let Seen::Programmed { first, of: Writes::Collector, .. } = *seen {
            let block = view.block(view.pools().block_of(first));
            self.moved_there += u64::from(block.is_slc);
            assert!(!block.is_slc || block.moved_by == Some(1), "a block in SLC mode is of that stream");
        }
    }

    fn measure(&self) -> Vec<(&'static wordline_kernel::Metric, wordline_kernel::metrics::Value)> {
        vec![(&MOVED, self.moved_there.into())]
    }
}

static MOVED: wordline_kernel::Metric = wordline_kernel::Metric::new(
    "sorts.moved",
    wordline_kernel::metrics::Unit::Count,
    "Programs of the collector in SLC mode.",
);

/// A one-shot part of three bits a cell with an SLC mode, of which three blocks of each row are for it.
fn tlc() -> DeviceFile {
    let us = Duration::from_us;
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (3, true);
    file.part.timing.program = vec![us(900).into()];
    file.part.timing.slc = Some(SlcTiming { read: us(20), program: us(100), erase: us(1_000) });
    file.part.geometry.pages_per_block = 24;
    file.ftl.over_provisioning = 0.5;
    let gc = &mut file.ftl.gc;
    (gc.start_below_free_blocks, gc.stop_at_free_blocks) = (4, 5);
    file.ftl.slc_cache = Some(SlcCacheFile { blocks: 3, ..SlcCacheFile::default() });
    file
}

fn rig(file: &DeviceFile, design: Sorts) -> Rig {
    let config = file.clone().check().expect("the device is sound");
    let parts = Parts { designs: Combination::of(vec![Box::new(design)]), ..Parts::of(&config) };
    let config = parts.check(&config).unwrap_or_else(|wrong| panic!("{wrong}"));
    Rig::of(Device::with(config, parts, Seed(1)), Calendar::new())
}

/// Writes each page once, then pages at random.
fn overwrite(rig: &mut Rig, writes: u64) {
    let pages = u64::from(rig.device.config().logical_pages);
    let mut random = Seed(7).stream("test.writes", 0);
    for n in 0..pages + writes {
        rig.run_down_to(7);
        let page = if n < pages { n } else { random.below(pages) };
        rig.submit(Operation::Write, false, page * 8, 8);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    rig.settle();
    rig.audit();
}

#[test]
fn what_a_design_relocates_there_is_in_slc_mode_while_the_share_of_the_row_lasts() {
    let mut rig = rig(&tlc(), Sorts::moved());
    overwrite(&mut rig, 6_000);
    let cached = rig.device.base().space.cached_blocks();
    assert!(cached > 0 && cached <= 4 * 3, "{cached} blocks of four rows that spare three each");
    assert_eq!(rig.device.totals().slc_programs, 0, "the host's go to blocks of all bits");
    assert!(rig.device.totals().folded > 0, "such blocks are cleaned again");
}

#[test]
fn a_read_of_a_page_that_was_relocated_there_takes_the_time_of_the_mode() {
    let mut rig = rig(&tlc(), Sorts::moved());
    overwrite(&mut rig, 6_000);
    let times: Vec<Duration> = (0..100).map(|page| rig.alone(Operation::Read, false, page * 8, 8)).collect();
    let (least, most) = (times.iter().min().expect("some"), times.iter().max().expect("some"));
    let saved = most.ps() - least.ps();
    // How long the address of a row takes differs by a cycle.
    assert!((5_000_000..5_200_000).contains(&saved), "25 us of the part, 20 us in SLC mode: {saved} ps");
}

fn sorts(streams: bool, of_collector: bool) -> impl Fn(&Config) -> Box<dyn Design> {
    let named = |are: bool| if are { both() } else { Vec::new() };
    move |_| Box::new(Sorts::new(named(streams), named(of_collector)))
}

#[test]
fn streams_in_slc_mode_keep_the_contract() {
    contract::check(&tlc(), sorts(false, true));
    contract::check(&tlc(), sorts(true, true));
    contract::check(&tlc(), sorts(true, false));
}

#[test]
fn streams_in_slc_mode_keep_the_contract_where_room_is_short() {
    let mut file = tlc();
    file.ftl.slc_cache = Some(SlcCacheFile { blocks: 1, spare: 0.5, fold_above: Some(1) });
    file.ftl.over_provisioning = 0.36;
    contract::check(&file, sorts(false, true));
    contract::check(&file, sorts(true, true));
}

#[test]
fn a_stream_in_slc_mode_wants_blocks_for_it_in_the_first_pool_and_a_native_one_beside_it() {
    let refused = |file: &DeviceFile, design: Sorts| {
        let config = file.clone().check().expect("the device is sound");
        let parts = Parts { designs: Combination::of(vec![Box::new(design)]), ..Parts::of(&config) };
        parts.check(&config).map(drop).expect_err("it does not fit").to_string()
    };
    let mut without = tlc();
    without.ftl.slc_cache = None;
    let wrong = refused(&without, Sorts::moved());
    assert!(wrong.contains("ftl.slc_cache: found nothing, wanted the settings of the cache that"), "{wrong}");
    let mut late = tlc();
    late.ftl.gc.stop_at_free_blocks = 4;
    let wrong = refused(&late, Sorts::moved());
    assert!(
        wrong.contains("ftl.gc.stop_at_free_blocks: found 4, wanted at least 5: the collector opens"),
        "{wrong}"
    );
    let first = vec![stream(CellMode::Slc, 0), stream(CellMode::Native, 0)];
    let wrong = refused(&tlc(), Sorts::new(Vec::new(), first));
    assert!(wrong.contains("sorts with the stream low in SLC mode as the first of the collector"), "{wrong}");
    let elsewhere = vec![stream(CellMode::Native, 0), stream(CellMode::Slc, 1)];
    let wrong = refused(&tlc(), Sorts::new(Vec::new(), elsewhere));
    assert!(wrong.contains("the stream low in SLC mode in pool 1"), "{wrong}");
    let twice = vec![stream(CellMode::Slc, 0), stream(CellMode::Slc, 0)];
    let wrong = refused(&tlc(), Sorts::new(twice, both()));
    assert!(wrong.contains("sorts with 2 streams of the host in SLC mode"), "{wrong}");
}
