use wordline_kernel::snapshot::{Reader, State, Writer};
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule, state};

use crate::chips::tests::{chips, read};
use crate::chips::{Chips, Command, CommandCompletion, Event, Operation, Refusal};
use crate::geometry::{ChannelId, DieId, PageId};
use crate::physics::{Outcome, Parameters, Physics, Work};

const DIE: DieId = DieId(0);

/// A cell model that counts its calls, and returns their number as loops.
#[derive(Clone, Debug, Default)]
struct Counting {
    asked: u32,
}

state!(Counting { values { asked } });

impl Physics for Counting {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        self.asked += 1;
        if let Some(outcome) = outcome {
            outcome.loops = self.asked;
        }
        work.data_sheet + Duration::from_us(u64::from(self.asked))
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}

/// A die with such cells, and a parameter set 1 that requests the outcome.
fn counted() -> Chips {
    let mut chips = chips(1);
    chips.set_physics(Box::new(Counting::default()));
    chips.set_parameters(1, Parameters { outcome: true, ..Parameters::DATA_SHEET });
    chips
}

fn command(chips: &Chips, operation: Operation, page: u32) -> Command {
    let (_, read) = read(chips, 0, Bytes::kib(8));
    Command { operation, page: PageId(page), ..read }.with(1)
}

fn loops(chips: &Chips, done: &CommandCompletion) -> Option<u32> {
    chips.outcome(done).map(|outcome| outcome.loops)
}

/// Starts the commands one after the other, as soon as the die accepts them. Returns each with its loops.
fn run(chips: &mut Chips, commands: &[Command]) -> Vec<(CommandCompletion, Option<u32>)> {
    let mut calendar = Calendar::new();
    // After all previous commands.
    calendar.at(chips.sequencer.dies[DIE].pipeline.array_ready_at, Event::BusFree(ChannelId(0)));
    calendar.advance();
    let mut waiting = commands.iter();
    chips.start(DIE, *waiting.next().expect("there is a command"), &mut calendar).expect("the die is idle");
    let (mut next, mut ended) = (waiting.next(), Vec::new());
    while let Some(event) = calendar.advance() {
        if let Some(done) = chips.handle(event, &mut calendar) {
            ended.push((done, loops(chips, &done)));
        }
        if let Some(command) = next
            && chips.takes(DIE, command.operation, calendar.now())
        {
            chips.start(DIE, *command, &mut calendar).expect("the die takes it");
            next = waiting.next();
        }
    }
    ended
}

#[test]
fn each_work_of_an_array_is_asked_once_and_its_outcome_goes_with_its_command() {
    let mut chips = counted();
    let part = chips.part().clone();
    let cached = |first, next| Operation::ReadCache { first, next };
    let commands = [
        command(&chips, Operation::Erase, 0),
        command(&chips, Operation::ProgramCache, 0),
        command(&chips, Operation::ProgramCache, 1),
        command(&chips, Operation::Program, 2).with(0),
        command(&chips, cached(true, Some(PageId(1))), 0),
        command(&chips, cached(false, None), 1),
        command(&chips, Operation::Copyback { to: PageId(8) }, 0),
        command(&chips, Operation::Read, 8),
    ];
    let ended = run(&mut chips, &commands);
    let said: Vec<Option<u32>> = ended.iter().map(|(_, loops)| *loops).collect();
    // A copyback senses, and then programs. It reports the outcome of the program.
    assert_eq!(said, [Some(1), Some(2), Some(3), None, Some(5), Some(6), Some(8), Some(9)]);
    let us = Duration::from_us;
    let erased = &ended[0].0;
    assert_eq!((erased.command.operation, erased.array), (Operation::Erase, part.timing.erase + us(1)));
    let (read, _) = ended.last().expect("commands end");
    assert_eq!(read.array, part.read_time(0) + us(9));
}

#[test]
fn what_is_suspended_keeps_its_outcome_through_many_reads() {
    let mut chips = counted();
    let mut calendar = Calendar::new();
    chips.start(DIE, command(&chips, Operation::Erase, 0), &mut calendar).expect("the die is idle");
    calendar.at(Instant::ZERO + Duration::from_ms(1), Event::BusFree(ChannelId(0)));
    let (mut reads, mut said) = (0, Vec::new());
    while let Some(event) = calendar.advance() {
        if let Some(done) = chips.handle(event, &mut calendar) {
            said.push(loops(&chips, &done));
        }
        if event == Event::BusFree(ChannelId(0)) && chips.can_suspend(DIE, calendar.now()) {
            chips.suspend(DIE, &mut calendar);
        } else if chips.is_suspended(DIE) && chips.is_idle(DIE) && reads < 6 {
            reads += 1;
            let read = command(&chips, Operation::Read, 16 + reads);
            chips.start(DIE, read, &mut calendar).expect("reads go amid an erase");
        } else if chips.is_suspended(DIE) && chips.is_idle(DIE) {
            chips.resume(DIE, &mut calendar);
        }
    }
    let of_reads = (2..8).map(Some);
    assert_eq!(said, of_reads.chain([Some(1)]).collect::<Vec<_>>());
}

#[test]
fn a_set_that_nobody_set_is_refused_and_its_setting_takes_time() {
    let mut chips = chips(1);
    let mut calendar = Calendar::new();
    let read = command(&chips, Operation::Read, 0);
    assert_eq!(chips.start(DIE, read, &mut calendar), Err(Refusal::NoSuchParameters { set: 1 }));
    let setting = Duration::from_us(2);
    chips.set_parameters(3, Parameters { setting, ..Parameters::DATA_SHEET });
    assert_eq!(chips.parameters(2), Some(&Parameters::DATA_SHEET), "one below that nobody set");
    let sheet = chips.part().read_time(0);
    let ended = run(&mut chips, &[read.with(0), read.with(2), read.with(3)]);
    let arrays: Vec<Duration> = ended.iter().map(|(done, _)| done.array).collect();
    assert_eq!(arrays, [sheet, sheet, sheet + setting]);
    assert!(ended.iter().all(|(_, loops)| loops.is_none()));
}

#[test]
fn the_state_of_cells_and_sets_is_part_of_that_of_the_chips() {
    let mut chips = counted();
    let erase = command(&chips, Operation::Erase, 0);
    run(&mut chips, &[erase]);
    let mut bytes = Vec::new();
    chips.save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
    let mut again = counted();
    again.set_parameters(1, Parameters::DATA_SHEET);
    again.load_state(&mut Reader::new(&mut bytes.as_slice())).expect("it was just written");
    let ended = run(&mut again, &[command(&chips, Operation::Read, 0)]);
    assert_eq!(ended[0].1, Some(2), "the second thing that was asked, by a set that asks for the outcome");
}
