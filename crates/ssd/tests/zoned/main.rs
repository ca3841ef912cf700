//! Zones: their states, reading back, padding, faults, power cuts, snapshots, and their configuration.

#![allow(missing_docs)]

mod host;
mod model;
mod random;
mod rules;
mod states;

use wordline_kernel::Bytes;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;
use wordline_ssd::config::{BufferFile, DeviceFile, FrontFile, FtlFile};
use wordline_ssd::open_channel::buffer::{BufferFile as WriteBuffer, CompletionMode};
use wordline_ssd::open_channel::failures::EarlyClose;
use wordline_ssd::open_channel::{FailuresFile, OpenChannelFile};
use wordline_ssd::zoned::ZonesFile;

include!("../common/small.rs");

/// The chips of the small device: two groups of two parallel units, 24 chunks of 32 pages, two to a program.
fn device() -> OpenChannelFile {
    let DeviceFile { part, layout, .. } = small();
    OpenChannelFile::of(part, layout)
}

/// Zones of two chunks, in stripes of two programs: 56 of 64 logical blocks, 48 zones.
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

/// The same device with a write buffer of four programs and a manager of failures.
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
