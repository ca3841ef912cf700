//! Random commands to random devices, checked against the host's model.

use proptest::prelude::*;
use wordline_device::BlockDevice;
use wordline_device::snapshot::Agenda;
use wordline_flash::ProgramsAtCut;
use wordline_host::pblk::PblkFile;
use wordline_kernel::Instant;
use wordline_nand::faults::{Fails, FaultFile};

use super::rig::{Host, Kind, build, file, go_on_as_saved, medium, play, steps, tiny, with};

/// Kinds of devices, each with a buffer for a number of programs of a die, and a number of reserve blocks.
fn kinds(of: &'static [Kind]) -> impl Strategy<Value = (Kind, u64, u32)> {
    (prop::sample::select(of), 1u64..12, 3u32..9)
}

/// Devices of these kinds with all shapes: lines, pages of a block, planes, channels, dies,
/// over-provisioning, ring size, and unreadable logical blocks of open chunks.
fn devices() -> impl Strategy<Value = PblkFile> {
    let chips = (12u32..40, prop::sample::select(vec![8u32, 16, 32]), 1u32..3, 1u32..4, 1u32..3);
    (chips, 0.3f64..0.9, prop::option::of(1u64..64), 0u32..9, 1u32..9, 1u32..9, kinds(&Kind::ALL))
        .prop_filter_map(
            "a device that pblk takes",
            |(
                (lines, pages, planes, channels, dies),
                over_provisioning,
                ring,
                unreadable,
                readers,
                requests,
                kind,
            )| {
                let mut file = file([lines, pages, planes, channels, dies], 1, over_provisioning);
                file.write_buffer = ring.map(|ring| wordline_kernel::Bytes::kib(4 * ring));
                file.open_channel.mw_cunits = unreadable;
                (file.gc.readers, file.gc.requests) = (readers, requests);
                let (kind, programs, reserve) = kind;
                let file = kind.below(file, programs, reserve);
                file.clone().check().is_ok().then_some(file)
            },
        )
}

fn rule(fails: Fails, every: Option<u64>, probability: Option<f64>) -> FaultFile {
    FaultFile { every, probability, ..FaultFile::new(fails) }
}

proptest! {
    #[test]
    fn every_read_finds_what_was_written_last(file in devices(), steps in steps(300, 24), filled in any::<bool>()) {
        let mut host = Host::new(file);
        if filled {
            host.fill();
        }
        play(&mut host, &steps, 7, false);
        host.read_all();
    }

    #[test]
    fn flushed_data_survive_power_cuts(mut file in devices(), steps in steps(200, 24), filled in any::<bool>(), finished in any::<bool>()) {
        if finished {
            file.open_channel.programs_at_cut = ProgramsAtCut::Finished;
        }
        let mut host = Host::new(file);
        if filled {
            host.fill();
        }
        play(&mut host, &steps, 7, true);
        host.cut_power();
        host.read_all();
    }

    #[test]
    fn no_write_is_lost_when_programs_and_erases_fail_and_the_power_is_cut(
        steps in steps(200, 24), every in 30u64..300, erases in 0.0f64..0.02, cuts in any::<bool>(),
        (kind, programs, reserve) in kinds(&Kind::RELIABLE), protected in any::<bool>(),
    ) {
        let faults = vec![rule(Fails::Program, Some(every), None), rule(Fails::Erase, None, Some(erases))];
        let mut file = with(kind.below(medium(), programs, reserve), faults);
        if let Some(buffer) = &mut file.open_channel.buffer {
            buffer.protected = protected && kind != Kind::WriteThrough;
        }
        let mut host = Host::new(file);
        play(&mut host, &steps, 7, cuts);
        host.read_all();
    }

    #[test]
    fn what_cannot_be_read_is_told_and_nothing_else_is_read_in_its_place(
        steps in steps(300, 24), reads in 0.0f64..0.02, (kind, programs, reserve) in kinds(&Kind::ALL),
    ) {
        let faults = vec![rule(Fails::Read, None, Some(reads)), rule(Fails::FactoryBad, None, Some(0.02))];
        let mut host = Host::new(with(kind.below(medium(), programs, reserve), faults));
        host.fill();
        play(&mut host, &steps, 7, false);
        host.read_all();
    }

    #[test]
    fn a_state_that_was_saved_goes_on_as_the_other_does(file in devices(), steps in steps(200, 24), at in any::<prop::sample::Index>(), cut in any::<bool>()) {
        let mut host = Host::new(file.clone());
        host.fill();
        let (before, after) = steps.split_at(at.index(steps.len()));
        play(&mut host, before, 7, false);
        if cut && host.cut_power_in_recovery(before.len()) {
            host.go_on(1);
        }
        go_on_as_saved(&mut host, build(file, 9), after, 4);
    }

    #[test]
    fn a_broken_state_is_an_error_and_no_panic(
        steps in steps(40, 24), at in any::<prop::sample::Index>(), byte in any::<u8>(), (kind, programs, reserve) in kinds(&Kind::ALL),
    ) {
        let mut host = Host::new(kind.below(tiny(), programs, reserve));
        play(&mut host, &steps, 7, false);
        let mut bytes = Vec::new();
        host.device.save(&Agenda::of(&host.calendar), &mut bytes).expect("a list takes everything");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let mut again = build(kind.below(tiny(), programs, reserve), 9);
        if again.load(&mut bytes.as_slice()).is_ok() {
            let mut same = Vec::new();
            again.save(&Agenda { now: Instant::ZERO, events: Vec::new() }, &mut same).expect("a list takes everything");
        }
    }
}
