//! Does a logical unit complete every access, for any part, options and mix? Is nothing lost or counted
//! twice?

use proptest::collection::vec;
use proptest::prelude::*;
use wordline_kernel::{Bytes, Duration, Instant, Power, Seed};
use wordline_nand::clock::ClockPeriods;
use wordline_nand::interface::BusFile;
use wordline_nand::part::{ArrayTiming, DieGeometry, PartFile, PowerDraw};
use wordline_nand::unit::{Access, SchedulerKind, UnitFile};
use wordline_nand::{Interface, LogicalUnit, Pairing, Part};

/// The raw form of a part.
#[derive(Clone, Debug)]
struct RawPart {
    planes: u32,
    bits: u32,
    one_shot: bool,
    blocks: u32,
    word_lines: u32,
    /// Nanoseconds: sensing, programming, erasing, short busy time between planes, transfer between
    /// registers.
    times: [u64; 5],
    interface: (Interface, u8),
    width: u8,
}

impl RawPart {
    fn part(&self) -> Part {
        let ns = Duration::from_ns;
        let [read, program, erase, plane_busy, turn] = self.times.map(ns);
        let (interface, mode) = self.interface;
        let file = PartFile {
            name: "random".into(),
            source: "chosen: anything".into(),
            geometry: DieGeometry {
                planes: self.planes,
                blocks_per_plane: self.blocks,
                pages_per_block: self.word_lines * self.bits,
                page_size: Bytes(512),
                spare_size: Bytes(0),
                bits_per_cell: self.bits,
                one_shot: self.one_shot,
                pairing: Pairing::WordLine,
                layers: 1,
                registers: 2,
                independent_reads: false,
            },
            timing: ArrayTiming { cache_busy: turn, ..ArrayTiming::new(read, program, erase, plane_busy) },
            bus: BusFile {
                width: (interface == Interface::Sdr).then_some(self.width),
                ..BusFile::new(interface, mode)
            },
            power: PowerDraw::even(Power(1)),
            endurance: 1,
            programs_per_page: None,
            super_layers: Default::default(),
            nominal: None,
            cells: None,
        };
        file.check().expect("the part is sound")
    }
}

fn raw_part() -> impl Strategy<Value = RawPart> {
    let interface = prop_oneof![
        (0u8..6).prop_map(|mode| (Interface::Sdr, mode)),
        Just((Interface::NvDdr3, 15)),
        Just((Interface::NvLpddr4, 1)),
    ];
    let short = prop_oneof![Just(0u64), 0u64..3_000];
    let array = || prop_oneof![Just(1u64), 1u64..200_000];
    let shape = (1u32..=16, 1u32..=5, any::<bool>(), 1u32..4, 1u32..4);
    let times = (array(), array(), array(), short.clone(), short);
    let width = prop_oneof![Just(8u8), Just(16)];
    (shape, times, interface, width).prop_map(|(shape, times, interface, width)| {
        let (planes, bits, one_shot, blocks, word_lines) = shape;
        let times = [times.0, times.1, times.2, times.3, times.4];
        RawPart { planes, bits, one_shot, blocks, word_lines, times, interface, width }
    })
}

fn unit_file() -> impl Strategy<Value = UnitFile> {
    let dies = prop_oneof![Just(1u32), Just(64), 1u32..9];
    let depth = prop_oneof![Just(1u32), 1u32..40];
    let clocks = prop_oneof![Just((None, None)), (1u64..60, 1u64..60).prop_map(|(a, b)| (Some(a), Some(b)))];
    (dies, depth, 0..SchedulerKind::ALL.len(), any::<[bool; 4]>(), clocks).prop_map(
        |(dies, queue_depth, scheduler, flags, (host, nand))| {
            let [multi_plane, cache, shared_enable, read_status] = flags;
            let period = |ns: Option<u64>| ns.map(Duration::from_ns);
            UnitFile {
                queue_depth,
                scheduler: SchedulerKind::ALL[scheduler],
                multi_plane,
                cache,
                shared_enable,
                read_status,
                clocks: ClockPeriods { host: period(host), nand: period(nand) },
                ..UnitFile::legacy(dies)
            }
        },
    )
}

/// An access within `unit`. A copy goes to another stripe in the same die and plane, `rows` stripes further,
/// wrapping around at the end of the unit.
fn access((kind, page, count, rows): (u8, u32, u32, u32), unit: &LogicalUnit) -> Access {
    let (pages, row) = (unit.pages(), unit.shape().dies * unit.shape().planes);
    let page = page % pages;
    let to = (page + rows * row) % pages;
    let count = count.min(pages - if kind == 2 { page.max(to) } else { page });
    match kind {
        0 => Access::Read { page, count },
        1 => Access::Write { page, count },
        2 => Access::Copy { page, to, count },
        _ => Access::Erase { page, count },
    }
}

fn count_of(access: Access) -> u64 {
    match access {
        Access::Read { count, .. }
        | Access::Write { count, .. }
        | Access::Copy { count, .. }
        | Access::Erase { count, .. } => count.into(),
    }
}

proptest! {
    #[test]
    fn every_access_is_answered_and_nothing_is_lost(
        raw in raw_part(),
        file in unit_file(),
        mix in vec((0u8..4, 0u32..200, 0u32..20, 0u32..4), 0..60),
    ) {
        let part = raw.part();
        let mut unit = LogicalUnit::new(&part, &file, Seed(1)).expect("the unit is sound");
        let accesses: Vec<Access> = mix.into_iter().map(|raw| access(raw, &unit)).collect();
        unit.record();
        unit.run(accesses.iter().copied()).expect("limits are counted only");
        let (report, unit_pages) = (unit.report(), u64::from(part.pages_per_program()));
        let pages = |wanted: fn(&Access) -> bool| -> u64 {
            accesses.iter().filter(|access| wanted(access)).map(|access| count_of(*access)).sum()
        };
        let read = pages(|access| matches!(access, Access::Read { .. }));
        let written = pages(|access| matches!(access, Access::Write { .. }));
        let copied = pages(|access| matches!(access, Access::Copy { .. }));
        prop_assert_eq!(report.accesses, accesses.iter().filter(|access| count_of(**access) > 0).count() as u64);
        prop_assert_eq!(report.latency.count(), report.accesses);
        prop_assert_eq!(report.bytes.0, (read + written) * unit.page_size().0);
        // A one-shot part copies by reading and writing. The sense of a copyback does not count as a read.
        let copied_out = if unit_pages > 1 { copied } else { 0 };
        prop_assert_eq!(report.counts.pages_read, (read + copied_out) * unit_pages);
        prop_assert_eq!(report.counts.pages_programmed, (written + copied) * unit_pages);
        let by_kind: u128 = report.stages_by_kind.iter().map(|stages| stages.active_ps()).sum();
        prop_assert_eq!(by_kind, report.stages.active_ps());
        check_spans(&mut unit, file.dies)?;
    }
}

/// Checks that the bus has one user at a time, and each array, too.
fn check_spans(unit: &mut LogicalUnit, dies: u32) -> Result<(), TestCaseError> {
    let spans = unit.take_spans();
    let mut bus = Instant::ZERO;
    let mut arrays = vec![Instant::ZERO; dies as usize];
    for span in spans {
        let until = if span.planes == 0 { &mut bus } else { &mut arrays[span.die.0 as usize] };
        prop_assert!(span.begin >= *until, "{span:?} begins before {until:?}");
        *until = span.end();
    }
    Ok(())
}
