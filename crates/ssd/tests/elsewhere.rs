//! Relocated pages that a design sends to another pool.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::Design;
use wordline_ftl::Policies;
use wordline_ftl::design::{Combination, ExtensionPoint, Needs, View, WriteStream};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::relocator::{MigrationTarget, RelocatedPage};
use wordline_ftl::policy::router::RouterKind;
use wordline_kernel::{Bytes, Calendar, Seed, state};
use wordline_ssd::{Device, DeviceFile, contract};

use crate::common::{self, Rig};

/// Sends one in `every` pages of a pool's victims to another pool.
#[derive(Clone, Copy)]
struct Sends {
    every: u32,
    /// Target of the pages of each pool.
    to: [Option<MigrationTarget>; 2],
}

state!(Sends { fixed { every, to } });

impl Design for Sends {
    fn name(&self) -> &'static str {
        "sends"
    }

    fn needs(&self) -> Needs {
        let gc_streams = vec![WriteStream::native("stays", 0), WriteStream::native("stays", 1)];
        Needs { gc_streams, ..Needs::of(&[ExtensionPoint::Relocate]) }
    }

    fn migration_target(
        &mut self,
        page: &RelocatedPage,
        pool: u8,
        _: &mut View<'_>,
    ) -> Option<MigrationTarget> {
        self.to[usize::from(pool)].filter(|_| page.logical.is_multiple_of(self.every))
    }
}

const FIRST: MigrationTarget = MigrationTarget { pool: 0, stream: 0 };
const SECOND: MigrationTarget = MigrationTarget { pool: 1, stream: 0 };

/// Two page-mapped pools. Host writes of at least `least` bytes go to the first pool. The second pool has
/// `blocks` blocks in each plane.
fn two_pools(least: u64, blocks: u32) -> DeviceFile {
    let mut file = common::two_pools(least);
    file.pools[0].part.geometry.blocks_per_plane = blocks;
    file
}

fn rig(file: &DeviceFile, design: Sends) -> Rig {
    let config = file.clone().check().expect("the device is sound");
    let policies = Policies::of(&config.ftl).with_designs(Combination::of(vec![Box::new(design)]));
    let config = config.check_policies(&policies).expect("the design goes with it");
    Rig::of(Device::with(config, policies, Seed(1)), Calendar::new())
}

fn overwrite(rig: &mut Rig, writes: u64) {
    rig.overwrite_pieces(writes, "test.elsewhere", 6);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    rig.alone(Operation::Read, false, 0, pages * 8);
}

/// Logical pages in the second pool.
fn in_second(rig: &Rig) -> Vec<u32> {
    let pools = &rig.device.config().ftl.pools;
    let is_there = |page: &u32| {
        let at = rig.device.map().get(LogicalPage(*page));
        at.is_some_and(|at| pools.number_of_group(pools.group_of(at)) == 1)
    };
    (0..rig.device.config().ftl.logical_pages).filter(is_there).collect()
}

#[test]
fn pages_that_a_design_names_leave_the_pool_of_their_victim() {
    let mut rig = rig(&two_pools(0, 24), Sends { every: 3, to: [Some(SECOND), None] });
    overwrite(&mut rig, 5_000);
    let (there, totals) = (in_second(&rig), rig.device.totals());
    assert!(there.len() > 50, "{} pages in the second pool", there.len());
    assert!(there.iter().all(|page| page.is_multiple_of(3)));
    // The host writes nothing to the second pool, so all its program units are of migrated pages, two in each
    // program.
    let sent = totals.unit_programs;
    assert!(sent >= there.len() as u64 && sent.is_multiple_of(2), "{sent} pages were sent");
    assert!(totals.gc_programs > 0, "the others stay");
}

#[test]
fn pages_without_room_in_the_other_pool_stay() {
    let mut rig = rig(&two_pools(0, 6), Sends { every: 1, to: [Some(SECOND), None] });
    overwrite(&mut rig, 5_000);
    let there = in_second(&rig).len();
    // Four plane groups of six blocks of 32 pages. Three of the six blocks are active.
    assert!((1..=4 * 3 * 32).contains(&there), "{there} pages in the second pool");
    assert!(rig.device.totals().gc_programs > 0, "the others stay");
    assert!(!rig.device.is_read_only());
}

#[test]
fn pools_that_send_pages_to_each_other_keep_their_promises() {
    for (least, blocks) in [(8_192, 24), (0, 8)] {
        let design = Sends { every: 2, to: [Some(SECOND), Some(FIRST)] };
        contract::check(&two_pools(least, blocks), |_| Box::new(design));
    }
}

#[test]
fn a_pool_that_pages_cannot_go_to_alone_is_named() {
    let mut whole = two_pools(0, 24);
    whole.ftl.mapping.whole_units = true;
    whole.ftl.router = RouterKind::BySize { least: Bytes(1 << 20) };
    let third = MigrationTarget { pool: 2, stream: 0 };
    let no_stream = MigrationTarget { stream: 1, ..SECOND };
    for (file, to, found) in [
        (two_pools(0, 24), [Some(FIRST), None], "stream 0 of pool 0"),
        (two_pools(0, 24), [Some(third), None], "stream 0 of pool 2"),
        (two_pools(0, 24), [Some(no_stream), None], "stream 1 of pool 1"),
        (whole, [None, Some(FIRST)], "stream 0 of pool 0"),
    ] {
        let mut rig = rig(&file, Sends { every: 1, to });
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        for n in 0..20_000 {
            if rig.device.invalid_decision().is_some() {
                break;
            }
            rig.submit(Operation::Write, true, n * 7919 % pages * 8, 8);
            while rig.device.outstanding() > 0 && rig.device.invalid_decision().is_none() {
                let event = rig.calendar.advance().expect("something happens");
                rig.device.handle(event, &mut rig.calendar);
            }
            rig.take_completions();
        }
        let wrong = rig.device.invalid_decision().unwrap_or_else(|| panic!("{found} is answered"));
        assert_eq!((wrong.seam, wrong.decision.as_str()), (ExtensionPoint::Relocate.name(), found));
        assert!(wrong.allowed.contains("another pool, which is mapped by page"), "{wrong}");
        rig.audit();
    }
}

/// Design that decides `relocate` without declaring a GC stream.
struct Undeclared;

state!(Undeclared {});

impl Design for Undeclared {
    fn name(&self) -> &'static str {
        "undeclared"
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Relocate])
    }

    fn relocate(&mut self, page: &RelocatedPage, _: u8, _: &mut View<'_>) -> u8 {
        u8::from(page.relocated_by.is_some())
    }
}

#[test]
fn a_design_that_decides_relocate_without_a_stream_is_refused_before_the_run() {
    let config = two_pools(0, 24).check().expect("the device is sound");
    let designs = Combination::of(vec![Box::new(Undeclared)]);
    let policies = Policies::of(&config.ftl).with_designs(designs);
    let wrong = config.check_policies(&policies).map(drop).expect_err("no stream");
    assert_eq!(
        wrong.to_string(),
        "designs: found undeclared without a GC stream, wanted a design that decides `relocate` to declare its streams in \
         `Needs::gc_streams`, a native one first"
    );
}
