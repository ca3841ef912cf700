//! Designs: which design is queried, which events it observes, and what happens after an invalid decision.

use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Operation};
use wordline_flash::policy::failure::{Failure, FailureAction};
use wordline_flash::policy::tuner::ProgrammedPage;
use wordline_ftl::Design;
use wordline_ftl::Policies;
use wordline_ftl::design::{
    Combination, DeviceEvent, EventMask, ExtensionPoint, ExtensionPoints, Needs, ProgramSource, View,
    WriteStream,
};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::placement::{PlacementKind, PlaneGroupSet};
use wordline_ftl::policy::relocator::RelocatedPage;
use wordline_ftl::policy::router::{HostPage, RouterKind};
use wordline_ftl::policy::victim::Candidates;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Calendar, Duration, Instant, Metric, Seed, state};
use wordline_nand::{BlockSetId, Parameters, PlaneGroupId};
use wordline_ssd::config::BufferMode;
use wordline_ssd::{Device, DeviceFile, contract};

use crate::common::{self, Rig, small};

/// Kinds of events that a probe observes, as indices of its counts.
const READ: usize = 0;
const WRITTEN: usize = 1;
const INVALIDATED: usize = 2;
const DISCARDED: usize = 3;
const PROGRAMMED: usize = 4;
const OF_COLLECTOR: usize = 5;
const ERASED: usize = 6;
const OPENED: usize = 7;
const CLOSED: usize = 8;
const BUFFER: usize = 9;
const POWER_LOST: usize = 10;
const OUTCOMES: usize = 11;
const SLOWEST: usize = 12;

const fn count(name: &'static str) -> Metric {
    Metric::new(name, Unit::Count, "How often a probe was told of it.")
}

/// Metrics of a probe, in the order of its counts.
static TOLD: [Metric; 13] = [
    count("probe.read"),
    count("probe.written"),
    count("probe.invalidated"),
    count("probe.discarded"),
    count("probe.programmed"),
    count("probe.of_collector"),
    count("probe.erased"),
    count("probe.opened"),
    count("probe.closed"),
    count("probe.buffer"),
    count("probe.power_lost"),
    count("probe.outcomes"),
    count("probe.slowest_ps"),
];

/// Design that decides as the policies do, or makes invalid decisions, and counts the events that it
/// observes.
#[derive(Clone)]
struct Probe {
    name: &'static str,
    decisions: ExtensionPoints,
    observes: EventMask,
    wrong: bool,
    parameters: Parameters,
    told: Vec<u64>,
}

state!(Probe { values { told } fixed { name, decisions, observes, wrong, parameters } });

impl Probe {
    fn new(name: &'static str, decisions: &[ExtensionPoint]) -> Self {
        Self {
            name,
            decisions: ExtensionPoints::of(decisions),
            observes: EventMask::NOTHING,
            wrong: false,
            parameters: Parameters { outcome: true, ..Parameters::DATA_SHEET },
            told: vec![0; 13],
        }
    }

    fn boxed(self) -> Box<dyn Design> {
        Box::new(self)
    }
}

impl Design for Probe {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> Needs {
        let streams = vec![WriteStream::native("all", 0)];
        let gc_streams = streams.clone();
        Needs { decisions: self.decisions, observes: self.observes, streams, gc_streams, ..Needs::of(&[]) }
    }

    fn stream(&mut self, _: &HostPage<'_>, pool: u8, _: &mut View<'_>) -> u8 {
        assert_eq!(pool, 0);
        if self.wrong { 3 } else { 0 }
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, _: &mut View<'_>) -> u32 {
        if self.wrong && open.written > 0 { 0 } else { open.first_unprogrammed() }
    }

    fn place(&mut self, rows: &PlaneGroupSet, view: &mut View<'_>) -> PlaneGroupId {
        assert!(rows.iter().all(|row| view.queue_length(view.die_of_group(row)) < 1_000));
        if self.wrong { PlaneGroupId(99) } else { rows.iter().last().expect("there is one") }
    }

    fn victim(&mut self, from: Candidates<'_>, row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
        let block = from.fewest_valid()?;
        let facts = view.block(block);
        assert!(facts.opened > 0 && facts.valid <= view.valid_in(row));
        Some(if self.wrong { BlockSetId(u32::MAX) } else { block })
    }

    fn relocate(&mut self, _: &RelocatedPage, _: u8, _: &mut View<'_>) -> u8 {
        if self.wrong { 1 } else { 0 }
    }

    fn failed(&mut self, _: &Failure, _: &mut View<'_>) -> FailureAction {
        FailureAction::Retire
    }

    fn program_parameters(&self, _: &ProgrammedPage) -> Parameters {
        let mut parameters = self.parameters;
        if self.wrong {
            parameters.skipped_verifies[5] = 1;
        }
        parameters
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        assert!(view.now() >= Instant::ZERO && view.buffer().used <= view.buffer().capacity.max(64));
        let kind = match *seen {
            DeviceEvent::Read { .. } => READ,
            DeviceEvent::Written { .. } => WRITTEN,
            DeviceEvent::Invalidated { .. } => INVALIDATED,
            DeviceEvent::Discarded { .. } => DISCARDED,
            DeviceEvent::Programmed { of, locations, outcome, array, .. } => {
                self.told[OUTCOMES] += u64::from(outcome.is_some());
                self.told[SLOWEST] = self.told[SLOWEST].max(array.ps());
                let kind = if of == ProgramSource::Gc { OF_COLLECTOR } else { PROGRAMMED };
                self.told[kind] += u64::from(locations);
                return;
            }
            DeviceEvent::Erased { .. } => ERASED,
            DeviceEvent::Opened { .. } => OPENED,
            DeviceEvent::Closed { .. } => CLOSED,
            DeviceEvent::Buffer { .. } => BUFFER,
            DeviceEvent::Idle { .. }
            | DeviceEvent::LostPage { .. }
            | DeviceEvent::Suspended { .. }
            | DeviceEvent::Resumed { .. } => {
                return;
            }
            DeviceEvent::PowerLost => POWER_LOST,
        };
        self.told[kind] += 1;
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        TOLD.iter().zip(&self.told).map(|(metric, told)| (metric, Value::Count(*told))).collect()
    }
}

pub fn rig(file: &DeviceFile, designs: Combination) -> Rig {
    let config = file.clone().check().expect("the device is sound");
    let policies = Policies::of(&config.ftl).with_designs(designs);
    let config = config.check_policies(&policies).expect("the policies go with it");
    Rig::of(Device::with(config, policies, Seed(1)), Calendar::new())
}

/// Counts of events that the probe of a device observed, from its metrics.
fn told(rig: &Rig) -> Vec<u64> {
    told_until(rig, rig.calendar_now())
}

/// Counts of events at `now`, for a device in progress.
fn told_until(rig: &Rig, now: Instant) -> Vec<u64> {
    let new = Rig::new(small(), 1).device.mark(Instant::ZERO);
    let metrics = rig.device.metrics(&new, now);
    let told = TOLD.iter().map(|metric| match metrics.get(metric.name) {
        Some(Value::Count(count)) => count,
        other => panic!("{} is {other:?}", metric.name),
    });
    told.collect()
}

/// Overwrites pages at random.
pub fn overwrite(rig: &mut Rig, writes: u64) {
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(7).stream("test.writes", 0);
    for _ in 0..writes {
        rig.run_down_to(7);
        rig.submit(Operation::Write, false, random.below(pages) * 8, 8);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    rig.audit();
}

/// Overwrites pages at random until a decision is invalid.
fn overwrite_until_wrong(rig: &mut Rig) {
    let page = 8;
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for n in 0..20_000 {
        if rig.device.invalid_decision().is_some() {
            break;
        }
        rig.submit(Operation::Write, true, n * 7919 % pages * page, page);
        while rig.device.outstanding() > 0 && rig.device.invalid_decision().is_none() {
            let event = rig.calendar.advance().expect("something happens");
            rig.device.handle(event, &mut rig.calendar);
        }
        rig.take_completions();
    }
}

#[test]
fn a_design_that_decides_as_the_policies_do_changes_nothing() {
    let run = |designs| {
        let mut rig = rig(&small(), designs);
        overwrite(&mut rig, 3_000);
        rig.device.digest()
    };
    let all =
        [ExtensionPoint::Stream, ExtensionPoint::Victim, ExtensionPoint::Relocate, ExtensionPoint::Fail];
    let alone = run(Combination::default());
    assert_eq!(run(Combination::of(vec![Probe::new("same", &all).boxed()])), alone);
    let observing = Probe { observes: EventMask::ALL, ..Probe::new("watches", &[]) };
    assert_eq!(run(Combination::of(vec![observing.boxed()])), alone);
    let other = run(Combination::of(vec![Probe::new("last-row", &[ExtensionPoint::Place]).boxed()]));
    assert_ne!(other, alone, "it places elsewhere");
}

#[test]
fn a_design_is_notified_of_the_events_in_its_mask_only() {
    let observing = Probe { observes: EventMask::ALL, ..Probe::new("watches", &[]) };
    let mut rig = rig(&small(), Combination::of(vec![observing.boxed()]));
    overwrite(&mut rig, 3_000);
    rig.settle();
    for page in 0..10 {
        rig.alone(Operation::Read, false, page * 8, 8);
    }
    rig.alone(Operation::Discard, false, 0, 16);
    let (told, totals) = (told(&rig), rig.device.totals().clone());
    assert_eq!((told[READ], told[WRITTEN], told[DISCARDED]), (10, 3_000, 2));
    assert_eq!(told[ERASED], totals.erases);
    let programmed = totals.host_programs + totals.gc_programs + totals.padding;
    assert_eq!(told[PROGRAMMED] + told[OF_COLLECTOR], programmed);
    assert!(told[OF_COLLECTOR] >= totals.gc_programs && totals.gc_programs > 0);
    let open = told[OPENED] - told[CLOSED];
    assert!(told[CLOSED] >= told[ERASED] && open <= 8, "{open} open in four rows of two streams");
    // Each programmed page was valid, except pages that were rewritten before the end of the program.
    let (data, valid) = (totals.host_programs + totals.gc_programs, rig.device.ftl().fullness().valid);
    let was_valid = told[INVALIDATED] + valid;
    assert!((data * 9 / 10..=data).contains(&was_valid), "{was_valid} of {data}");
    assert!(told[BUFFER] > 10 && told[OUTCOMES] == 0, "{} levels", told[BUFFER]);
    rig.cut_power();
    assert_eq!(self::told(&rig)[POWER_LOST], 1);
}

#[test]
fn a_design_queried_during_an_event_is_notified_of_each_level_change() {
    let levels = |decisions: &[ExtensionPoint]| {
        let probe = Probe { observes: EventMask::BUFFER, ..Probe::new("watches", decisions) };
        // A written page is destaged in the same event, so the design is queried about it with the new
        // occupancy.
        let mut file = small();
        file.buffer.mode = BufferMode::WriteThrough;
        let mut rig = rig(&file, Combination::of(vec![probe.boxed()]));
        (0..100).for_each(|page| _ = rig.alone(Operation::Write, false, page * 8, 8));
        told(&rig)[BUFFER]
    };
    assert_eq!([levels(&[]), levels(&[ExtensionPoint::Stream])], [200; 2]);
}

#[test]
fn what_a_design_measures_is_reported_from_one_time_to_another() {
    let observing = Probe { observes: EventMask::READ, ..Probe::new("watches", &[]) };
    let mut rig = rig(&small(), Combination::of(vec![observing.boxed()]));
    rig.overwrite(100);
    rig.alone(Operation::Read, false, 0, 8);
    let mark = rig.device.mark(rig.calendar_now());
    for page in 0..7 {
        rig.alone(Operation::Read, false, page * 8, 8);
    }
    let metrics = rig.device.metrics(&mark, rig.calendar_now());
    assert_eq!(metrics.get("probe.read"), Some(Value::Count(7)));
    assert_eq!(told(&rig)[WRITTEN], 0, "it observes reads alone");
}

#[test]
fn an_invalid_decision_is_kept_with_the_design_and_the_allowed_range() {
    for (seam, decision, allowed) in [
        (ExtensionPoint::Stream, "stream 3", "one of the 1 of pool 0"),
        (ExtensionPoint::Place, "plane group 99", "one of the plane groups that accept a program unit"),
        (ExtensionPoint::Frontier, "word line 0", "that is unprogrammed"),
        (ExtensionPoint::Victim, "which is none", "a candidate of plane group"),
        (ExtensionPoint::Relocate, "GC stream 1", "one of 1"),
        (ExtensionPoint::Tune, "1 skipped verifies of P6", "states from P1 to P1"),
    ] {
        let probe = Probe { wrong: true, ..Probe::new("wrong", &[seam]) };
        let mut rig = rig(&small(), Combination::of(vec![probe.boxed()]));
        overwrite_until_wrong(&mut rig);
        let wrong = rig.device.invalid_decision().unwrap_or_else(|| panic!("{seam} is asked"));
        assert_eq!((wrong.design, wrong.seam), (Some("wrong"), seam.name()));
        let text = wrong.to_string();
        assert!(
            text.starts_with(&format!("the design wrong made an invalid decision for `{seam}`: found ")),
            "{text}"
        );
        assert!(wrong.decision.contains(decision) && wrong.allowed.contains(allowed), "{text}");
        // The device continued with another decision, so its state is consistent.
        rig.audit();
    }
}

#[test]
fn a_program_uses_the_parameters_of_a_design_and_reports_its_outcome() {
    let run = |setting| {
        let parameters = Parameters { setting, outcome: true, ..Parameters::DATA_SHEET };
        let probe = Probe {
            observes: EventMask::PROGRAMMED,
            parameters,
            ..Probe::new("tunes", &[ExtensionPoint::Tune])
        };
        let mut rig = rig(&small(), Combination::of(vec![probe.boxed()]));
        rig.overwrite(500);
        told(&rig)
    };
    let (usual, slow) = (run(Duration::ZERO), run(Duration::from_us(50)));
    assert!(usual[OUTCOMES] > 100 && slow[OUTCOMES] > 100, "{usual:?} {slow:?}");
    assert_eq!(slow[SLOWEST] - usual[SLOWEST], Duration::from_us(50).ps());
}

#[test]
fn a_program_over_cells_takes_the_loops_that_its_parameters_leave() {
    let made = |skips: [u8; 7], start_margin| {
        let mut parameters = Parameters { start_margin, outcome: true, ..Parameters::DATA_SHEET };
        parameters.skipped_verifies[..7].copy_from_slice(&skips);
        let probe = Probe {
            observes: EventMask::PROGRAMMED,
            parameters,
            ..Probe::new("tunes", &[ExtensionPoint::Tune])
        };
        rig(&common::with_cells(0.0), Combination::of(vec![probe.boxed()]))
    };
    let slowest = |skips| {
        let mut rig = made(skips, 0);
        rig.overwrite(500);
        told(&rig)[SLOWEST]
    };
    let (usual, skipping) = (slowest([0; 7]), slowest([1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(usual, Duration::from_us(700).ps());
    // 28 verifies of 4.05 us (cubeFTL, figure 8).
    assert_eq!(usual - skipping, Duration::from_ns(28 * 4_050).ps());
    for (skips, margin, found, allowed) in [
        (
            [0, 0, 0, 0, 0, 0, 10],
            0,
            "10 skipped verifies of P7",
            "from 0 to 9: its last cells pass in loop 10",
        ),
        ([0; 7], 1_620, "margins of 1620 and 0 mV", "less than the window of 1620 mV together"),
    ] {
        let mut rig = made(skips, margin);
        overwrite_until_wrong(&mut rig);
        let wrong = rig.device.invalid_decision().expect("the part cannot do that").to_string();
        assert_eq!(
            wrong,
            format!("the design tunes made an invalid decision for `tune`: found {found}, wanted {allowed}")
        );
    }
}

#[test]
fn two_designs_with_the_same_decision_are_named_with_the_key_that_selects_one() {
    let both = || {
        let [one, other] = ["one", "other"].map(|name| Probe::new(name, &[ExtensionPoint::Victim]).boxed());
        Combination::of(vec![one, other])
    };
    let config = small().check().expect("the device is sound");
    let check = |designs| {
        let policies = Policies::of(&config.ftl).with_designs(designs);
        config.check_policies(&policies).map(drop).map_err(|wrong| wrong.to_string())
    };
    let wrong = check(both()).expect_err("who answers is open");
    assert!(
        wrong.contains("decides.victim: found the designs one and other all decide `victim` in pool 0"),
        "{wrong}"
    );
    assert_eq!(check(both().with_decider(ExtensionPoint::Victim, "other")), Ok(()));
    assert_eq!(check(both().in_pool(0, &["one".into()])), Ok(()), "the pool names one of them");
    let wrong = check(both().with_decider(ExtensionPoint::Place, "one")).expect_err("nobody answers that");
    assert!(wrong.contains("decides.place: found one, wanted the key left out"), "{wrong}");
    let twice = Combination::of(vec![Probe::new("one", &[]).boxed(), Probe::new("one", &[]).boxed()]);
    assert!(check(twice).expect_err("a name is one design's").contains("designs: found one twice"));
}

#[test]
fn streams_from_outside_are_checked_as_those_of_a_built_in_router() {
    let config = small().check().expect("the device is sound");
    let policies = |streams| {
        let router = RouterKind::Host { streams };
        Policies { router: router.build(config.ftl.logical_pages), ..Policies::of(&config.ftl) }
    };
    assert!(config.check_policies(&policies(1)).is_ok());
    let mut named = small();
    named.ftl.router = RouterKind::Host { streams: 16 };
    let wrong = config.check_policies(&policies(16)).map(drop).expect_err("a row has 24 blocks").to_string();
    assert_eq!(wrong, named.check().map(drop).expect_err("the same").to_string());
}

#[test]
fn a_design_that_places_is_refused_where_pages_have_homes() {
    let mut file = small();
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    let config = file.check().expect("the device is sound");
    let designs = Combination::of(vec![Probe::new("places", &[ExtensionPoint::Place]).boxed()]);
    let policies = Policies::of(&config.ftl).with_designs(designs);
    let wrong = config.check_policies(&policies).map(drop).expect_err("homes");
    assert!(wrong.to_string().contains("ftl.placement.policy"), "{wrong}");
}

#[test]
fn a_state_is_taken_over_by_a_design_of_the_same_name_alone() {
    let with = |name| {
        let observing = Probe { observes: EventMask::WRITTEN, ..Probe::new(name, &[]) };
        rig(&small(), Combination::of(vec![observing.boxed()]))
    };
    let mut rig = with("mine");
    rig.overwrite(500);
    let mut bytes = Vec::new();
    rig.device.save(&Agenda::of(&rig.calendar), &mut bytes).expect("a list takes everything");
    let mut again = with("mine");
    let agenda = again.device.load(&mut bytes.as_slice()).expect("it is the same");
    assert_eq!(told_until(&again, agenda.now), told(&rig));
    let wrong = with("another").device.load(&mut bytes.as_slice()).map(drop).expect_err("of another design");
    assert!(
        wrong.to_string().contains("found the state of the design mine, wanted that of another"),
        "{wrong}"
    );
}

#[test]
fn a_policy_of_the_device_is_checked_as_a_design_is() {
    /// Policy that selects a block which does not exist.
    struct Nothing;
    state!(Nothing {});
    impl wordline_ftl::policy::victim::VictimPolicy for Nothing {
        fn choose(&mut self, _: Candidates<'_>, _: &mut wordline_kernel::Stream) -> Option<BlockSetId> {
            Some(BlockSetId(0))
        }
    }
    let config = small().check().expect("the device is sound");
    let policies = Policies { victim: Box::new(Nothing), ..Policies::of(&config.ftl) };
    let mut rig = Rig::of(Device::with(config, policies, Seed(1)), Calendar::new());
    let mut n = 0;
    while rig.device.invalid_decision().is_none() {
        rig.submit(Operation::Write, true, n * 7919 % 256 * 8, 8);
        while rig.device.outstanding() > 0 && rig.device.invalid_decision().is_none() {
            let event = rig.calendar.advance().expect("something happens");
            rig.device.handle(event, &mut rig.calendar);
        }
        rig.take_completions();
        n += 1;
    }
    let wrong = rig.device.invalid_decision().expect("it was just there");
    assert_eq!((wrong.design, wrong.seam), (None, ExtensionPoint::Victim.name()), "{wrong}");
    assert!(
        wrong.to_string().starts_with("the policy of the device made an invalid decision for `victim`"),
        "{wrong}"
    );
}

#[test]
fn a_design_that_makes_every_decision_keeps_the_contract() {
    let all: Vec<ExtensionPoint> =
        ExtensionPoint::ALL.into_iter().filter(|seam| !seam.is_of_device()).collect();
    contract::check(&small(), |_| Probe { observes: EventMask::ALL, ..Probe::new("all", &all) }.boxed());
}

#[test]
#[should_panic(expected = "the design wrong made an invalid decision for `place`: found plane group 99")]
fn the_contract_names_an_invalid_decision() {
    contract::check(&small(), |_| {
        Probe { wrong: true, ..Probe::new("wrong", &[ExtensionPoint::Place]) }.boxed()
    });
}

#[test]
#[should_panic(expected = "a restored device")]
fn the_contract_finds_state_that_is_not_saved() {
    /// Selects another plane group each time. A snapshot does not have its progress.
    struct Forgets {
        next: u32,
    }
    state!(Forgets { fixed { next } });
    impl Design for Forgets {
        fn name(&self) -> &'static str {
            "forgets"
        }
        fn needs(&self) -> Needs {
            Needs::of(&[ExtensionPoint::Place])
        }
        fn place(&mut self, rows: &PlaneGroupSet, _: &mut View<'_>) -> PlaneGroupId {
            self.next += 1;
            rows.next_from(PlaneGroupId(self.next % 4))
                .or_else(|| rows.next_from(PlaneGroupId(0)))
                .expect("there is one")
        }
    }
    contract::check(&small(), |_| Box::new(Forgets { next: 0 }));
}

#[test]
#[should_panic(expected = "a restored device")]
fn the_contract_finds_reads_that_are_not_saved() {
    /// Selects a plane group by the number of reads, which a snapshot does not have.
    struct ForgetsReads {
        reads: u32,
    }
    state!(ForgetsReads { fixed { reads } });
    impl Design for ForgetsReads {
        fn name(&self) -> &'static str {
            "forgets-reads"
        }
        fn needs(&self) -> Needs {
            Needs { observes: EventMask::READ, ..Needs::of(&[ExtensionPoint::Place]) }
        }
        fn place(&mut self, rows: &PlaneGroupSet, _: &mut View<'_>) -> PlaneGroupId {
            let row = PlaneGroupId(self.reads / 256 % 4);
            rows.next_from(row).or_else(|| rows.next_from(PlaneGroupId(0))).expect("there is one")
        }
        fn observe(&mut self, _: &DeviceEvent<'_>, _: &mut View<'_>) {
            self.reads += 1;
        }
    }
    contract::check(&small(), |_| Box::new(ForgetsReads { reads: 0 }));
}
