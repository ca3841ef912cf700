//! State that all entities of the reference mode share: the part, its cells, the time and the spans.

use wordline_kernel::{Duration, Instant};

use crate::chips::Wiring;
use crate::clock::Clock;
use crate::drive::list::Cells;
use crate::physics::{CellModel, Work};
use crate::{CellMode, Command, Geometry, Latency, Parameters, Part, PlaneBlock, Span, Stage};

/// The shared state of all entities.
pub(super) struct SharedState<'a> {
    pub(super) part: &'a Part,
    /// The part in each of its modes, with its array times.
    pub(super) views: Vec<(CellMode, Part, Latency)>,
    /// The cell model and the parameter sets.
    pub(super) cell_model: CellModel,
    pub(super) geometry: &'a Geometry,
    pub(super) wiring: Wiring,
    pub(super) now: Instant,
    pub(super) spans: Vec<Span>,
}

impl SharedState<'_> {
    /// The part and its array times in the mode of a command.
    pub(super) fn view(&self, command: &Command) -> (&Part, &Latency) {
        let mode = command.mode.unwrap_or_default();
        let is_it = |view: &&(CellMode, Part, Latency)| {
            (view.0.of_block(), view.0.is_reprogram()) == (mode.of_block(), mode.is_reprogram())
        };
        let (_, part, latency) = self.views.iter().find(is_it).expect("the part has the mode");
        (part, latency)
    }

    /// The clocks of the array operation of a command, for a page of this number in these blocks.
    pub(super) fn queried_clocks(
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
        let (time, _) = self.cell_model.query(command.parameters, work);
        self.nand_clocks(time)
    }

    /// `time` in clocks of the controller.
    pub(super) fn host_clocks(&self, time: Duration) -> u64 {
        clocks(self.wiring.clocks.host, time)
    }

    /// `time` in clocks of the dies.
    pub(super) fn nand_clocks(&self, time: Duration) -> u64 {
        clocks(self.wiring.clocks.nand, time)
    }
}

/// The cell model of all dies.
pub(super) fn cell_model(cells: &Cells) -> CellModel {
    let mut cell_model = CellModel::default();
    for (number, parameters) in (1..).zip(&cells.sets) {
        cell_model.set(number, *parameters);
    }
    if let Some(physics) = &cells.physics {
        cell_model.set_physics(physics.clone());
    }
    cell_model
}

/// The part in each mode of commands.
pub(super) fn views(part: &Part, wiring: &Wiring) -> Vec<(CellMode, Part, Latency)> {
    let all = [CellMode::Native, CellMode::Slc, CellMode::Mlc, CellMode::Reprogrammed(0)];
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
