//! The state of the zones in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::State;

use super::Zoned;
use super::below::Below;
use super::host::Host;
use super::zones::Zones;

wordline_kernel::state!(Zoned<D: State> of {
    Self { geometry: _, zones, below, host, is_recovering },
    Zones { config: _, table, bodies, pieces, counts, losses, lost_at_cut, is_untimed: _ } = zones,
    Below { device, sent } = below,
    Host { commands, outbox, digest, later: _ } = host,
} {
    values { bodies, commands, pieces, sent, outbox, counts, losses, lost_at_cut, is_recovering, digest }
    parts { device, table }
});
