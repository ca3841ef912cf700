//! A host without an FTL returns the data that it took, and measures the device's latency.

mod closed_form;
mod random;

use wordline_host::direct::{Direct, DirectFile, Spread};
use wordline_kernel::Seed;
use wordline_ssd::OpenChannel;

use crate::pblk::rig::{self, Chips, Kind};

/// A host on chips like those of the other tests, over a device of a kind.
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
