//! Runs lists of commands, one list for each die, as fast as the dies accept them; cycle analyses use it.
//!
//! Both update modes of NANDFlashSim (section 6.2) run the same lists and return the same spans: [`fast`]
//! jumps from event to event, [`Reference`] updates every entity at every clock edge.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Calendar, Instant, Schedule};

use crate::chips::{Event, Refusal, Wiring, fits};
use crate::{Chips, Command, DieId, Geometry, Operation, Parameters, Part, Physics, Pools, Reference, Span};

/// The commands of a die, in order. A sequence of cache reads must be complete: each command names the page
/// of the next one.
pub type List = (DieId, Vec<Command>);

/// How simulated time advances. Both modes give the same spans at different computing cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// From event to event ([`fast`]).
    #[default]
    Fast,
    /// From clock edge to clock edge ([`Reference`]): to check the fast mode, with clock periods of
    /// nanoseconds.
    Reference,
}

impl Mode {
    /// Runs `lists` in this mode and returns the spans as [`fast`] does.
    ///
    /// # Errors
    /// The reason why a list cannot be run.
    pub fn run(
        self,
        part: &Part,
        geometry: Geometry,
        wiring: Wiring,
        lists: &[List],
    ) -> Result<Vec<Span>, ListError> {
        self.run_with_cells(&Cells::default(), part, geometry, wiring, lists)
    }

    /// Runs `lists` with the cell model `cells`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with_cells(
        self,
        cells: &Cells,
        part: &Part,
        geometry: Geometry,
        wiring: Wiring,
        lists: &[List],
    ) -> Result<Vec<Span>, ListError> {
        match self {
            Self::Fast => fast_with_cells(cells, part, geometry, wiring, lists),
            Self::Reference => Reference::new(part.clone(), geometry, wiring).over(cells.clone()).run(lists),
        }
    }
}

/// The cell model used for the lists; by default the data sheet alone.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// Model of the array times; `None` for the data sheet.
    pub physics: Option<Box<dyn Physics>>,
    /// The parameter sets that commands may refer to, from number 1 on.
    pub sets: Vec<Parameters>,
}

/// The reason why lists cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListError {
    /// Two lists are for one die.
    SecondList {
        /// The die.
        die: DieId,
    },
    /// The die does not accept a command.
    Refused {
        /// The die.
        die: DieId,
        /// Index of the command in its list, from 0.
        at: usize,
        /// Why.
        why: Refusal,
    },
    /// A list ends within a sequence of cache reads.
    Unfinished {
        /// The die.
        die: DieId,
    },
}

impl fmt::Display for ListError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SecondList { die } => write!(out, "die {}: found two lists, wanted one", die.0),
            Self::Refused { die, at, why } => write!(out, "die {}, command {at}: {why}", die.0),
            Self::Unfinished { die } => {
                write!(out, "die {}: the list ends within a sequence of cache reads", die.0)
            }
        }
    }
}

impl std::error::Error for ListError {}

/// By list: the number of its first command in the spans. Commands are numbered list by list. All commands
/// are checked before the first one begins.
pub(crate) fn first_command_numbers(
    part: &Part,
    geometry: Geometry,
    lists: &[List],
    sets: usize,
) -> Result<Vec<u32>, ListError> {
    let pools = Pools::of_pages(part.clone(), geometry);
    let (mut first, mut serials) = (0, Vec::new());
    for (n, (die, commands)) in lists.iter().enumerate() {
        if lists[..n].iter().any(|(other, _)| other == die) {
            return Err(ListError::SecondList { die: *die });
        }
        check_list(&pools, *die, commands, sets)?;
        serials.push(first);
        first += commands.len() as u32;
    }
    Ok(serials)
}

/// Checks that the die has the pages and planes of each command. Checks also that each cache read that names
/// a next page is followed by the cache read that moves this page out, and vice versa.
fn check_list(pools: &Pools, die: DieId, commands: &[Command], sets: usize) -> Result<(), ListError> {
    let mut expected = None;
    for (at, command) in commands.iter().enumerate() {
        let refused = |why| ListError::Refused { die, at, why };
        fits(pools, die, command, &|_| command.mode.unwrap_or_default()).map_err(refused)?;
        if usize::from(command.parameters) > sets {
            return Err(refused(Refusal::NoSuchParameters { set: command.parameters }));
        }
        let (goes_on, next) = match command.operation {
            Operation::ReadCache { first, next } => (!first, next),
            _ => (false, None),
        };
        let wanted = goes_on.then_some((command.page, command.planes));
        if expected != wanted {
            return Err(refused(Refusal::Sequence { sensed: expected.map(|(page, _)| page) }));
        }
        expected = next.map(|page| (page, command.planes));
    }
    if expected.is_none() { Ok(()) } else { Err(ListError::Unfinished { die }) }
}

/// Runs `lists` in the fast mode: the cost depends on the number of events, not on the clocks.
///
/// Returns the spans of all stages, ordered by their begin. Commands are counted list by list, from 0. Pages
/// have no contents. A command that exceeds a limit of the part is run nevertheless. The mode of a block is
/// the mode of the command, or native.
///
/// # Errors
/// Two lists are for one die, a list ends within a sequence of cache reads, or a die lacks a page or plane
/// that a command addresses.
pub fn fast(part: &Part, geometry: Geometry, wiring: Wiring, lists: &[List]) -> Result<Vec<Span>, ListError> {
    fast_with_cells(&Cells::default(), part, geometry, wiring, lists)
}

/// Runs `lists` with the cell model `cells`.
fn fast_with_cells(
    cells: &Cells,
    part: &Part,
    geometry: Geometry,
    wiring: Wiring,
    lists: &[List],
) -> Result<Vec<Span>, ListError> {
    let mut run = Run {
        lists,
        first: first_command_numbers(part, geometry, lists, cells.sets.len())?,
        started: vec![0; lists.len()],
        numbers: Vec::new(),
        chips: Chips::counting(part.clone(), geometry, wiring),
        calendar: Calendar::new(),
    };
    run.chips.record();
    for (number, parameters) in (1..).zip(&cells.sets) {
        run.chips.set_parameters(number, *parameters);
    }
    if let Some(physics) = &cells.physics {
        run.chips.set_physics(physics.clone());
    }
    lists.iter().flat_map(|(_, commands)| commands).filter_map(|command| command.mode).for_each(|mode| {
        run.chips.enable_mode(mode);
    });
    for (die, _) in lists {
        // Scheduled as events, so that all commands of time zero are known before a bus is granted.
        run.calendar.at(Instant::ZERO, Event::GrantEnded(*die));
    }
    for (list, _) in lists.iter().enumerate() {
        let _ = run.calendar.advance();
        run.start_next(list);
    }
    while let Some(event) = run.calendar.advance() {
        run.chips.handle(event, &mut run.calendar);
        if let Some(list) = run.list_of(event) {
            run.start_next(list);
        }
    }
    Ok(run.spans())
}

/// The lists being run.
struct Run<'a> {
    lists: &'a [List],
    /// The number of each list's first command.
    first: Vec<u32>,
    /// Number of started commands of each list.
    started: Vec<usize>,
    /// The number of each command, in the order of their start.
    numbers: Vec<u32>,
    chips: Chips,
    calendar: Calendar<Event>,
}

impl Run<'_> {
    /// The list of the die that the event concerns.
    fn list_of(&self, event: Event) -> Option<usize> {
        let (Event::ArrayDone(die)
        | Event::RegisterTransferred(die)
        | Event::GrantEnded(die)
        | Event::CacheProgramDone(die)) = event
        else {
            return None;
        };
        self.lists.iter().position(|(of, _)| *of == die)
    }

    /// Starts the next command of a list if its die accepts it.
    fn start_next(&mut self, list: usize) {
        let (die, commands) = &self.lists[list];
        let Some(command) = commands.get(self.started[list]) else { return };
        if self.chips.takes(*die, command.operation, self.calendar.now()) {
            self.numbers.push(self.first[list] + self.started[list] as u32);
            self.started[list] += 1;
            self.chips.begin(*die, *command, &mut self.calendar);
        }
    }

    /// The spans, with commands numbered list by list.
    fn spans(mut self) -> Vec<Span> {
        let spans = self.chips.take_spans().into_iter();
        let mut spans: Vec<Span> =
            spans.map(|span| Span { command: self.numbers[span.command as usize], ..span }).collect();
        spans.sort();
        spans
    }
}
