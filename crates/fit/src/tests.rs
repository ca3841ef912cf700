//! Synthetic drives, whose parameters are known, and the fits of their measurements.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use libm::{exp, log};
use wordline_kernel::{Bytes, Seed};
use wordline_lab::sweep::SweepOptions;
use wordline_lab::trace::{Op, Request};
use wordline_lab::{Device, Registry, RunOptions, Session, StepTarget, Unobserved, Workload};

use crate::drive::Drive;
use crate::identify::first_guess;
use crate::load::Load;
use crate::measurement::{Measurement, Quantity, Statistic};
use crate::outcome::Fit;
use crate::search::deviation;
use crate::simulate::{simulate, value, write_jobs};
use crate::twin::{Parameter, Twin};
use crate::{fit, table};

/// The shortest blocks that there are.
const SCALE: u32 = 128;

/// The parameters that are compared.
const COMPARED: [Parameter; 5] =
    [Parameter::FastRead, Parameter::MiddleRead, Parameter::SlowRead, Parameter::Program, Parameter::Suspend];

/// A drive of 64 GB with parameters that a random stream draws.
fn drawn(number: u64) -> Twin {
    let mut random = Seed(number).stream("synthetic drive", 0);
    let mut between = |low: f64, high: f64| exp(log(low) + random.unit() * (log(high) - log(low)));
    let read = between(30.0, 60.0);
    let program = between(500.0, 3000.0);
    let guess = first_guess(&described(), SCALE).expect("a capacity");
    // As many units as the search tries: of dies, planes and tPROG only the product shows.
    let mut twin = guess.with_units(8);
    twin.read = [read * between(0.75, 0.9), read, read * between(1.1, 1.3)];
    twin.program = program;
    twin.suspend = between(20.0, 120.0);
    twin.command = between(2.0, 6.0);
    twin
}

/// The properties of the drives.
fn described() -> Drive {
    let property = |quantity, value| Measurement {
        quantity,
        load: Load::Drive,
        value,
        spread: None,
        source: "test".into(),
    };
    let measured = vec![property(Quantity::Capacity, 64.0), property(Quantity::Space, 76.0)];
    Drive { name: "synthetic".into(), model: "a synthetic drive".into(), measured }
}

/// The measurements of loads on a twin.
fn measure(twin: &Twin, loads: &[Load]) -> Drive {
    let folder = tempfile::tempdir().expect("a folder");
    let mut drive = described();
    write_jobs(twin, loads, folder.path()).expect("job files");
    for load in loads {
        let summary = simulate(twin, *load, folder.path(), &mut Unobserved).expect("a run");
        let latencies = [10.0, 50.0, 90.0, 95.0, 99.0].map(Statistic::Percentile);
        let reads = latencies.map(Quantity::Read);
        let quantities = match load {
            Load::RandomReads { .. } => [Quantity::Iops].into_iter().chain(reads).collect::<Vec<_>>(),
            Load::Beside { .. } => {
                reads.into_iter().chain([Quantity::Write(Statistic::Percentile(50.0))]).collect()
            }
            _ => vec![Quantity::Throughput],
        };
        let values =
            quantities.into_iter().filter_map(|quantity| Some((quantity, value(&summary, *load, quantity)?)));
        drive.measured.extend(values.map(|(quantity, value)| Measurement {
            quantity,
            load: *load,
            value,
            spread: None,
            source: "test".into(),
        }));
    }
    drive
}

fn fitted(drive: &Drive) -> Fit {
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 2, stop: &stop, progress: &|_, _| () };
    fit(drive, SCALE, "a test", &conduct).expect("a fit")
}

/// The loads of a drive of this size. The deepest reads tell the units.
fn loads() -> Vec<Load> {
    let reads = [1, 8, 32].map(|depth| Load::RandomReads { size: 4096, depth, jobs: 1 });
    reads.into_iter().chain([Load::FreshWrites, Load::SteadyWrites, Load::Beside { rate: 10_000 }]).collect()
}

// A fit is some 150 runs, which take two seconds.
#[test]
fn reads_alone_identify_read_times_and_units() {
    let wanted = drawn(1);
    let reads = [1, 48].map(|depth| Load::RandomReads { size: 4096, depth, jobs: 1 });
    let fit = fitted(&measure(&wanted, &reads));
    let value = |name: &str| fit.identified.iter().find(|one| one.parameter == name).map(|one| one.value);
    assert_eq!(value("units that read independently"), Some(8.0), "{:#?}", fit.units);
    let middle = value("tR of the middle page").expect("medians tell it");
    // The firmware time is chosen, and the transfer of 4 KiB is a small part, so the sum is what is known.
    let bus = value("rate of the flash bus").expect("one of three");
    let sum = middle + 3.0 + 4096.0 / bus;
    let wanted = wanted.read[1] + wanted.command + 4096.0 / 1200.0;
    assert!((sum / wanted - 1.0).abs() < 0.03, "{sum} for {wanted}");
    assert!(fit.not_identified.iter().any(|one| one.parameter == "tPROG"));
    assert_eq!(value("time between commands"), None, "the firmware has no limit");
}

/// Reads of eight units end at 178,000 a second. The firmware ends them at 83,000.
#[test]
fn reads_that_end_below_the_rate_of_all_units_identify_a_limit_of_commands() {
    let wanted = Twin { interval: Some(12.0), ..drawn(1) };
    let reads = [4, 48].map(|depth| Load::RandomReads { size: 4096, depth, jobs: 1 });
    let fit = fitted(&measure(&wanted, &reads));
    let limit = fit.identified.iter().find(|one| one.parameter == "time between commands").expect("a limit");
    assert!((limit.value / 12.0 - 1.0).abs() < 0.02, "{}", limit.value);
    assert!(fit.configuration.contains("command_interval = "), "{}", fit.configuration);
}

/// Values of a step of the search may cross: pages are in order when all are set, whatever the twin had before.
#[test]
fn read_times_that_cross_are_all_kept() {
    let pages = [Parameter::FastRead, Parameter::MiddleRead, Parameter::SlowRead];
    let twin = Twin { read: [38.0, 44.0, 50.0], ..drawn(1) };
    let close = |twin: Twin, wanted: [f64; 3]| {
        let is_close = twin.read.iter().zip(wanted).all(|(read, wanted)| (read - wanted).abs() < 1e-9);
        assert!(is_close, "{:?}, wanted {wanted:?}", twin.read);
    };
    close(twin.moved(&pages, &[55.0, 60.0, 70.0].map(log)), [55.0, 60.0, 70.0]);
    close(twin.moved(&pages, &[45.0, 30.0, 20.0].map(log)), [20.0, 30.0, 45.0]);
    let tied = Twin { tied: true, ..twin };
    close(tied.moved(&pages[1..], &[88.0, 100.0].map(log)), [76.0, 88.0, 100.0]);
}

/// Where only means of reads tell the fastest page, its read time is searched free and tied, and the smaller sum stays.
#[test]
fn a_fastest_page_that_only_means_tell_is_searched_twice() {
    let wanted = Twin { read: [24.0, 48.0, 58.0], ..drawn(1) };
    let mut drive = measure(&wanted, &[Load::RandomReads { size: 4096, depth: 1, jobs: 1 }]);
    drive.measured.retain(|one| one.quantity != Quantity::Read(Statistic::Percentile(10.0)));
    let fit = fitted(&drive);
    let searches = fit.fastest_page.expect("no low percentile");
    assert!(searches.free < searches.tied, "{searches:?}");
    let value = |name: &str| fit.identified.iter().find(|one| one.parameter == name).map(|one| one.value);
    let [fast, middle] =
        ["tR of the fastest page", "tR of the middle page"].map(|name| value(name).expect(name));
    assert!((middle - fast - 24.0).abs() < 3.0, "{fast} and {middle}");
}

// A fit takes two seconds.
#[test]
fn a_rate_of_the_bus_beside_which_others_fit_as_well_is_not_identified() {
    let mut drive = described();
    for (quantity, load) in [
        (Quantity::Read(Statistic::Percentile(50.0)), Load::RandomReads { size: 4096, depth: 1, jobs: 1 }),
        (Quantity::Throughput, Load::FreshWrites),
    ] {
        drive.measured.push(Measurement {
            quantity,
            load,
            value: 60.0,
            spread: Some(3.0),
            source: "test".into(),
        });
    }
    let fit = fitted(&drive);
    assert!(fit.buses.len() == 3 && fit.configuration.contains("fit as well"), "{}", fit.configuration);
    let wanted =
        |name: &str| fit.not_identified.iter().find(|one| one.parameter == name).map(|one| one.wanted);
    for name in ["rate of the flash bus", "tPROG"] {
        assert!(
            wanted(name).is_some_and(|wanted| wanted.starts_with("measured, but not precisely")),
            "{name}: {fit:#?}"
        );
    }
    assert!(wanted("suspend").is_some_and(|wanted| wanted.starts_with("latencies of reads beside writes")));
}

#[test]
fn a_drive_without_a_capacity_is_refused() {
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let drive = Drive { name: "mine".into(), ..Drive::default() };
    let error = fit(&drive, SCALE, "a test", &conduct).expect_err("no capacity").to_string();
    assert!(error.starts_with("mine: found no capacity"), "{error}");
}

/// Scatters the measurements by the standard deviations with which the fit weighs them. Without, the fit would find the
/// parameters exactly: it simulates with the seed of the synthetic drive.
fn scatter(drive: &mut Drive, number: u64) {
    let mut random = Seed(number).stream("scatter of measurements", 0);
    for one in drive.measured.iter_mut().filter(|one| one.load != Load::Drive) {
        // Twelve uniform variates have a variance of 1, and are close to normal.
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        one.value *= exp(deviation(one) * normal);
    }
}

/// Twenty drives: 95 % of the intervals hold the parameter. Long: 17 minutes.
#[test]
fn intervals_hold_the_parameters_of_synthetic_drives() {
    if std::env::var_os("WORDLINE_LONG").is_none() {
        return;
    }
    let (mut held, mut all) = (0, 0);
    for number in 0..20 {
        let wanted = drawn(number);
        let mut drive = measure(&wanted, &loads());
        scatter(&mut drive, number);
        let fit = fitted(&drive);
        for parameter in COMPARED {
            let Some(one) = fit.identified.iter().find(|one| one.parameter == parameter.name()) else {
                continue;
            };
            let [low, high] = one.interval.expect("times have intervals");
            let value = parameter.get(&wanted);
            all += 1;
            held += u32::from((low..=high).contains(&value));
            println!(
                "{number}: {}: {value:.1}, {:.1} from {low:.1} to {high:.1}",
                parameter.name(),
                one.value
            );
        }
    }
    println!("{held} of {all}");
    assert!(all >= 60 && f64::from(held) >= 0.95 * f64::from(all), "{held} of {all} intervals hold");
}

/// A device of every kind of description: bits, links, buffers, idle work, caches, zones.
#[test]
fn every_description_makes_a_device() {
    let property = |quantity, value: f64| (quantity, Load::Drive, value);
    let cases: [&[(Quantity, Load, f64)]; 7] = [
        &[],
        &[property(Quantity::BitsPerCell, 4.0), property(Quantity::SlcCache, 12.0)],
        &[property(Quantity::BitsPerCell, 2.0), property(Quantity::SataGeneration, 3.0)],
        &[property(Quantity::BitsPerCell, 1.0), property(Quantity::Buffer, 48.3)],
        &[property(Quantity::IdleGain, 3.0)],
        &[property(Quantity::IdleGain, 3.0), property(Quantity::SlcCache, 5.0)],
        &[
            property(Quantity::ZoneCapacity, 1077.0),
            property(Quantity::ZoneSize, 2048.0),
            property(Quantity::OpenZones, 14.0),
            (Quantity::Mean, Load::ZoneReset { blocks: 0 }, 1600.0),
            (Quantity::Mean, Load::ZoneReset { blocks: 275_712 }, 16_000.0),
        ],
    ];
    for case in cases {
        let mut drive = described();
        drive.measured.extend(case.iter().map(|(quantity, load, value)| Measurement {
            quantity: *quantity,
            load: *load,
            value: *value,
            spread: None,
            source: "test".into(),
        }));
        drive.model = "\"quoted\" by \\ its maker\n".into();
        for scale in [1, 16, 128] {
            let twin = first_guess(&drive, scale).expect("a capacity");
            twin.device().unwrap_or_else(|error| panic!("{case:?} at {scale}: {error}"));
            if let Some(text) = twin.zoned_document("a test", |_| None) {
                let table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
                let device = Device::of_keys(&Registry::default(), "twin", table);
                assert!(device.is_ok(), "{case:?} at {scale}: {:?}\n{text}", device.err());
            }
        }
    }
}

/// A zoned twin resets and finishes zones in the times that were measured, or that follow from the write rate.
#[test]
fn a_zoned_twin_has_the_times_of_its_zone_commands() {
    let mut drive = described();
    drive.measured.clear();
    for (quantity, load, value) in [
        (Quantity::Capacity, Load::Drive, 1000.0),
        (Quantity::ZoneCapacity, Load::Drive, 96.0),
        (Quantity::Mean, Load::ZoneReset { blocks: 0 }, 1_000.0),
        (Quantity::Mean, Load::ZoneReset { blocks: 12_288 }, 5_000.0),
        (Quantity::Throughput, Load::NativeWrites, 1_000.0),
    ] {
        drive.measured.push(Measurement { quantity, load, value, spread: None, source: "test".into() });
    }
    let twin = first_guess(&drive, 16).expect("a capacity");
    let table = twin.zoned_document("a test", |_| None).expect("zones").parse().expect("TOML");
    let device = Device::of_keys(&Registry::default(), "twin", table).expect("a device");
    let mut session =
        Session::open(&device, &Workload::submitted(), &RunOptions::seed(1)).expect("a session");
    let mut time = |op, offset: u64, size: u64| {
        let request =
            Request { arrival: session.now(), ..Request::new(op, Bytes(offset << 20), Bytes(size << 20)) };
        session.submit(&request).expect("the device takes it");
        session.advance(StepTarget::Idle).expect("it completes");
        session.completions()[0].latency.us()
    };
    let size = 128;
    assert!((time(Op::ZoneReset, 0, 0) / 1_000.0 - 1.0).abs() < 0.03);
    for at in 0..96 {
        time(Op::Write, size + at, 1);
    }
    // 96 MiB are twice the blocks after which the second reset was measured.
    let full = time(Op::ZoneReset, size, 0);
    assert!((full / 9_000.0 - 1.0).abs() < 0.03, "{full}");
    time(Op::Write, 2 * size, 1);
    let finish = time(Op::ZoneFinish, 2 * size, 0);
    let wanted = twin.zone_time(Load::ZoneFinish { blocks: 256 }).expect("zones");
    assert!((wanted / (95.0 * 1.048_576e3) - 1.0).abs() < 0.01, "{wanted}");
    assert!((finish / wanted - 1.0).abs() < 0.1, "{finish} for {wanted}");
}

/// A value that contradicts all others is left out, and named. Long: two searches.
#[test]
fn a_measurement_that_contradicts_the_others_is_left_out() {
    if std::env::var_os("WORDLINE_LONG").is_none() {
        return;
    }
    let wanted = drawn(2);
    let reads = [1, 48].map(|depth| Load::RandomReads { size: 4096, depth, jobs: 1 });
    let mut drive = measure(&wanted, &reads);
    let median = |one: &&mut Measurement| {
        one.load == reads[1] && one.quantity == Quantity::Read(Statistic::Percentile(50.0))
    };
    let wrong = drive.measured.iter_mut().find(median).expect("it was measured");
    wrong.value *= 5.0;
    wrong.source = "the wrong row".into();
    let fit = fitted(&drive);
    assert_eq!(fit.left_out.len(), 1, "{:?}", fit.left_out);
    assert!(fit.left_out[0].starts_with("the wrong row: read_p50_us of "), "{:?}", fit.left_out);
    let middle = fit.identified.iter().find(|one| one.parameter == "tR of the middle page").expect("medians");
    let sum = middle.value + 3.0;
    assert!((sum / (wanted.read[1] + wanted.command) - 1.0).abs() < 0.05, "{sum}");
}

#[test]
fn properties_that_make_no_device_are_refused_with_their_origin() {
    for (quantity, value, text) in [
        (Quantity::Space, 60.0, "the row: found space_gb = 60, wanted 1.01 to 4 times the capacity of 64 GB"),
        (Quantity::Space, 600.0, "the row: found space_gb = 600"),
        (Quantity::BitsPerCell, 7.0, "the row: found bits_per_cell = 7, wanted 1, 2, 3 or 4"),
        (Quantity::Capacity, 1e9, "the row: found capacity_gb = 1000000000, wanted 1 to 2500000 GB"),
    ] {
        let mut drive = described();
        drive.measured.retain(|one| one.quantity != quantity);
        let source = "the row".to_owned();
        drive.measured.push(Measurement { quantity, load: Load::Drive, value, spread: None, source });
        let stop = AtomicBool::new(false);
        let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
        let error = fit(&drive, SCALE, "a test", &conduct).expect_err(text).to_string();
        assert!(error.starts_with(text), "{error}");
    }
}

/// A load that does not see a parameter gives the same values whatever it is.
#[test]
fn loads_do_not_see_the_parameters_that_the_search_leaves_out() {
    let twin = drawn(3);
    let folder = tempfile::tempdir().expect("a folder");
    let reads = Load::RandomReads { size: 4096, depth: 8, jobs: 1 };
    for (load, parameters) in [
        (reads, [Parameter::Program, Parameter::Suspend]),
        (Load::FreshWrites, [Parameter::SlowRead, Parameter::Suspend]),
    ] {
        write_jobs(&twin, &[load], folder.path()).expect("job files");
        let digest =
            |twin: &Twin| simulate(twin, load, folder.path(), &mut Unobserved).expect("a run").host.iops;
        let mut other = twin.clone();
        for parameter in parameters {
            parameter.set(&mut other, 2.0 * parameter.get(&twin));
        }
        assert!((digest(&twin) - digest(&other)).abs() < 1e-6, "{load}");
    }
}

/// The presets `twin-...` are fits of the tables in `data/measurements`. Long: minutes for each drive.
#[test]
fn twins_of_drives_are_what_the_fit_makes() {
    if std::env::var_os("WORDLINE_LONG").is_none() {
        return;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    for id in ["micron-7450-max", "samsung-980-pro", "skhynix-pe8110", "solidigm-p5520", "wd-zn540"] {
        let [description, table] = ["toml", "csv"].map(|kind| format!("{id}.{kind}"));
        let mut drive = Drive::of_file(&data.join("measurements").join(&description)).expect("a description");
        drive.add_all(table::read(&data.join("measurements").join(&table), &[]).expect("a table").measured);
        let stop = AtomicBool::new(false);
        let conduct = SweepOptions { threads: 2, stop: &stop, progress: &|_, _| () };
        let source = format!("wordline fit, from {description}, {table}");
        let fit = fit(&drive, 16, &source, &conduct).expect("a fit");
        let preset = data.join(format!("presets/{}.toml", fit.name));
        assert_eq!(fit.configuration, fs::read_to_string(preset).expect("a preset"), "{id}");
    }
}
