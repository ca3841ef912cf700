//! A host without an FTL: it returns the data that were written, and shows the latency of the device.

mod closed_form;
mod explained;
mod random;

use wordline_host::direct::{Direct, DirectFile, Spread};
use wordline_kernel::Seed;
use wordline_open_channel::OpenChannel;

use crate::pblk::rig::{self, Chips, Kind};

/// A host over a device of a kind, with chips as in the other tests.
pub fn file(chips: Chips, kind: Kind, programs: u64) -> DirectFile {
    DirectFile {
        over_provisioning: 0.3,
        spread: Spread::Requests,
        retry: true,
        open_channel: kind.below(rig::file(chips, 8, 0.5), programs, 4).open_channel,
    }
}

pub fn build(file: DirectFile, seed: u64) -> Direct<OpenChannel> {
    file.check().unwrap_or_else(|wrong| panic!("{wrong}")).build(Seed(seed))
}
