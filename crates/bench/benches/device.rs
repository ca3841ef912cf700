//! Whole devices: reads, writes with GC, a mix, a recorded trace, an L2P map in flash (DFTL), static
//! allocation, half-page writes, thousands of queues, preconditioning and snapshots. They run on the
//! benchmark device with few blocks.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use wordline_device::BlockDevice;
use wordline_device::snapshot::Agenda;
use wordline_kernel::{Instant, Seed};
use wordline_lab::job::Job;
use wordline_lab::run::run_job;
use wordline_lab::{Device as Described, Precondition, RunOptions, Selection, Unobserved, WarmUp, Workload};
use wordline_ssd::Device;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Requests of one measurement. Chosen: the start of a run weighs little, and a measurement takes a fraction
/// of a second.
const REQUESTS: u64 = 20_000;

/// The benchmark device with 64 blocks a plane instead of 1,024, and the fewest active blocks that this
/// allows.
fn small() -> Described {
    small_with(&[])
}

/// The small device with further settings.
fn small_with(settings: &[&str]) -> Described {
    let set = ["part.geometry.blocks_per_plane=64", "ftl.over_provisioning=0.272"];
    let selection = Selection {
        preset: Some("bench-512g".into()),
        set: set.iter().chain(settings).map(|setting| (*setting).to_owned()).collect(),
        ..Selection::default()
    };
    Described::load(&selection).expect("the preset is embedded")
}

/// DFTL: a sixth of the map in memory, and blocks for the streams of translation pages. Chosen: the cache
/// starts empty and stays too small, so that nearly every request reads a translation page.
const DFTL: [&str; 3] =
    ["ftl.mapping.cache=2MiB", "ftl.gc.start_below_free_blocks=4", "ftl.gc.stop_at_free_blocks=4"];

/// Static allocation: the address of a page determines its plane group.
const FIXED: [&str; 1] = ["ftl.placement={ policy = 'fixed' }"];

/// Pages and mapping units of 8 KiB; a write of 4 KiB changes half a page.
const HALF_PAGES: [&str; 2] = ["part.geometry.page_size=8KiB", "part.geometry.spare_size=448B"];

/// The maximum number of submission queues; each has two outstanding commands.
const QUEUES: u16 = 4096;

/// A device that serves all these queues concurrently.
const MANY_QUEUES: [&str; 3] = ["front.interface=nvme", "front.nvme.queues=4096", "front.queue_depth=8192"];

fn named(device: &Described, workload: &str, precondition: Precondition) -> Job {
    job(device, Workload::named(workload), precondition)
}

/// A workload. Preconditioning is measured, too. Most jobs therefore start filled, which takes a hundredth of
/// the time.
fn job(device: &Described, workload: Workload, precondition: Precondition) -> Job {
    let (precondition, warm_up) = (Some(precondition), Some(WarmUp::None));
    let options = RunOptions { precondition, warm_up, ..RunOptions::default() };
    let workload = Workload { requests: Some(REQUESTS), ..workload };
    workload.job(device, &options, &mut Unobserved).expect("the workload is embedded")
}

fn runs(criterion: &mut Criterion) {
    let device = small();
    let mut group = criterion.benchmark_group("device");
    group.sample_size(10);
    group.throughput(Throughput::Elements(REQUESTS));
    for workload in ["randread-4k", "randwrite-4k", "mixed-70-30", "seqwrite-128k"] {
        group.bench_function(workload, |bencher| {
            let job = || named(&device, workload, Precondition::Filled(1.0));
            bencher.iter_batched(job, |job| run_job(job, &mut Unobserved), BatchSize::LargeInput);
        });
    }
    group.bench_function("randwrite-4k-steady", |bencher| {
        let job = || named(&device, "randwrite-4k-steady", Precondition::Steady);
        bencher.iter_batched(job, |job| run_job(job, &mut Unobserved), BatchSize::LargeInput);
    });
    group.bench_function("recorded trace", |bencher| {
        let job = || job(&device, Workload::embedded(), Precondition::Filled(1.0));
        bencher.iter_batched(job, |job| run_job(job, &mut Unobserved), BatchSize::LargeInput);
    });
    let cached = small_with(&DFTL);
    for workload in ["randread-4k", "mixed-70-30"] {
        group.bench_function(format!("dftl {workload}"), |bencher| {
            let job = || named(&cached, workload, Precondition::Filled(1.0));
            bencher.iter_batched(job, |job| run_job(job, &mut Unobserved), BatchSize::LargeInput);
        });
    }
    for (name, settings) in [("fixed placement", &FIXED[..]), ("half pages", &HALF_PAGES)] {
        let other = small_with(settings);
        group.bench_function(format!("{name} randwrite-4k"), |bencher| {
            let job = || named(&other, "randwrite-4k", Precondition::Filled(1.0));
            bencher.iter_batched(job, |job| run_job(job, &mut Unobserved), BatchSize::LargeInput);
        });
    }
    let queued = small_with(&MANY_QUEUES);
    for workload in ["randread-4k", "mixed-70-30"] {
        group.bench_function(format!("{QUEUES} queues {workload}"), |bencher| {
            let load =
                || Workload { queues: Some(QUEUES), queue_depth: Some(2), ..Workload::named(workload) };
            let job = || job(&queued, load(), Precondition::Filled(1.0));
            bencher.iter_batched(job, |job| run_job(job, &mut Unobserved), BatchSize::LargeInput);
        });
    }
    group.finish();
}

fn preconditioning(criterion: &mut Criterion) {
    let config = small().ssd().expect("a preset of an SSD").config.clone();
    let mut group = criterion.benchmark_group("preconditioning");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(config.ftl.logical_pages)));
    let device = || Device::new(config.clone(), Seed(1));
    group.bench_function("fill", |bencher| {
        let fill = |mut device: Device| {
            device.fill(1.0);
            device
        };
        bencher.iter_batched(device, fill, BatchSize::LargeInput);
    });
    group.bench_function("steady state", |bencher| {
        let fill = |mut device: Device| {
            device.fill_steady(Seed(1));
            device
        };
        bencher.iter_batched(device, fill, BatchSize::LargeInput);
    });
    group.finish();
}

/// Writes a snapshot to memory and reads it back, to compare with the preconditioning that a snapshot saves.
fn snapshots(criterion: &mut Criterion) {
    let config = small().ssd().expect("a preset of an SSD").config.clone();
    let mut group = criterion.benchmark_group("snapshot");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(config.ftl.logical_pages)));
    let mut steady = Device::new(config.clone(), Seed(1));
    steady.fill_steady(Seed(1));
    let agenda = Agenda { now: Instant::ZERO, events: Vec::new() };
    let save = || {
        let mut bytes = Vec::new();
        steady.save(&agenda, &mut bytes).expect("a list takes everything");
        bytes
    };
    group.bench_function("save", |bencher| bencher.iter(save));
    let bytes = save();
    let device = || Device::new(config.clone(), Seed(1));
    group.bench_function("restore", |bencher| {
        let load = |mut device: Device| {
            device.load(&mut bytes.as_slice()).expect("it was just saved");
            device
        };
        bencher.iter_batched(device, load, BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, runs, preconditioning, snapshots);
criterion_main!(benches);
