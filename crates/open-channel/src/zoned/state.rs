//! The state of the zones in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};

use super::Zoned;
use super::below::Below;
use super::host::Host;
use super::zones::Zones;

impl<D: State> State for Zoned<D> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { geometry: _, zones, below, host, is_recovering } = self;
        let Zones { config: _, table, bodies, pieces, counts, losses } = zones;
        let Below { device, sent } = below;
        let Host { commands, outbox, digest } = host;
        to.value("bodies", bodies)?;
        to.value("commands", commands)?;
        to.value("pieces", pieces)?;
        to.value("sent", sent)?;
        to.value("outbox", outbox)?;
        to.value("counts", counts)?;
        to.value("losses", losses)?;
        to.value("is_recovering", is_recovering)?;
        to.value("digest", digest)?;
        to.part("device", device)?;
        to.part("table", table)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Self { geometry: _, zones, below, host, is_recovering } = self;
        let Zones { config: _, table, bodies, pieces, counts, losses } = zones;
        let Below { device, sent } = below;
        let Host { commands, outbox, digest } = host;
        *bodies = from.value("bodies")?;
        *commands = from.value("commands")?;
        *pieces = from.value("pieces")?;
        *sent = from.value("sent")?;
        *outbox = from.value("outbox")?;
        *counts = from.value("counts")?;
        *losses = from.value("losses")?;
        *is_recovering = from.value("is_recovering")?;
        *digest = from.value("digest")?;
        from.part("device", device)?;
        from.part("table", table)
    }
}
