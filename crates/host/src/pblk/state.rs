//! The state of the FTL in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};

use super::Pblk;
use super::buffer::Buffer;
use super::flash::Flash;

impl<D: State> State for Pblk<D> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self {
            flash,
            buffer,
            durable,
            front,
            writer,
            collector,
            recovery,
            digest,
            tracked: _,
            attribution: _,
            recorder: _,
        } = self;
        let Flash { layout: _, port, lines, limiter, counts } = flash;
        let Buffer { map, ring } = buffer;
        to.value("counts", counts)?;
        to.value("digest", digest)?;
        to.part("port", port)?;
        to.part("map", map)?;
        to.part("ring", ring)?;
        to.part("limiter", limiter)?;
        to.part("lines", lines)?;
        to.part("writer", writer)?;
        to.part("collector", collector)?;
        to.part("front", front)?;
        to.part("durable", durable)?;
        to.part("recovery", recovery)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Self {
            flash,
            buffer,
            durable,
            front,
            writer,
            collector,
            recovery,
            digest,
            tracked: _,
            attribution: _,
            recorder: _,
        } = self;
        let Flash { layout: _, port, lines, limiter, counts } = flash;
        let Buffer { map, ring } = buffer;
        *counts = from.value("counts")?;
        *digest = from.value("digest")?;
        from.part("port", port)?;
        from.part("map", map)?;
        from.part("ring", ring)?;
        from.part("limiter", limiter)?;
        from.part("lines", lines)?;
        from.part("writer", writer)?;
        from.part("collector", collector)?;
        from.part("front", front)?;
        from.part("durable", durable)?;
        from.part("recovery", recovery)
    }
}
