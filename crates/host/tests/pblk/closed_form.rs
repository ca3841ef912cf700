//! Small cases with hand-computed results.

use wordline_device::physical_device::ChunkState;
use wordline_device::{Operation, PhysicalDevice};
use wordline_kernel::{Duration, Schedule, Seed};
use wordline_nand::faults::{Fails, FaultFile, NumberRange};

use super::rig::{Host, medium, tiny, with};

#[test]
fn a_write_takes_the_time_of_the_host_and_a_flush_that_of_smeta_and_a_program() {
    let mut host = Host::new(tiny());
    host.write(0);
    host.run_down_to(0);
    let at = host.calendar.now();
    assert_eq!(at.ps(), Duration::from_us(1).ps(), "the page is in the ring");
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    let program = host.device.device().geometry().times.write[0];
    let took = host.calendar.now() - at;
    let both = program + program;
    // The transfers of two pages of 4 KiB and their spare bytes take some 21 us at 400 MT/s. Interface waits
    // take less than 1 us.
    assert!((both..both + Duration::from_us(25)).contains(&took), "{took}, two programs take {both}");
}

#[test]
fn a_flush_pads_a_strip() {
    let mut host = Host::new(medium());
    for page in 0..3 {
        host.write(page);
    }
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    let counts = host.device.counts();
    assert_eq!((counts.host_pages, counts.padding), (3, 1), "strips have two pages");
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    assert_eq!(host.device.counts().padding, 1, "there was nothing to flush");
}

#[test]
fn pages_are_read_from_the_ring_until_others_need_their_room() {
    let mut host = Host::new(medium());
    host.write(0);
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    host.submit(Operation::Read, false, 0, 1);
    host.run_down_to(0);
    assert_eq!((host.device.counts().read_from_ring, host.device.counts().read_from_flash), (1, 0));
    // The ring has 32 entries, and one of them stays empty. Padding takes no entry.
    (1..31).for_each(|page| host.write(page));
    host.run_down_to(0);
    host.submit(Operation::Read, false, 0, 1);
    host.run_down_to(0);
    assert_eq!(host.device.counts().read_from_ring, 2);
    host.write(31);
    host.submit(Operation::Read, false, 0, 1);
    host.run_down_to(0);
    assert_eq!((host.device.counts().read_from_ring, host.device.counts().read_from_flash), (2, 1));
}

#[test]
fn a_line_holds_smeta_data_and_emeta() {
    let mut host = Host::new(tiny());
    (0..24).for_each(|page| host.write(page));
    host.write(0);
    host.run_down_to(0);
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    // Lines have 12 data pages. Two lines are full, and the third is open. Emeta of the second line is
    // written at the latest with the fourth line.
    let counts = host.device.counts();
    assert_eq!((counts.host_pages, counts.smeta_blocks, counts.padding), (25, 3, 0));
    assert!((3..=6).contains(&counts.emeta_blocks), "{}", counts.emeta_blocks);
    host.audit();
}

#[test]
fn pages_that_are_overwritten_in_order_are_never_moved() {
    let mut host = Host::new(medium());
    host.fill();
    let before = host.device.counts().clone();
    for n in 0..5 * host.pages() {
        host.run_down_to(15);
        host.write(n);
    }
    host.run_down_to(0);
    let counts = host.device.counts().since(&before);
    assert_eq!((counts.moved_pages, counts.padding), (0, 0), "{counts:?}");
    assert!(counts.lines_freed > 50);
    host.read_all();
}

#[test]
fn a_failed_write_is_made_again_and_its_line_is_collected_first() {
    // The second program in the second parallel unit fails.
    let rule = FaultFile {
        page: Some(NumberRange::from(1)),
        die: Some(NumberRange::from(1)),
        nth: Some(1),
        ..FaultFile::new(Fails::Program)
    };
    let mut host = Host::new(with(tiny(), vec![rule]));
    (0..6).for_each(|page| host.write(page));
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    let counts = host.device.counts();
    assert!(counts.resubmitted >= 1 && host.failed == 0, "{counts:?}");
    assert_eq!(counts.host_pages, 6 + counts.resubmitted);
    // 15 more pages close the line, which has one chunk left, and take one page of the next line.
    (0..15).for_each(|page| host.write(page));
    host.run_down_to(0);
    host.submit(Operation::Flush, false, 0, 0);
    host.run_down_to(0);
    let counts = host.device.counts();
    assert_eq!(counts.lines_collected, 1, "though enough is free: {counts:?}");
    (0..200).for_each(|page| {
        host.run_down_to(3);
        host.write(page);
    });
    host.run_down_to(0);
    assert_eq!(host.device.counts().chunks_lost, 1, "its reset found that out");
    let geometry = host.device.device().geometry().clone();
    let offline = |chunk: &_| host.device.device().report(*chunk).state == ChunkState::Offline;
    assert_eq!(geometry.all_chunks().filter(offline).count(), 1);
    host.read_all();
}

#[test]
fn chunks_that_are_bad_from_the_factory_are_left_out() {
    let rule = FaultFile { probability: Some(0.1), ..FaultFile::new(Fails::FactoryBad) };
    let mut host = Host::new(with(medium(), vec![rule]));
    host.may_fail = false;
    for n in 0..6 * host.pages() {
        host.run_down_to(7);
        host.write(n * 13);
    }
    host.read_all();
    host.cut_power();
    host.read_all();
}

#[test]
fn the_host_is_held_up_while_too_little_is_free() {
    let mut host = Host::new(medium());
    host.fill();
    let mut random = wordline_kernel::Seed(5).stream("test.writes", 0);
    for _ in 0..10 * host.pages() {
        host.run_down_to(15);
        let page = random.below(u64::from(host.pages())) as u32;
        host.write(page);
    }
    host.run_down_to(0);
    let counts = host.device.counts();
    assert!(counts.rate_limited > 0 && counts.moved_pages > 0, "{counts:?}");
    assert_eq!(counts.emeta_blocks_read, 4 * counts.lines_collected, "two strips of emeta: {counts:?}");
    assert!(counts.pages_collected >= counts.moved_pages);
    host.read_all();
}

#[test]
fn a_device_that_is_out_of_chunks_gives_writes_up() {
    let mut file = tiny();
    file.open_channel.part.endurance = 3;
    let mut host = Host::new(file);
    host.may_fail = true;
    for n in 0..200 * host.pages() {
        host.run_down_to(3);
        host.write(n);
        if host.failed > 0 {
            break;
        }
    }
    host.run_down_to(0);
    assert!(host.failed > 0, "each chunk is erased three times");
    host.read_all();
}

#[test]
fn gc_takes_the_ring_five_seconds_after_the_last_write_without_being_woken() {
    let mut host = Host::new(medium());
    host.fill();
    let mut random = Seed(1).stream("pages", 0);
    for _ in 0..3 * host.pages() {
        host.run_down_to(3);
        host.write(random.below(u64::from(host.pages())) as u32);
    }
    host.run_down_to(0);
    let silent_from = host.calendar.now();
    // Work under way ends within a tenth of a second.
    let soon = silent_from + Duration::from_ms(100);
    let (mut moved, mut resumed) = (0, None);
    while host.go_on(1) {
        let (now, more) = (host.calendar.now(), host.device.counts().moved_pages);
        if now < soon {
            moved = more;
        } else if more > moved {
            resumed = resumed.or(Some(now - silent_from));
        }
    }
    // The last page entered the ring a microsecond of the host before its command completed.
    assert_eq!(resumed, Some(Duration::from_ms(5_000) - Duration::from_us(1)));
    assert!(host.device.free_chunks() >= host.device.layout().high, "GC goes on to its limit");
    host.audit();
}
