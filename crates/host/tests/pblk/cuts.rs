//! Power cuts after every event of small runs.

use wordline_device::{BlockDevice, Operation};
use wordline_flash::ProgramsAtCut;
use wordline_nand::faults::{Fails, FaultFile};

use super::rig::{Host, Kind, medium, tiny, with};

/// Writes of all kinds over all pages of a tiny device, some of them flushed, and enough for GC. Returns
/// false once this many events have been handled.
fn run(host: &mut Host, mut events: usize) -> bool {
    for n in 0..60 {
        let page = n * 7;
        match n % 10 {
            3 => host.submit(Operation::Write, true, page, 2),
            6 => host.submit(Operation::Flush, false, 0, 0),
            _ => host.submit(Operation::Write, false, page, 1 + n % 4),
        }
        while host.device.outstanding() > 2 {
            if events == 0 {
                return false;
            }
            events -= 1;
            assert!(host.go_on(1), "{}", host.device.describe_outstanding(wordline_kernel::Instant::ZERO));
        }
        if n == 40 {
            host.run_down_to(0);
            host.submit(Operation::Discard, false, 3, 3);
        }
    }
    true
}

/// Cuts the power after each number of events, and uses the device again afterwards.
fn cut_everywhere(step: usize, new: impl Fn() -> Host) {
    for events in (0..).step_by(step) {
        let mut host = new();
        host.fill();
        let is_over = run(&mut host, events);
        host.cut_power();
        host.read_all();
        (0..host.pages()).for_each(|page| host.write(page));
        host.submit(Operation::Flush, false, 0, 0);
        host.run_down_to(0);
        host.cut_power();
        host.read_all();
        if is_over {
            assert!(events > 200, "the run has {events} events");
            return;
        }
    }
}

#[test]
fn what_was_flushed_outlives_a_cut_at_every_event() {
    for programs_at_cut in [ProgramsAtCut::Torn, ProgramsAtCut::Finished] {
        cut_everywhere(1, || {
            let mut file = tiny();
            file.open_channel.programs_at_cut = programs_at_cut;
            Host::new(file)
        });
    }
}

#[test]
fn it_outlives_a_cut_at_every_event_over_devices_with_a_buffer() {
    for kind in Kind::ALL {
        for programs in [1, 6] {
            cut_everywhere(3, || Host::new(kind.below(tiny(), programs, 4)));
        }
    }
}

#[test]
fn it_outlives_a_cut_at_every_event_where_devices_with_a_buffer_make_good_for_failures() {
    for kind in [Kind::WriteThrough, Kind::Shift, Kind::Copies] {
        for nth in [3, 17, 40, 77] {
            let rule = FaultFile { nth: Some(nth), ..FaultFile::new(Fails::Program) };
            cut_everywhere(7, || Host::new(with(kind.below(tiny(), 4, 4), vec![rule.clone()])));
        }
    }
}

#[test]
fn it_outlives_a_cut_at_every_event_where_chunks_go_offline() {
    // The two blocks besides the journal are soon used up.
    for kind in [Kind::Shift, Kind::Copies] {
        let rule = FaultFile { every: Some(37), ..FaultFile::new(Fails::Program) };
        cut_everywhere(5, || {
            let mut file = with(kind.below(tiny(), 4, 4), vec![rule.clone()]);
            file.open_channel.part.geometry.blocks_per_plane += 12;
            Host::new(file)
        });
    }
}

#[test]
fn it_outlives_a_cut_at_every_event_where_pages_cannot_be_read_at_once() {
    cut_everywhere(3, || {
        let mut file = tiny();
        file.open_channel.mw_cunits = 3;
        file.write_buffer = None;
        file.over_provisioning = None;
        file.open_channel.part.geometry.blocks_per_plane = 48;
        Host::new(file)
    });
}

#[test]
fn it_outlives_a_cut_at_every_event_where_a_program_fails() {
    for nth in [3, 17, 40, 77] {
        let rule = FaultFile { nth: Some(nth), ..FaultFile::new(Fails::Program) };
        cut_everywhere(5, || Host::new(with(tiny(), vec![rule.clone()])));
    }
}

#[test]
fn a_recovery_that_is_cut_off_begins_again() {
    let new = || {
        let mut host = Host::new(tiny());
        host.fill();
        run(&mut host, 200);
        host.submit(Operation::Flush, false, 0, 0);
        host.run_down_to(0);
        host
    };
    let found = |host: &Host| {
        let recovered = host.device.recovery().expect("it is over");
        (recovered.lost, recovered.returned)
    };
    let mut once = new();
    once.cut_power();
    let mut is_over = false;
    for events in 0.. {
        let mut host = new();
        is_over |= host.cut_power_in_recovery(events);
        host.cut_power();
        // Losses are relative to the contents before the first cut.
        assert!(is_over || found(&host) == found(&once), "{:?}, wanted {:?}", found(&host), found(&once));
        host.read_all();
        if is_over {
            assert!(events > 20, "a recovery has {events} events");
            return;
        }
    }
}

#[test]
fn a_recovery_reads_smeta_and_emeta_and_of_open_lines_the_pages() {
    let mut host = Host::new(medium());
    host.fill();
    host.cut_power();
    let recovered = host.device.recovery().expect("it is over");
    let counts = host.device.counts().clone();
    let (smeta, emeta) = (counts.smeta_blocks, counts.emeta_blocks);
    // At most the pages of two lines: the open line, and one line without emeta.
    let least = smeta + emeta;
    assert!((least..least + 2 * 128).contains(&recovered.pages_read), "{recovered:?}, {least} of metadata");
    assert_eq!((recovered.lost, recovered.returned), (0, 0));
    host.read_all();
}
