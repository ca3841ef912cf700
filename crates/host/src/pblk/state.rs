//! The state of the FTL in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::State;

use super::Pblk;
use super::buffer::Buffer;
use super::flash::Flash;

wordline_kernel::state!(Pblk<D: State> of {
    Self { flash, buffer, durable, front, writer, collector, recovery, digest, tracked: _, attribution: _, recorder: _ },
    Flash { layout: _, port, lines, limiter, counts } = flash,
    Buffer { map, ring } = buffer,
} {
    values { counts, digest }
    parts { port, map, ring, limiter, lines, writer, collector, front, durable, recovery }
});
