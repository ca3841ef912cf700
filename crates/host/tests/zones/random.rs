//! Random commands to random devices, checked against the host's model.

use proptest::prelude::*;
use wordline_host::zones::ZonedFile;
use wordline_nand::faults::{Fails, FaultFile};

use super::{build, file, host};
use crate::pblk::rig::{Kind, go_on_as_saved, play, steps};

fn devices(kinds: &'static [Kind]) -> impl Strategy<Value = ZonedFile> {
    let chips = (24u32..50, prop::sample::select(vec![8u32, 16, 32]), 1u32..3, 1u32..3, 1u32..3);
    let zones = (prop::sample::select(kinds), 1u64..9, prop::sample::select(vec![1u32, 2, 4]), 0u32..9);
    (chips, zones, any::<bool>(), 0u32..5).prop_filter_map(
        "a device that the host takes",
        |((lines, pages, planes, channels, dies), (kind, programs, width, spare), protected, open)| {
            let chips = [lines, pages, planes, channels, dies];
            let mut file = file(chips, kind, programs, width, spare);
            // On a device without recovery of program failures, a power cut loses the data after an
            // interrupted program.
            let is_managed = matches!(kind, Kind::Shift | Kind::Copies);
            let buffer = file.open_channel.buffer.iter_mut();
            buffer.for_each(|buffer| buffer.protected = protected && is_managed);
            file.zones.max_open = (open > 0).then_some(open);
            file.clone().check().is_ok().then_some(file)
        },
    )
}

proptest! {
    #[test]
    fn every_read_finds_what_was_written_last(file in devices(&Kind::ALL), steps in steps(300, 24), filled in any::<bool>()) {
        let mut host = host(file);
        if filled {
            host.fill();
        }
        play(&mut host, &steps, 7, false);
        host.read_all();
    }

    #[test]
    fn flushed_data_survive_power_cuts(file in devices(&Kind::ALL), steps in steps(200, 24), filled in any::<bool>()) {
        let mut host = host(file);
        if filled {
            host.fill();
        }
        play(&mut host, &steps, 7, true);
        host.cut_power();
        host.read_all();
    }

    #[test]
    fn no_write_is_lost_when_programs_and_erases_fail_and_the_power_is_cut(
        mut file in devices(&Kind::RELIABLE), steps in steps(200, 24), every in 60u64..300, erases in 0.0f64..0.01, cuts in any::<bool>(),
    ) {
        file.open_channel.faults = vec![
            FaultFile { every: Some(every), ..FaultFile::new(Fails::Program) },
            FaultFile { probability: Some(erases), ..FaultFile::new(Fails::Erase) },
        ];
        let mut host = host(file);
        play(&mut host, &steps, 7, cuts);
        host.read_all();
    }

    #[test]
    fn what_cannot_be_read_is_told_and_nothing_else_is_read_in_its_place(
        mut file in devices(&Kind::ALL), steps in steps(300, 24), reads in 0.0f64..0.02,
    ) {
        file.open_channel.faults = vec![FaultFile { probability: Some(reads), ..FaultFile::new(Fails::Read) }];
        let mut host = host(file);
        host.fill();
        play(&mut host, &steps, 7, false);
        host.read_all();
    }

    #[test]
    fn a_state_that_was_saved_goes_on_as_the_other_does(file in devices(&Kind::ALL), steps in steps(150, 24), at in any::<prop::sample::Index>()) {
        let mut host = host(file.clone());
        host.fill();
        let (before, after) = steps.split_at(at.index(steps.len()));
        play(&mut host, before, 7, false);
        go_on_as_saved(&mut host, build(file, 9), after, usize::MAX);
    }
}
