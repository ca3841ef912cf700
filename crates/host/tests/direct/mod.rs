//! A host without an FTL: it returns the data that were written, and shows the latency of the device.

mod closed_form;
mod explained;
mod random;

use wordline_host::direct::{Direct, DirectFile, Spread};
use wordline_kernel::Seed;
use wordline_open_channel::OpenChannel;

use crate::pblk::rig::{self, Chips, Host, Kind};

/// A host over a device of a kind, with chips as in the other tests.
pub fn file(chips: Chips, kind: Kind, programs: u64) -> DirectFile {
    DirectFile {
        over_provisioning: 0.3,
        spread: Spread::Requests,
        retry: true,
        open_channel: kind.below(rig::file(chips, 8, 0.5), programs, 4).open_channel,
    }
}

/// Writes more than the open chunks hold, with limits of one chunk for each of the four parallel units, or one
/// more.
#[test]
fn writes_wait_until_another_chunk_may_be_open() {
    for (max_open, max_open_per_unit) in [(Some(4), None), (Some(5), None), (None, Some(1))] {
        let mut file = file([40, 16, 1, 2, 2], Kind::Shift, 4);
        (file.open_channel.max_open, file.open_channel.max_open_per_unit) = (max_open, max_open_per_unit);
        let mut host = Host::of(build(file, 1), false);
        for n in 0..host.pages() / 2 {
            host.write(n);
            host.run_down_to(8);
            // A cut may lose the last writes of a chunk, which then stays open.
            if n % 61 == 60 {
                host.go_on(n as usize % 13);
                host.cut_power();
            }
        }
        host.read_all();
    }
}

pub fn build(file: DirectFile, seed: u64) -> Direct<OpenChannel> {
    file.check().unwrap_or_else(|wrong| panic!("{wrong}")).build(Seed(seed))
}
