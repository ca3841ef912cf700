//! Zones: states, reading back, padding, faults, power losses, snapshots, and configuration.

#![allow(missing_docs)]

mod host;
mod model;
mod random;
mod rules;
mod states;

use wordline_kernel::Bytes;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_open_channel::OpenChannelFile;
use wordline_open_channel::device::FailuresFile;
use wordline_open_channel::device::buffer::{BufferFile as WriteBuffer, CompletionMode};
use wordline_open_channel::device::failures::EarlyClose;
use wordline_open_channel::zoned::ZonesFile;

include!("../../../nand/tests/common/small.rs");

/// Chips of the small device: two groups with two parallel units each, and 24 chunks of 32 pages in a
/// parallel unit. A program writes two pages.
fn device() -> OpenChannelFile {
    let (part, layout) = small_chips();
    OpenChannelFile::of(part, layout)
}

/// 48 zones of two chunks each, in stripes of two programs. 56 of the 64 logical blocks of a zone are
/// writable.
fn zones() -> ZonesFile {
    ZonesFile {
        width: Some(2),
        stripe: Some(4),
        capacity: Some(Bytes::kib(4 * 56)),
        max_active: Some(5),
        max_open: Some(3),
        append_limit: Some(Bytes::kib(32)),
        ..ZonesFile::default()
    }
}

/// [`device`] with a write buffer of four programs and a failure manager.
fn managed(reserve: f64, protected: bool) -> OpenChannelFile {
    let buffer = WriteBuffer {
        size: Bytes::kib(32),
        completion: CompletionMode::WriteBack,
        unreliable: false,
        protected,
    };
    let failures = FailuresFile {
        block_map: true,
        shift: true,
        reserve,
        early_close: EarlyClose::Pad,
        volatile_tables: true,
    };
    OpenChannelFile { buffer: Some(buffer), failures: Some(failures), ..device() }
}

fn rule(fails: Fails) -> FaultFile {
    FaultFile::new(fails)
}
