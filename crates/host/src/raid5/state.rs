//! The state of the array in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};

use super::Raid5;
use super::array::Array;
use super::host::Host;
use super::stripe::Stripes;

impl<D: State> State for Raid5<D> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { array, host, stripes, labels } = self;
        let Array { settings: _, members, durability, sync, timers, power, counts, own_flush, followed: _ } =
            array;
        let Host { requests, completions, digest, attribution: _, recorder: _ } = host;
        let Stripes { heads, batch: _, wait_for_log, intervals } = stripes;
        to.value("sync", sync)?;
        to.value("timers", timers)?;
        to.value("power", power)?;
        to.value("counts", counts)?;
        to.value("digest", digest)?;
        to.value("completions", completions)?;
        to.value("own_flush", own_flush)?;
        to.value("wait_for_log", wait_for_log)?;
        to.value("labels", labels)?;
        to.value("intervals", intervals)?;
        to.part("members", members)?;
        to.part("heads", heads)?;
        to.part("requests", requests)?;
        to.part("durability", durability)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Self { array, host, stripes, labels } = self;
        let Array { settings: _, members, durability, sync, timers, power, counts, own_flush, followed: _ } =
            array;
        let Host { requests, completions, digest, attribution: _, recorder: _ } = host;
        let Stripes { heads, batch: _, wait_for_log, intervals } = stripes;
        *sync = from.value("sync")?;
        *timers = from.value("timers")?;
        *power = from.value("power")?;
        *counts = from.value("counts")?;
        *digest = from.value("digest")?;
        *completions = from.value("completions")?;
        *own_flush = from.value("own_flush")?;
        *wait_for_log = from.value("wait_for_log")?;
        *labels = from.value("labels")?;
        *intervals = from.value("intervals")?;
        from.part("members", members)?;
        from.part("heads", heads)?;
        from.part("requests", requests)?;
        from.part("durability", durability)
    }
}
