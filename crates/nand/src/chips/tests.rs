use super::*;
use crate::geometry::Layout;
use crate::part::tests::mqsim;
use crate::{BlockSetId, ChannelId, Location, PageId, Stage};
use wordline_kernel::{Bytes, Calendar, Power};

pub(super) fn chips(dies: u32) -> Chips {
    let part = mqsim();
    let geometry = Layout::on_one_channel(dies, Some(1)).check(&part).expect("the layout is sound");
    Chips::new(Pools::of_pages(part, geometry))
}

fn run(chips: &mut Chips, commands: &[(DieId, Command)]) -> Vec<(Instant, CommandCompletion)> {
    let mut calendar = Calendar::new();
    commands.iter().for_each(|(die, command)| chips.begin(*die, *command, &mut calendar));
    let mut done = Vec::new();
    while let Some(event) = calendar.advance() {
        done.extend(chips.handle(event, &mut calendar).map(|d| (calendar.now(), d)));
    }
    done
}

pub(super) fn read(chips: &Chips, die: u32, bytes: Bytes) -> (DieId, Command) {
    let geometry = chips.geometry();
    let block = geometry.first_block(crate::PlaneGroupId(die * geometry.groups_per_die));
    (DieId(die), Command::new(Operation::Read, geometry.page(block, 0), 1, bytes))
}

#[test]
fn an_unloaded_read_takes_command_sensing_and_transfer() {
    let mut chips = chips(1);
    let command = read(&chips, 0, Bytes::kib(4));
    let done = run(&mut chips, &[command]);
    // Command 295 ns; tR 75 us; tCS + preamble 50 ns; 4096 B at 333 MT/s = 12.300301 us, rounded up to a
    // picosecond.
    assert_eq!(done[0].0, Instant::from_ps(295_000 + 75_000_000 + 50_000 + 12_300_301));
    assert_eq!(done[0].1.bus_wait, Duration::ZERO);
}

#[test]
fn reads_of_n_dies_overlap_but_for_the_bus() {
    for dies in 1..=8 {
        let mut chips = chips(dies);
        let commands: Vec<_> = (0..dies).map(|die| read(&chips, die, Bytes::kib(8))).collect();
        let done = run(&mut chips, &commands);
        let (command, sense) = (Duration::from_ns(295), Duration::from_us(75));
        let transfer = Duration::from_ns(50) + chips.part().bus.burst_out(Bytes::kib(8));
        // The transfers follow each other once the first die has sensed. Each takes longer than the next
        // die's command, so the bus is never idle in between.
        let end = Instant::ZERO + command + sense + transfer * u64::from(dies);
        assert_eq!(done.last().map(|d| d.0), Some(end), "{dies} dies");
    }
}

#[test]
fn a_program_writes_what_the_registers_hold() {
    let mut chips = chips(1);
    let stamp = DataTag { logical: 7, version: 3 };
    chips.registers(DieId(0))[0] = stamp;
    let page = PageId(0);
    let command = Command::new(Operation::Program, page, 1, Bytes(0));
    let done = run(&mut chips, &[(DieId(0), command)]);
    assert_eq!(chips.stamp(Location(page.0)), stamp);
    let transfer = chips.part().bus.burst_in(Bytes::kib(8));
    assert_eq!(done[0].0, Instant::ZERO + Duration::from_ns(386) + transfer + Duration::from_us(750));
}

#[test]
fn energy_is_the_sum_of_the_stages() {
    let mut chips = chips(2);
    let commands: Vec<_> = (0..2).map(|die| read(&chips, die, Bytes::kib(8))).collect();
    let done = run(&mut chips, &commands);
    let elapsed = done[1].0 - Instant::ZERO;
    let report = chips.energy(elapsed);
    let sensing = Power(82_500).over(Duration::from_us(150));
    assert_eq!(report.of(Stage::Ton), sensing);
    assert_eq!(report.total(), Stage::ALL.into_iter().map(|s| report.of(s)).sum());
    let busy: u128 = done.iter().map(|(_, d)| u128::from((d.bus + d.array).ps())).sum();
    assert_eq!(chips.stages(elapsed).active_ps(), busy);
}

#[test]
fn an_erase_takes_its_power_as_long_as_it_takes() {
    let mut chips = chips(1);
    chips.put(Location(0), DataTag::PADDING);
    let (die, program) = program(&chips, 0);
    let done = run(&mut chips, &[(die, Command { operation: Operation::Erase, ..program })]);
    let report = chips.energy(done[0].0 - Instant::ZERO);
    let (power, time) = (chips.part().power.erase, chips.part().timing.erase);
    assert_eq!(report.of(Stage::Ber), power.over(time));
    assert!(report.of(Stage::Ber).0 > 0);
}

#[test]
#[should_panic(expected = "programmed in order")]
fn a_page_out_of_order_is_refused() {
    chips(1).put(Location(1), DataTag::PADDING);
}

pub(super) fn program(chips: &Chips, die: u32) -> (DieId, Command) {
    let (_, read) = read(chips, die, Bytes::kib(8));
    (DieId(die), Command { operation: Operation::Program, ..read })
}

/// Changes the wiring of chips, and their times with it.
fn rewire(chips: &mut Chips, change: impl FnOnce(&mut Wiring)) {
    let mut wiring = chips.sequencer.tables.wiring;
    change(&mut wiring);
    chips.sequencer.tables = Tables::new(&chips.cells.pools, wiring);
}

#[test]
fn of_dies_whose_arrays_finish_at_once_the_lowest_number_moves_data_first() {
    let mut chips = chips(3);
    let clock = crate::clock::Clock::new(Duration::from_us(80));
    rewire(&mut chips, |wiring| wiring.clocks.nand = clock);
    // The commands are latched from the last die to the first, but all arrays begin and end at one edge.
    let commands: Vec<_> = [2, 1, 0].map(|die| read(&chips, die, Bytes::kib(8))).into();
    let order: Vec<u32> = run(&mut chips, &commands).iter().map(|(_, done)| done.die.0).collect();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn a_bus_is_given_away_once_all_that_happens_at_its_instant_is_known() {
    let mut chips = chips(2);
    let mut calendar = Calendar::new();
    // Another event at time zero, during which the second die requests the bus for a command.
    calendar.at(Instant::ZERO, Event::BusFree(ChannelId(0)));
    let (die, command) = program(&chips, 0);
    chips.begin(die, command, &mut calendar);
    assert!(calendar.advance().is_some());
    let (die, command) = read(&chips, 1, Bytes::kib(8));
    chips.begin(die, command, &mut calendar);
    chips.record();
    assert_eq!(calendar.advance().and_then(|event| chips.handle(event, &mut calendar)), None);
    assert_eq!(chips.take_spans()[0].die, DieId(1), "the read is latched before data move");
}

/// Reads of this many dies, all begun at once, and the pending events after each event.
fn bus_events(dies: u32) -> (usize, usize) {
    let mut chips = chips(dies);
    let commands: Vec<_> = (0..dies).map(|die| read(&chips, die, Bytes::kib(8))).collect();
    let mut calendar = Calendar::new();
    commands.iter().for_each(|(die, command)| chips.begin(*die, *command, &mut calendar));
    let is_of_bus = |event: &Event| matches!(event, Event::BusFree(_));
    let (mut handled, mut ahead) = (0, 0);
    while let Some(event) = calendar.advance() {
        handled += 1;
        chips.handle(event, &mut calendar);
        let now = calendar.now();
        ahead += calendar.pending().iter().filter(|(time, event)| *time > now && is_of_bus(event)).count();
    }
    (handled, ahead)
}

#[test]
fn data_out_hand_the_bus_on_at_their_end_and_latches_that_follow_each_other_are_one_event() {
    // The latches of all dies but the first wait for the end of its latch, and are then granted the bus one
    // after the other. From the first data out on, each transfer passes the bus on at its end.
    for dies in 2..=8u64 {
        let (handled, ahead) = bus_events(dies as u32);
        assert_eq!((handled as u64, ahead), (3 * dies, 0), "{dies} dies");
    }
}

#[test]
fn a_page_sensed_ahead_belongs_to_the_command_that_moves_it_out() {
    let mut chips = chips(2);
    chips.record();
    let (die, first) = read(&chips, 0, Bytes::kib(8));
    let next = PageId(first.page.0 + 1);
    let cached = |first, next| Operation::ReadCache { first, next };
    let mut calendar = Calendar::new();
    chips.begin(die, Command { operation: cached(true, Some(next)), ..first }, &mut calendar);
    let (other, command) = read(&chips, 1, Bytes::kib(8));
    let mut started = false;
    while let Some(event) = calendar.advance() {
        if chips.handle(event, &mut calendar).is_some_and(|done| done.die == die && !started) {
            // Another die starts a command in the meantime.
            chips.begin(other, command, &mut calendar);
            chips.begin(die, Command { operation: cached(false, None), page: next, ..first }, &mut calendar);
            started = true;
        }
    }
    let spans = chips.take_spans();
    let sensed = spans.iter().filter(|span| span.stage == Stage::Ton).map(|span| (span.die.0, span.command));
    assert_eq!(sensed.collect::<Vec<_>>(), [(0, 0), (0, 2), (1, 1)]);
}

#[test]
fn part_of_a_page_comes_out_in_one_cycle_that_is_rounded_once() {
    let mut chips = chips(1);
    let host = crate::clock::Clock::new(Duration::from_ns(40));
    rewire(&mut chips, |wiring| wiring.clocks.host = host);
    let (die, command) = read(&chips, 0, Bytes(340));
    let [(_, done)] = run(&mut chips, &[(die, command)])[..] else { panic!("one command is over") };
    // tCS, 00, 5 addresses, 30 with tWB: 40, 40, 160 and 160 ns. Data: 50 ns and 1021.03 ns, 26 whole clocks
    // and a fraction. If wait and burst were rounded separately they would take 28.
    assert_eq!(done.bus.ns(), 40 + 40 + 160 + 160 + 27 * 40);
}

#[test]
fn at_every_instant_the_stages_that_are_over_and_idle_time_are_the_time_that_passed() {
    let mut chips = chips(2);
    chips.sequencer.tables.wiring.read_status = true;
    let (_, read) = read(&chips, 0, Bytes::kib(8));
    let page = |n| PageId(read.page.0 + n);
    let cached =
        |n, first, next| Command { operation: Operation::ReadCache { first, next }, page: page(n), ..read };
    let program = |n, operation| Command { operation, page: page(n), ..read };
    let mut waiting = vec![
        program(2, Operation::Erase),
        cached(1, false, None),
        cached(0, true, Some(page(1))),
        program(2, Operation::Program),
        program(1, Operation::ProgramCache),
        program(0, Operation::ProgramCache),
    ];
    let mut calendar = Calendar::new();
    let mut before = [0; 7];
    let (mut ended, mut served) = (0, 0);
    calendar.at(Instant::ZERO, Event::GrantEnded(DieId(1)));
    while let Some(event) = calendar.advance() {
        if let (Event::GrantEnded(DieId(1)), 0) = (event, ended) {
            // The first command starts.
        } else if let Some(done) = chips.handle(event, &mut calendar) {
            ended += 1;
            served += u128::from((done.bus + done.array).ps());
        }
        if waiting.last().is_some_and(|next| chips.takes(DieId(0), next.operation, calendar.now())) {
            let next = waiting.pop().expect("there is a last one");
            chips.begin(DieId(0), next, &mut calendar);
        }
        let elapsed = calendar.now() - Instant::ZERO;
        let stages = chips.stages_of_die(DieId(0), elapsed);
        let by_stage: [u128; 7] = std::array::from_fn(|n| stages.ps(Stage::ALL[n]));
        assert!(by_stage.iter().zip(before).all(|(now, before)| *now >= before), "{before:?} {by_stage:?}");
        assert!(stages.ps(Stage::Idle) <= u128::from(elapsed.ps()));
        assert_eq!(stages.active_ps(), served + chips.unfinished_ps(elapsed), "at {elapsed}");
        before = by_stage;
    }
    assert_eq!((ended, chips.unfinished_ps(calendar.now() - Instant::ZERO)), (6, 0));
}

#[test]
fn planes_that_work_together_draw_each_where_the_part_says_so() {
    let energy = |per_plane| {
        let mut file = crate::part::tests::mqsim_file();
        file.power.per_plane = per_plane;
        let part = file.check().expect("the part is sound");
        let geometry = Layout::on_one_channel(1, Some(2)).check(&part).expect("the layout is sound");
        let mut chips = Chips::new(Pools::of_pages(part, geometry));
        let (die, command) = program(&chips, 0);
        let done = run(&mut chips, &[(die, Command { planes: 2, ..command })]);
        chips.energy(done[0].0 - Instant::ZERO)
    };
    let (die, each) = (energy(false), energy(true));
    assert_eq!(each.of(Stage::Tin).0, 2 * die.of(Stage::Tin).0);
    assert_eq!(each.of(Stage::Tir), die.of(Stage::Tir));
}

#[test]
fn a_power_cut_amid_a_program_tears_the_page_that_shares_its_cells() {
    let mut chips = chips(1);
    let shares = |page: &u32| chips.part().pages().partners(*page).any(|other| other < *page);
    let upper = (0..8).find(shares).expect("two pages share a word line");
    let lower = chips.part().pages().partners(upper).next().expect("it has a partner");
    for page in 0..upper {
        chips.put(Location(page), DataTag { logical: page, version: 1 });
    }
    let (die, first) = program(&chips, 0);
    let command = Command { page: chips.geometry().page(BlockSetId(0), upper), ..first };
    let mut calendar = Calendar::new();
    chips.begin(die, command, &mut calendar);
    let torn = chips.cut_power(Instant::ZERO + Duration::from_us(400), InFlightFate::Interrupted);
    assert_eq!((torn.programs, torn.pages, torn.partners), (1, 1, 1));
    let is_torn: Vec<u32> =
        (0..=upper).filter(|page| chips.stamp(Location(*page)) == DataTag::UNREADABLE).collect();
    assert_eq!(is_torn, [lower, upper]);
}

#[test]
fn a_location_that_was_spoiled_cannot_be_read() {
    let mut chips = chips(1);
    (0..2).for_each(|page| chips.put(Location(page), DataTag { logical: page, version: 1 }));
    chips.corrupt(Location(0));
    assert_eq!([0, 1].map(|page| chips.stamp(Location(page)).version), [0, 1]);
    assert_eq!(chips.stamp(Location(0)), DataTag::UNREADABLE);
}

#[test]
fn blocks_are_of_the_pool_that_they_are_in() {
    let part = mqsim();
    let geometry = |dies| Layout::on_one_channel(dies, Some(1)).check(&part).expect("the layout is sound");
    let pool = |dies| {
        let geometry = geometry(dies);
        crate::Pool { part: part.clone(), geometry, locations: crate::Locations::of_pages(&geometry) }
    };
    let mut pools = Pools::one(pool(2));
    pools.add(pool(1), 1);
    let blocks = [0, 1].map(|n| pools.get(n).geometry.all_blocks().collect::<Vec<_>>());
    assert_eq!(blocks[0].len() as u32, pools.first().geometry.block_sets());
    assert_eq!(blocks.concat(), (0..pools.block_sets()).map(BlockSetId).collect::<Vec<_>>());
    for (n, blocks) in blocks.iter().enumerate() {
        for block in blocks {
            let dies = pools.of_block(*block).geometry.dies();
            assert_eq!((pools.number_of_block(*block), dies), (n, [2, 1][n]), "{block:?}");
        }
    }
}
