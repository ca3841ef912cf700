//! The state of chips in a snapshot: the state of each part, side by side.

use super::Chips;
use super::cells::Cells;
use super::sequencer::Sequencer;

// Recorded spans belong to the caller that requested them. The cached time of a partial page is recomputed.
wordline_kernel::state!(Chips of {
    Self { cells, sequencer },
    Cells { pools: _, pages, modes, faults, counts, backs_up: _ } = cells,
    Sequencer { tables, buses, dies, behind, suspended, serial, recorder: _ } = sequencer,
} {
    values { buses, dies, behind, suspended, counts, serial }
    parts { pages, faults, modes, tables }
});
