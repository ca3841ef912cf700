//! Runs lists of commands, one list for each die, as fast as the dies accept them; cycle analyses use it.
//!
//! Both update modes of NANDFlashSim (section 6.2) run the same lists and return the same spans: [`fast`]
//! jumps from event to event, [`Reference`] updates every entity at every clock edge.

pub(crate) mod list;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Calendar, Instant, Schedule};

pub use list::{Cells, List, ListError};

use crate::chips::{Event, Wiring};
use crate::{Chips, Geometry, Part, Reference, Span};
use list::first_command_numbers;

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
