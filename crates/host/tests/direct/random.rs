//! Random commands to random devices, checked against the host's model.

use proptest::prelude::*;
use wordline_device::BlockDevice;
use wordline_host::direct::{DirectFile, Spread};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_open_channel::OpenChannel;

use super::{build, file};
use crate::pblk::rig::{Host, Kind, go_on_as_saved, play, steps};

fn devices(kinds: &'static [Kind]) -> impl Strategy<Value = DirectFile> {
    let chips = (8u32..20, prop::sample::select(vec![8u32, 16]), 1u32..3, 1u32..3, 1u32..3);
    let host = (prop::sample::select(kinds), 1u64..9, any::<bool>(), any::<bool>(), any::<bool>());
    (chips, host).prop_filter_map(
        "a device that the host takes",
        |((chunks, pages, planes, channels, dies), (kind, programs, is_spread, retry, early))| {
            let mut file = file([chunks, pages, planes, channels, dies], kind, programs);
            file.spread = if is_spread { Spread::Programs } else { Spread::Requests };
            file.retry = retry;
            file.open_channel.early_resets = early;
            file.clone().check().is_ok().then_some(file)
        },
    )
}

/// A host that may run out of chunks, because it relocates nothing.
fn host_of(file: DirectFile) -> Host<wordline_host::direct::Direct<OpenChannel>> {
    Host::of(build(file, 1), true)
}

proptest! {
    #[test]
    fn every_read_finds_what_was_written_last_and_what_was_flushed_outlives_cuts(
        file in devices(&Kind::ALL), steps in steps(150, 40), filled in any::<bool>(), cuts in any::<bool>(),
    ) {
        let mut host = host_of(file);
        if filled {
            host.fill();
        }
        play(&mut host, &steps, 5, cuts);
        host.read_all();
        host.cut_power();
        host.read_all();
    }

    #[test]
    fn no_write_is_lost_when_programs_and_erases_fail_and_the_power_is_cut(
        mut file in devices(&Kind::RELIABLE), steps in steps(150, 40), every in 30u64..200, erases in 0.0f64..0.02, cuts in any::<bool>(),
    ) {
        file.open_channel.faults = vec![
            FaultFile { every: Some(every), ..FaultFile::new(Fails::Program) },
            FaultFile { probability: Some(erases), ..FaultFile::new(Fails::Erase) },
        ];
        let mut host = host_of(file);
        play(&mut host, &steps, 5, cuts);
        host.read_all();
    }

    #[test]
    fn a_state_that_was_saved_goes_on_as_the_other_does(
        file in devices(&Kind::ALL), steps in steps(100, 40), at in any::<prop::sample::Index>(), byte in any::<(prop::sample::Index, u8)>(),
    ) {
        let mut host = host_of(file.clone());
        let (before, after) = steps.split_at(at.index(steps.len()));
        play(&mut host, before, 5, false);
        let mut bytes = go_on_as_saved(&mut host, build(file.clone(), 9), after, usize::MAX);
        // A single wrong byte gives an error or another state, but no panic.
        let place = byte.0.index(bytes.len());
        bytes[place] = byte.1;
        let _ = build(file, 9).load(&mut bytes.as_slice()).is_ok();
    }
}
