//! Work that a design requests: GC collects the block or relocates the pages at once, checks the request, and
//! keeps the free blocks that it needs itself.

use std::sync::{Arc, Mutex};

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::Policies;
use wordline_ftl::blocks::State;
use wordline_ftl::config::Scope;
use wordline_ftl::design::{Combination, DeviceEvent, EventMask, ExtensionPoint, Maintenance, Needs, View};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::{Bytes, state};
use wordline_nand::{BlockSetId, Location, PlaneGroupId};
use wordline_ssd::{DeviceFile, contract};

use crate::common::{Rig, small};
use crate::designs::rig;

/// Design that requests what a test put in its list, after a host read.
#[derive(Clone, Default)]
struct Requests {
    list: Arc<Mutex<Vec<Maintenance>>>,
    /// Number of queries.
    queries: Arc<Mutex<u32>>,
}

state!(Requests { fixed { list, queries } });

impl Design for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::READ, ..Needs::of(&[ExtensionPoint::Maintain]) }
    }

    fn maintenance(&mut self, _: &mut View<'_>) -> Option<Maintenance> {
        *self.queries.lock().expect("nobody panicked") += 1;
        self.list.lock().expect("nobody panicked").pop()
    }
}

impl Requests {
    fn rig(&self, file: &DeviceFile) -> Rig {
        rig(file, Combination::of(vec![Box::new(self.clone())]))
    }

    /// Requests this work, and triggers the query by a read.
    fn make(&self, request: Maintenance, rig: &mut Rig) {
        self.list.lock().expect("nobody panicked").push(request);
        rig.alone(Operation::Read, false, 0, 8);
        rig.settle();
    }
}

/// Blocks of a device in a state.
fn blocks_in(state: State, rig: &Rig) -> Vec<BlockSetId> {
    let table = rig.device.ftl().blocks.table();
    let all = (0..rig.device.config().ftl.pools.block_sets()).map(BlockSetId);
    all.filter(|block| table.state(*block) == state).collect()
}

/// Writes each page of a device once, in order.
fn fill(rig: &mut Rig) {
    for page in 0..u64::from(rig.device.config().ftl.logical_pages) {
        rig.run_down_to(7);
        rig.submit(Operation::Write, false, page * 8, 8);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    rig.settle();
}

/// Logical pages that are valid in a block.
fn pages_in(block: BlockSetId, rig: &Rig) -> Vec<LogicalPage> {
    let (device, pools) = (&rig.device, &rig.device.config().ftl.pools);
    let all = (0..device.config().ftl.logical_pages).map(LogicalPage);
    all.filter(|page| device.map().get(*page).is_some_and(|at| pools.block_of(at) == block)).collect()
}

#[test]
fn a_requested_block_is_collected_although_all_its_pages_are_valid() {
    let design = Requests::default();
    let mut rig = design.rig(&small());
    fill(&mut rig);
    let block = blocks_in(State::Closed, &rig)[3];
    let (pages, before) = (pages_in(block, &rig), rig.device.totals().clone());
    let valid = rig.device.ftl().blocks.table().valid(block);
    assert!(valid == rig.device.config().ftl.pools.per_block(block) && pages.len() == valid as usize);
    assert_eq!((before.erases, before.gc_programs), (0, 0), "nothing else is collected");
    design.make(Maintenance::Block(block), &mut rig);
    let after = rig.device.totals().clone();
    assert_eq!(after.gc_programs, u64::from(valid));
    assert_eq!((after.erases, rig.device.chips().erases()[block]), (1, 1));
    assert_eq!(after.gc_victim_valid_pages, u64::from(valid), "a requested block counts as a victim");
    assert_eq!(rig.device.ftl().blocks.table().state(block), State::Free);
    assert!(pages.iter().all(|page| rig.device.version_in_flash(*page) == Some(1)));
    rig.audit();
}

#[test]
fn a_requested_block_with_few_valid_pages_is_finished_with_padding() {
    let design = Requests::default();
    let mut rig = design.rig(&small());
    fill(&mut rig);
    let block = blocks_in(State::Closed, &rig)[0];
    let pages = pages_in(block, &rig);
    // All pages but one are discarded.
    pages[1..].iter().for_each(|page| _ = rig.alone(Operation::Discard, false, u64::from(page.0) * 8, 8));
    rig.settle();
    let before = rig.device.totals().clone();
    design.make(Maintenance::Block(block), &mut rig);
    let after = rig.device.totals().clone();
    let unit = rig.device.config().ftl.pools.per_program(PlaneGroupId(0));
    assert_eq!((after.gc_programs - before.gc_programs, after.erases - before.erases), (1, 1));
    assert_eq!(after.padding - before.padding, u64::from(unit - 1));
    rig.audit();
}

#[test]
fn requested_pages_are_relocated_and_no_others() {
    let design = Requests::default();
    let mut rig = design.rig(&small());
    fill(&mut rig);
    let closed = blocks_in(State::Closed, &rig);
    let pages: Vec<LogicalPage> =
        [closed[0], closed[5]].iter().flat_map(|block| pages_in(*block, &rig).into_iter().take(3)).collect();
    let all = (0..rig.device.config().ftl.logical_pages).map(LogicalPage);
    let before: Vec<_> = all.clone().map(|page| rig.device.map().get(page)).collect();
    // A page that was named twice moves once.
    design.make(Maintenance::Pages([&pages[..], &pages[..2]].concat()), &mut rig);
    let moved: Vec<LogicalPage> =
        all.filter(|page| rig.device.map().get(*page) != before[page.0 as usize]).collect();
    let mut wanted = pages.clone();
    wanted.sort_unstable();
    assert_eq!(moved, wanted);
    let totals = rig.device.totals();
    assert_eq!((totals.gc_programs, totals.erases), (6, 0));
    let table = rig.device.ftl().blocks.table();
    for block in [closed[0], closed[5]] {
        assert_eq!(table.state(block), State::Closed);
        assert_eq!(table.valid(block), rig.device.config().ftl.pools.per_block(block) - 3);
    }
    rig.audit();
}

#[test]
fn pages_in_open_blocks_are_relocated_and_pages_without_data_in_flash_are_left_out() {
    let design = Requests::default();
    let mut rig = design.rig(&small());
    for page in 0..20 {
        rig.alone(Operation::Write, false, page * 8, 8);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    assert!(blocks_in(State::Closed, &rig).is_empty());
    rig.alone(Operation::Discard, false, 19 * 8, 8);
    design.make(Maintenance::Pages((19..100).map(LogicalPage).collect()), &mut rig);
    design.make(Maintenance::Pages(Vec::new()), &mut rig);
    assert_eq!(rig.device.totals().gc_reads, 0);
    design.make(Maintenance::Pages((0..100).map(LogicalPage).collect()), &mut rig);
    assert_eq!(rig.device.totals().gc_programs, 19);
    assert!(rig.device.invalid_decision().is_none());
    rig.audit();
}

#[test]
fn requests_that_are_not_allowed_are_invalid_decisions() {
    let wrong = |request: fn(&Rig) -> Maintenance| {
        let design = Requests::default();
        let mut rig = design.rig(&small());
        fill(&mut rig);
        // Opens a block.
        rig.alone(Operation::Write, true, 0, 8);
        let request = request(&rig);
        design.list.lock().expect("nobody panicked").push(request);
        rig.submit(Operation::Read, false, 0, 8);
        rig.audit();
        rig.device.invalid_decision().expect("it is not allowed").to_string()
    };
    let start = "the design requests made an invalid decision for `maintain`: found ";
    let allowed = "wanted a block that is closed, or suspended without a program in progress";
    let nowhere = wrong(|_| Maintenance::Block(BlockSetId(u32::MAX)));
    assert!(
        nowhere.starts_with(start) && nowhere.ends_with(&format!("which is none, {allowed}")),
        "{nowhere}"
    );
    let open = wrong(|rig| Maintenance::Block(blocks_in(State::Open, rig)[0]));
    assert!(open.starts_with(start) && open.ends_with(&format!("which is Open, {allowed}")), "{open}");
    let free = wrong(|rig| Maintenance::Block(blocks_in(State::Free, rig)[0]));
    assert!(free.contains("which is Free"), "{free}");
    let beyond = wrong(|rig| {
        let pages = rig.device.config().ftl.logical_pages;
        Maintenance::Pages(vec![LogicalPage(0), LogicalPage(pages)])
    });
    let pages = small().check().expect("the device is sound").ftl.logical_pages;
    assert_eq!(beyond, format!("{start}logical page {pages}, wanted pages from 0 to {}", pages - 1));
}

#[test]
fn a_design_is_queried_after_its_events_only_and_until_it_has_no_request() {
    let design = Requests::default();
    let mut rig = design.rig(&small());
    fill(&mut rig);
    assert_eq!(*design.queries.lock().expect("nobody panicked"), 0, "it observes no writes");
    rig.alone(Operation::Read, false, 0, 8);
    rig.settle();
    assert_eq!(*design.queries.lock().expect("nobody panicked"), 1);
    let block = blocks_in(State::Closed, &rig)[0];
    let several = (0..200).map(|_| Maintenance::Block(block));
    design.list.lock().expect("nobody panicked").extend(several);
    rig.submit(Operation::Read, false, 0, 8);
    assert_eq!(*design.queries.lock().expect("nobody panicked"), 1 + 64, "the first ones of the event");
    assert!(rig.device.invalid_decision().is_none());
}

#[test]
fn a_power_cut_cancels_requests() {
    let design = Requests::default();
    let mut rig = design.rig(&small());
    fill(&mut rig);
    let block = blocks_in(State::Closed, &rig)[0];
    design.list.lock().expect("nobody panicked").push(Maintenance::Block(block));
    rig.submit(Operation::Read, false, 0, 8);
    rig.cut_power();
    rig.wait_until_ready();
    rig.settle();
    assert_eq!(
        (rig.device.totals().erases, rig.device.ftl().blocks.table().state(block)),
        (0, State::Closed)
    );
    rig.audit();
}

#[test]
fn a_design_that_cannot_be_queried_is_refused() {
    let check = |file: DeviceFile, observes| {
        struct Silent {
            observes: EventMask,
        }
        state!(Silent { fixed { observes } });
        impl Design for Silent {
            fn name(&self) -> &'static str {
                "silent"
            }
            fn needs(&self) -> Needs {
                Needs { observes: self.observes, ..Needs::of(&[ExtensionPoint::Maintain]) }
            }
        }
        let config = file.check().expect("the device is sound");
        let policies =
            Policies::of(&config.ftl).with_designs(Combination::of(vec![Box::new(Silent { observes })]));
        config.check_policies(&policies).map(drop).expect_err("it is refused").to_string()
    };
    let wrong = check(small(), EventMask::NOTHING);
    assert!(
        wrong.contains("designs: found silent without an event, wanted a design that decides"),
        "{wrong}"
    );
    let wrong = check(crate::block_map::mapped(2), EventMask::READ);
    assert!(
        wrong.contains("ftl.mapping.block: found block-level mapping beside the design silent"),
        "{wrong}"
    );
}

/// Design that requests random work after random events.
struct Random {
    pages: u32,
    blocks: u32,
    /// One event in this number is followed by requests.
    every: u64,
    /// Whether the host did something since the last query. Requests that follow from other requests would
    /// never end.
    is_due: bool,
}

state!(Random { values { is_due } fixed { pages, blocks, every } });

impl Random {
    fn of(config: &Config, every: u64) -> Box<dyn Design> {
        Box::new(Self {
            pages: config.logical_pages,
            blocks: config.pools.block_sets(),
            every,
            is_due: false,
        })
    }
}

impl Design for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::ALL, ..Needs::of(&[ExtensionPoint::Maintain]) }
    }

    fn maintenance(&mut self, view: &mut View<'_>) -> Option<Maintenance> {
        if !std::mem::take(&mut self.is_due) || view.random().below(self.every) > 0 {
            return None;
        }
        if view.random().below(2) == 0 {
            let block = BlockSetId(view.random().below(u64::from(self.blocks)) as u32);
            return (view.block(block).state == State::Closed).then_some(Maintenance::Block(block));
        }
        let first = view.random().below(u64::from(self.pages)) as u32;
        let count = 1 + view.random().below(40) as u32;
        let (last, step) = ((first + count).min(self.pages), 1 + view.random().below(3) as usize);
        Some(Maintenance::Pages((first..last).step_by(step).map(LogicalPage).collect()))
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        self.is_due |= matches!(seen.kind(), EventMask::READ | EventMask::WRITTEN | EventMask::POWER_LOST);
        match *seen {
            DeviceEvent::Read { page, from: Some(from) } => assert_eq!(view.page_at(from), Some(page)),
            DeviceEvent::Invalidated { location } => {
                assert!(view.page_at(location).is_none() && view.stored_at(location).is_some());
            }
            DeviceEvent::Programmed { first, locations, failed: false, .. } => {
                let mut pages = (first.0..first.0 + locations).map(Location);
                assert!(pages.all(|at| view.page_at(at).is_none()), "they are not valid yet");
            }
            _ => {}
        }
    }
}

#[test]
fn a_design_that_requests_work_at_random_keeps_the_contract() {
    contract::check(&small(), |config| Random::of(config, 4));
    contract::check(&contract::small_with_slc(), |config| Random::of(config, 10));
}

#[test]
fn a_design_that_requests_much_more_than_the_device_can_do_keeps_the_contract() {
    let mut file = small();
    file.buffer.size = Bytes::kib(32);
    contract::check(&file, |config| Random::of(config, 1));
    file.ftl.gc.scope = Scope::SuperBlock;
    contract::check(&file, |config| Random::of(config, 3));
}

#[test]
fn gc_that_yields_or_keeps_pace_still_does_the_work() {
    let mut yields = small();
    yields.ftl.gc.preemptible = true;
    let mut slow = small();
    slow.ftl.gc.steps_per_write = Some(1);
    let mut paced = small();
    paced.ftl.gc.paced = true;
    for file in [yields, slow, paced] {
        let design = Requests::default();
        let mut rig = design.rig(&file);
        fill(&mut rig);
        let before = rig.device.totals().erases;
        let block = blocks_in(State::Closed, &rig)[0];
        design.make(Maintenance::Block(block), &mut rig);
        assert_eq!(rig.device.totals().erases, before + 1, "{:?}", file.ftl.gc);
        let pages = pages_in(blocks_in(State::Closed, &rig)[1], &rig);
        let before = rig.device.totals().gc_programs;
        design.make(Maintenance::Pages(pages[..5].to_vec()), &mut rig);
        assert_eq!(rig.device.totals().gc_programs, before + 5);
        contract::check(&file, |config| Random::of(config, 4));
    }
}
