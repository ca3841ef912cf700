//! The reference mode: every entity is updated at every edge of its clock (NANDFlashSim, section 6.2).
//!
//! It is there to be obviously right, and says the rules a second time, without the calendar, the look-ahead and the
//! tables of [`Chips`](crate::Chips): a channel counts down the clocks of one cycle after the other, an array those
//! of its work, and a die waits for their signals. It shares with the fast mode what is fact, not mechanism: the
//! cycles of a chain ([`Hold`](crate::chain::Hold)) and the times of the part.
//!
//! Its cost is the simulated time divided by the shorter period, times the dies: some ten nanoseconds for each, so
//! that a millisecond of one die at 1 ns takes some ten milliseconds. Take it to check the fast mode, or to watch a
//! few commands; with [`Clocks::CONTINUOUS`](crate::clock::Clocks::CONTINUOUS) every picosecond is an edge.

mod array;
mod channel;
mod die;

use wordline_kernel::{Duration, Instant};

use crate::chips::Wiring;
use crate::clock::Clock;
use crate::drive::{Cells, List, ListError, first_serials};
use crate::physics::{Asked, Work};
use crate::{CellMode, Command, Geometry, Latency, Parameters, Part, PlaneBlock, Span, Stage};

use channel::Channel;
use die::Die;

/// Dies and channels that are stepped clock by clock.
#[derive(Clone, Debug)]
pub struct Reference {
    part: Part,
    geometry: Geometry,
    wiring: Wiring,
    cells: Cells,
}

/// The state that all entities share.
struct World<'a> {
    part: &'a Part,
    /// The part in each mode that it has, and its times there.
    views: Vec<(CellMode, Part, Latency)>,
    /// The parameters of the cells.
    asked: Asked,
    geometry: &'a Geometry,
    wiring: Wiring,
    now: Instant,
    spans: Vec<Span>,
}

impl World<'_> {
    /// The part and its times as a command sees them.
    fn view(&self, command: &Command) -> (&Part, &Latency) {
        let mode = command.mode.unwrap_or_default();
        let is_it = |view: &&(CellMode, Part, Latency)| {
            (view.0.of_block(), view.0.is_again()) == (mode.of_block(), mode.is_again())
        };
        let (_, part, latency) = self.views.iter().find(is_it).expect("the part has the mode");
        (part, latency)
    }

    /// The clocks that the array works for a command, for a page of this number in these blocks.
    fn asked_clocks(
        &mut self,
        command: &Command,
        stage: Stage,
        (page, blocks): (u32, &[PlaneBlock]),
        time: Duration,
    ) -> u64 {
        let mode = command.mode.unwrap_or_default();
        let part = self.view(command).0.clone();
        let (begin, data_sheet) = (self.now, self.wiring.clocks.nand.whole(time));
        let parameters = &Parameters::DATA_SHEET;
        let work = Work { stage, part: &part, mode, page, blocks, parameters, begin, data_sheet };
        let (time, _) = self.asked.ask(command.parameters, work);
        self.nand_clocks(time)
    }

    /// The clocks of the controller that something takes.
    fn host_clocks(&self, time: Duration) -> u64 {
        clocks(self.wiring.clocks.host, time)
    }

    /// The clocks of a die that something takes.
    fn nand_clocks(&self, time: Duration) -> u64 {
        clocks(self.wiring.clocks.nand, time)
    }
}

/// The cells of all dies.
fn asked(cells: &Cells) -> Asked {
    let mut asked = Asked::default();
    for (number, parameters) in (1..).zip(&cells.sets) {
        asked.set(number, *parameters);
    }
    if let Some(physics) = &cells.physics {
        asked.set_physics(physics.clone());
    }
    asked
}

/// The part in each mode that commands may be spelled in.
fn views(part: &Part, wiring: &Wiring) -> Vec<(CellMode, Part, Latency)> {
    let all = [CellMode::Native, CellMode::Slc, CellMode::TwoBit, CellMode::Reprogrammed(0)];
    let view = |mode| {
        let part = part.in_mode(mode)?;
        let latency = Latency::new(&part, wiring.latency, wiring.seed);
        Some((mode, part, latency))
    };
    all.into_iter().filter_map(view).collect()
}

fn clocks(clock: Clock, time: Duration) -> u64 {
    time.ps().div_ceil(clock.period().ps())
}

impl Reference {
    /// Dies of this part, wired like this.
    pub fn new(part: Part, geometry: Geometry, wiring: Wiring) -> Self {
        Self { part, geometry, wiring, cells: Cells::default() }
    }

    /// The same dies over `cells`.
    pub fn over(self, cells: Cells) -> Self {
        Self { cells, ..self }
    }

    /// Carries out `lists` and returns what [`fast`](crate::drive::fast) returns for them.
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, lists: &[List]) -> Result<Vec<Span>, ListError> {
        let Self { part, geometry, wiring, cells } = self;
        let serials = first_serials(part, *geometry, lists, cells.sets.len())?;
        let mut dies: Vec<Die> =
            lists.iter().zip(serials).map(|(list, first)| Die::new(list, first)).collect();
        // In the order of their numbers, which is that of ties.
        dies.sort_by_key(Die::id);
        let mut channels: Vec<Channel> = (0..geometry.channels).map(Channel::new).collect();
        let mut world = World {
            part,
            views: views(part, wiring),
            asked: asked(cells),
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

/// Whose edge the earlier of the next two edges is: of the controller's clock, of the dies' clock.
fn edges(host: Instant, nand: Instant) -> (bool, bool) {
    (host <= nand, nand <= host)
}

/// One instant: what was being counted goes on by one clock, then what follows from that begins.
fn step(world: &mut World<'_>, dies: &mut [Die], channels: &mut [Channel], (host, nand): (bool, bool)) {
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
