//! The state of chips in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};

use super::Chips;
use super::cells::Cells;
use super::sequencer::Sequencer;

// Recorded spans belong to the caller that requested them. The cached time of a partial page is recomputed.
impl State for Chips {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { cells, sequencer } = self;
        let Cells { pools: _, pages, modes, faults, counts, backs_up: _ } = cells;
        let Sequencer { tables: _, buses, dies, behind, suspended, serial, recorder: _ } = sequencer;
        to.value("buses", buses)?;
        to.value("dies", dies)?;
        to.value("behind", behind)?;
        to.value("suspended", suspended)?;
        to.value("counts", counts)?;
        to.value("serial", serial)?;
        to.part("pages", pages)?;
        to.part("faults", faults)?;
        to.part("modes", modes)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Self { cells, sequencer } = self;
        let Cells { pools: _, pages, modes, faults, counts, backs_up: _ } = cells;
        let Sequencer { tables: _, buses, dies, behind, suspended, serial, recorder: _ } = sequencer;
        *buses = from.value("buses")?;
        *dies = from.value("dies")?;
        *behind = from.value("behind")?;
        *suspended = from.value("suspended")?;
        *counts = from.value("counts")?;
        *serial = from.value("serial")?;
        from.part("pages", pages)?;
        from.part("faults", faults)?;
        from.part("modes", modes)
    }
}
