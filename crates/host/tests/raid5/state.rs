//! Snapshots of arrays: a restored array continues, and invalid states are rejected.

use wordline_device::Operation::{Flush, Read, Write};
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, FixedLatency};
use wordline_host::raid5::{ArrayFile, Raid5};
use wordline_kernel::{Bytes, Duration, Instant, Schedule};

use super::{Bench, LATENCY, cached, md, null};

const SIZE: Bytes = Bytes::mib(2);

/// An array with reads, writes and a rebuild in progress.
fn busy(file: ArrayFile) -> Bench<FixedLatency> {
    let mut bench = null(4, 1, SIZE, file);
    let all = bench.array.shape().namespaces[0];
    bench.fail(1);
    for tag in 0..200 {
        let operation = [Write, Read, Write, Flush][tag as usize % 4];
        let sector = tag * 7919 % (all - 200);
        bench.submit(operation, sector, if operation == Flush { 0 } else { 1 + tag * 31 % 190 });
        if tag % 7 == 0 {
            bench.run_for(LATENCY / 3);
        }
    }
    bench
}

fn saved(bench: &Bench<FixedLatency>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bench.array.save(&Agenda::of(&bench.calendar), &mut bytes).expect("a list takes everything");
    bytes
}

#[test]
fn an_array_that_was_saved_goes_on_as_the_one_that_was_not() {
    let delayed = ArrayFile { parity_delay: Some(Duration::from_us(700)), ..cached() };
    let logged = ArrayFile { parity_log: Some(Bytes::kib(16)), ..md() };
    for file in [md(), logged, cached(), ArrayFile { stripe_cache: 17, ..delayed }] {
        let mut bench = busy(file.clone());
        assert!(bench.array.outstanding() > 0, "something is under way");
        let bytes = saved(&bench);
        let mut again = null(4, 1, SIZE, file);
        let agenda = again.array.load(&mut bytes.as_slice()).expect("it was just written");
        again.calendar = agenda.calendar(|event| event);
        bench.run();
        again.run();
        assert_eq!(again.array.digest(), bench.array.digest());
        assert_eq!((again.array.counts(), again.calendar.pending()), (bench.array.counts(), Vec::new()));
        again.array.audit(Duration::ZERO);
    }
}

#[test]
fn an_array_made_of_devices_of_two_arrays_is_refused() {
    let array = |label| {
        let device = |_| FixedLatency::new(SIZE, LATENCY);
        let devices: Vec<FixedLatency> = (0..3).map(device).collect();
        let settings = md().check(3, &devices[0].shape()).expect("the settings are sound");
        Raid5::new(devices, settings, label)
    };
    let empty = Agenda { now: Instant::ZERO, events: Vec::new() };
    let write = |label| {
        let mut bytes = Vec::new();
        array(label).save(&empty, &mut bytes).expect("a list takes everything");
        bytes
    };
    let (mut one, other) = (write(0x0101), write(0x0102));
    let differs = one.iter().zip(&other).filter(|(one, other)| one != other).count();
    assert_eq!(differs, 3, "the label of each device");
    let last = one.iter().zip(&other).rposition(|(one, other)| one != other).expect("they differ");
    one[last] = other[last];
    let error = array(1).load(&mut one.as_slice()).expect_err("a member of another array").to_string();
    assert!(error.contains("device 2 belongs to another array than device 0"), "{error}");
}

#[test]
fn an_array_of_another_size_is_refused() {
    let bytes = saved(&busy(md()));
    let error =
        null(5, 0, SIZE, md()).array.load(&mut bytes.as_slice()).expect_err("another array").to_string();
    assert!(!error.is_empty());
    let error = null(4, 1, Bytes::mib(4), md())
        .array
        .load(&mut bytes.as_slice())
        .expect_err("another size")
        .to_string();
    assert_eq!(error, "a list of 512 entries, wanted 1024");
}

#[test]
fn commands_that_a_power_cut_stops_are_not_answered() {
    let mut bench = busy(cached());
    let outstanding = bench.array.outstanding();
    let cut = bench.array.power_cut(bench.calendar.now());
    assert_eq!((cut.incomplete.len(), bench.array.outstanding()), (outstanding, 0));
    bench.calendar.clear();
    bench.array.recover(&mut bench.calendar);
    assert!(bench.array.is_ready());
    bench.array.clear_completions();
    let tag = bench.submit_command(Command { sectors: 8, ..Command::default() });
    bench.run();
    assert!(bench.completions().iter().any(|completion| completion.command.tag == tag));
}
