//! The zoned FTL: it returns the data that were written, through failures and power cuts at any time.

mod random;

use wordline_host::pblk::Pblk;
use wordline_host::zones::ZonedFile;
use wordline_kernel::{Duration, Seed};
use wordline_open_channel::zoned::ZonesFile;
use wordline_open_channel::{OpenChannel, Zoned};

use crate::pblk::rig::{self, Chips, Host, Kind};

/// An FTL over zones of `width` of these chips' chunks, over a device of a kind with a buffer for this many
/// programs. A zone has `spare` strips less than its chunks.
pub fn file(chips: Chips, kind: Kind, programs: u64, width: u32, spare: u32) -> ZonedFile {
    let below = kind.below(rig::file(chips, 8, 0.5), programs, 6).open_channel;
    let [_, pages, planes, ..] = chips;
    let strips = (width * pages).saturating_sub(spare).max(1);
    let capacity = wordline_kernel::Bytes::kib(u64::from(4 * strips * planes));
    ZonedFile {
        over_provisioning: None,
        write_buffer: None,
        command_time: Duration::from_us(1),
        gc: wordline_host::pblk::CollectorFile::default(),
        zones: ZonesFile { width: Some(width), capacity: Some(capacity), ..ZonesFile::default() },
        open_channel: below,
    }
}

pub fn build(file: ZonedFile, seed: u64) -> Pblk<Zoned<OpenChannel>> {
    file.check().unwrap_or_else(|wrong| panic!("{wrong}")).build(Seed(seed))
}

pub fn host(file: ZonedFile) -> Host<Pblk<Zoned<OpenChannel>>> {
    let may_fail = !file.open_channel.faults.is_empty();
    Host::of(build(file, 1), may_fail)
}

#[test]
fn lines_are_zones_and_what_is_overwritten_is_reset() {
    let mut host = host(file([40, 16, 1, 2, 2], Kind::Shift, 4, 4, 3));
    host.fill();
    for n in 0..4 * host.pages() {
        host.write(n * 7_919 % host.pages());
        host.run_down_to(8);
    }
    host.read_all();
    let zones = host.device.device();
    let counts = zones.counts();
    assert!(counts.resets > 60 && counts.appends > 1_000 && counts.writes_failed == 0, "{counts:?}");
    assert_eq!((counts.zones_filled_by_device, counts.padding), (0, 0), "the host writes whole programs");
    assert!(host.device.counts().moved_pages > 0);
}

#[test]
fn resets_of_the_preparation_take_no_time_whatever_the_firmware_takes() {
    let mut file = file([40, 16, 1, 2, 2], Kind::Shift, 4, 4, 3);
    file.zones.reset_time = Some(Duration::from_ms(1));
    let mut host = host(file);
    host.fill_steady(1.0);
    let before = host.device.device().counts().resets;
    for n in 0..2 * host.pages() {
        host.write(n * 7_919 % host.pages());
        host.run_down_to(8);
    }
    host.read_all();
    assert!(before > 0 && host.device.device().counts().resets > before);
}

#[test]
fn limits_and_layouts_that_the_host_cannot_use_are_refused_by_their_keys() {
    let told = |change: fn(&mut ZonedFile)| {
        let mut file = file([40, 16, 1, 2, 2], Kind::Shift, 4, 2, 3);
        change(&mut file);
        file.check().expect_err("it does not fit").to_string()
    };
    for (change, key) in [
        ((|file| file.zones.max_active = Some(11)) as fn(&mut ZonedFile), "zones.max_active: found 11"),
        (|file| file.zones.max_open = Some(0), "zones.max_open: found 0"),
        (|file| file.zones.width = Some(3), "zones.width: found 3"),
        (|file| file.open_channel.mw_cunits = 2, "open_channel.mw_cunits: found 2"),
        (|file| file.over_provisioning = Some(0.01), "over_provisioning: found 0.01"),
        (|file| file.write_buffer = Some(wordline_kernel::Bytes::kib(4)), "write_buffer: found 4KiB"),
    ] {
        let found = told(change);
        assert!(found.starts_with(key) && found.lines().count() == 1, "{found}");
    }
}
