//! The reference mode: every entity is updated at every edge of its clock (NANDFlashSim, section 6.2).
//!
//! It is a second implementation of the rules, written to be obviously correct: without the calendar, the
//! look-ahead and the tables of [`Chips`](crate::Chips). A channel counts down the clocks of its cycles, an
//! array counts down the clocks of its operation, and a die waits for their signals. It shares only data with
//! the fast mode: the cycles of a chain ([`BusPhase`](crate::chain::BusPhase)) and the times of the part.
//!
//! The run time is proportional to the number of dies, and to the simulated time divided by the shorter clock
//! period. Each step of a die takes some ten nanoseconds: a simulated millisecond of one die at 1 ns takes
//! some ten milliseconds. Use it to check the fast mode, or to trace a few commands. With
//! [`Clocks::CONTINUOUS`](crate::clock::Clocks::CONTINUOUS) every picosecond is an edge.

mod array;
mod channel;
mod die;
mod shared;

use wordline_kernel::Instant;

use crate::chips::Wiring;
use crate::drive::list::{Cells, List, ListError, first_command_numbers};
use crate::{Geometry, Part, Span};

use channel::Channel;
use die::Die;
use shared::{SharedState, cell_model, views};

/// A simulator of dies and channels that steps clock by clock.
#[derive(Clone, Debug)]
pub struct Reference {
    part: Part,
    geometry: Geometry,
    wiring: Wiring,
    cells: Cells,
}

impl Reference {
    /// A simulator of dies of this part.
    pub fn new(part: Part, geometry: Geometry, wiring: Wiring) -> Self {
        Self { part, geometry, wiring, cells: Cells::default() }
    }

    /// The simulator with the cell model `cells`.
    pub fn over(self, cells: Cells) -> Self {
        Self { cells, ..self }
    }

    /// Runs `lists` and returns the same spans as [`fast`](crate::drive::fast).
    ///
    /// # Errors
    /// As for [`fast`](crate::drive::fast).
    pub fn run(&self, lists: &[List]) -> Result<Vec<Span>, ListError> {
        let Self { part, geometry, wiring, cells } = self;
        let serials = first_command_numbers(part, *geometry, lists, cells.sets.len())?;
        let mut dies: Vec<Die> =
            lists.iter().zip(serials).map(|(list, first)| Die::new(list, first)).collect();
        // Sorted by their numbers, which decide ties.
        dies.sort_by_key(Die::id);
        let mut channels: Vec<Channel> = (0..geometry.channels).map(Channel::new).collect();
        let mut world = SharedState {
            part,
            views: views(part, wiring),
            cell_model: cell_model(cells),
            geometry,
            wiring: *wiring,
            now: Instant::ZERO,
            spans: Vec::new(),
        };
        let (mut host, mut nand) = (Instant::ZERO, Instant::ZERO);
        while !dies.iter().all(Die::is_done) {
            world.now = host.min(nand);
            step(&mut world, &mut dies, &mut channels, edges(host, nand));
            if host == world.now {
                host += wiring.clocks.host.period();
            }
            if nand == world.now {
                nand += wiring.clocks.nand.period();
            }
        }
        world.spans.sort();
        Ok(world.spans)
    }
}

/// Whether the next edge is an edge of the controller's clock, and whether it is one of the dies' clock.
fn edges(host: Instant, nand: Instant) -> (bool, bool) {
    (host <= nand, nand <= host)
}

/// Simulates one instant: counts continue by one clock, then the operations that depend on them begin.
fn step(world: &mut SharedState<'_>, dies: &mut [Die], channels: &mut [Channel], (host, nand): (bool, bool)) {
    if nand {
        dies.iter_mut().for_each(|die| die.array.tick(world));
    }
    if host {
        channels.iter_mut().for_each(|channel| channel.tick(world, dies));
    }
    if nand {
        dies.iter_mut().for_each(|die| die.array.begin(world));
    }
    dies.iter_mut().for_each(|die| die.update(world));
    if host {
        channels.iter_mut().for_each(|channel| channel.arbitrate(world, dies));
    }
}
