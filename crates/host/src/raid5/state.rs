//! The state of the array in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::State;

use super::Raid5;
use super::array::Array;
use super::host::Host;
use super::stripe::Stripes;

wordline_kernel::state!(Raid5<D: State> of {
    Self { array, host, stripes, labels },
    Array { settings: _, members, durability, sync, timers, power, counts, own_flush, followed: _ } = array,
    Host { requests, completions, digest, attribution: _, recorder: _ } = host,
    Stripes { heads, batch: _, wait_for_log, intervals } = stripes,
} {
    values { sync, timers, power, counts, digest, completions, own_flush, wait_for_log, labels, intervals }
    parts { members, heads, requests, durability }
});
