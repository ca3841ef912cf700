//! Tests of jobs made from workloads, and of workloads that are refused.

use super::*;
use wordline_kernel::Bytes;

use crate::run::run_job;
use crate::trace::{self, Op, Requests, Zones};
use crate::{Precondition, Selection};

fn pace(plan: Workload, usual_depth: Option<u32>) -> std::result::Result<Pace, String> {
    plan.pace(usual_depth, None, None).map_err(|error| error.to_string())
}

#[test]
fn a_trace_runs_by_its_times_and_a_queue_depth_closes_the_loop() {
    assert_eq!(pace(Workload::default(), None), Ok(Pace::Open { time_scale: 1.0 }));
    let faster = Workload { time_scale: Some(0.5), ..Workload::default() };
    assert_eq!(pace(faster, None), Ok(Pace::Open { time_scale: 0.5 }));
    let closed =
        Workload { queue_depth: Some(4), think_time: Some(Duration::from_us(2)), ..Workload::default() };
    assert_eq!(pace(closed, None), Ok(Pace::Closed { depth: 4, think: Duration::from_us(2) }));
    let other_depth = Workload { queue_depth: Some(1), ..Workload::default() };
    assert_eq!(pace(other_depth, Some(32)), Ok(Pace::Closed { depth: 1, think: Duration::ZERO }));
}

#[test]
fn a_closed_loop_pauses_where_the_user_or_the_workload_says_so() {
    let on = Duration::from_ms(5);
    let bursts = Some(Bursts::halves(on));
    let plan = Workload { queue_depth: Some(4), bursts, ..Workload::default() };
    assert_eq!(pace(plan.clone(), None), Ok(Pace::Bursts { depth: 4, on, off: on }));
    let of_workload = Workload::default().pace(Some(2), bursts, None).map_err(|error| error.to_string());
    assert_eq!(of_workload, Ok(Pace::Bursts { depth: 2, on, off: on }));
    let of_workload = Workload::default().pace(Some(2), None, Some(on)).map_err(|error| error.to_string());
    assert_eq!(of_workload, Ok(Pace::Closed { depth: 2, think: on }));
    let thinks = Workload { think_time: Some(on), ..plan.clone() };
    assert!(pace(thinks, None).is_err_and(|error| error.contains("none in a closed loop with bursts")));
    let open = Workload { bursts, ..Workload::default() };
    assert!(pace(open, None).is_err_and(|error| error.starts_with("bursts: found 5ms, wanted none")));
    let short = Workload { bursts: Some(Bursts::halves(Duration::ZERO)), ..plan };
    assert!(pace(short, None).is_err_and(|error| error.contains("wanted from 1us to 1h")));
}

#[test]
fn requests_take_the_times_of_a_recorded_trace() {
    let origin = Origin::Named("mail".into());
    let plan =
        Workload { origin, requests: Some(3), times_of: Some("embedded".into()), ..Workload::default() };
    let job = named(plan.clone(), &device(&[])).expect("a job");
    assert_eq!(job.load.pace, Pace::Open { time_scale: 1.0 });
    let arrivals =
        |requests: Requests| requests.map(|request| request.expect("one").arrival).collect::<Vec<_>>();
    let recorded = trace::prepare_embedded(Some(3)).expect("the embedded trace").requests;
    assert_eq!(arrivals(job.load.in_order()), arrivals(recorded));
    let both = Workload { queue_depth: Some(1), ..plan };
    assert!(named(both, &device(&[])).is_err_and(|error| error.contains("none beside the times of a trace")));
}

#[test]
fn a_setting_that_the_loop_would_ignore_is_refused() {
    let think = Workload { think_time: Some(Duration::from_us(1)), ..Workload::default() };
    assert!(pace(think, None).is_err_and(|error| error.starts_with("think time: found 1us, wanted none")));
    let scale = Workload { time_scale: Some(0.5), ..Workload::default() };
    assert!(
        pace(scale, Some(32)).is_err_and(|error| error.starts_with("time scale: found 0.5, wanted none"))
    );
    let backwards = Workload { time_scale: Some(-1.0), ..Workload::default() };
    assert!(pace(backwards, None).is_err());
    let nothing = Workload { queue_depth: Some(0), ..Workload::default() };
    assert!(pace(nothing, None).is_err());
}

fn device(set: &[&str]) -> Device {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    Device::load(&Selection { preset: Some("tiny".into()), file: None, set }).expect("a device")
}

fn named(plan: Workload, device: &Device) -> std::result::Result<Job, String> {
    let requests = plan.requests.or(Some(2_000));
    let plan = Workload { origin: Origin::Named("mixed-70-30".into()), requests, ..plan };
    plan.job(device, &RunOptions::default(), &mut Unobserved).map_err(|error| error.to_string())
}

#[test]
fn a_closed_loop_uses_a_queue_and_requests_by_their_times_all_that_the_device_has() {
    let nvme = device(&["front.interface=nvme", "front.nvme.queues=4"]);
    let plan = Workload::default;
    assert_eq!(named(plan(), &nvme).expect("a job").load.spread.queues, 1);
    let open = Workload { requests: Some(100), ..plan() };
    let open = open.job(&nvme, &RunOptions::default(), &mut Unobserved).expect("the embedded trace");
    assert_eq!((open.load.spread.queues, open.load.pace), (4, Pace::Open { time_scale: 1.0 }));
    assert_eq!(named(Workload { queues: Some(3), ..plan() }, &nvme).expect("a job").load.spread.queues, 3);
    let error = named(Workload { queues: Some(5), ..plan() }, &nvme).err();
    assert!(error.is_some_and(|error| error.starts_with("queues: found 5, wanted from 1 to 4")));
}

#[test]
fn a_namespace_bounds_the_requests_that_name_it() {
    let both = device(&["namespaces=[{size = \"4MiB\"}, {fraction = 0.5}]"]);
    let job = named(Workload { namespace: Some(2), ..Workload::default() }, &both).expect("there are two");
    let most = Bytes::mib(6); // Half of 12 MiB.
    assert!(job.load.namespace == 1 && job.load.in_order().flatten().all(|r| r.offset + r.size <= most));
    let error = named(Workload { namespace: Some(3), ..Workload::default() }, &both).err();
    assert!(error.is_some_and(|error| error.starts_with("namespace: found 3, wanted from 1 to 2")));
}

#[test]
fn requests_over_a_link_spend_time_on_it_and_unaligned_ones_are_refused() {
    let run = |device: &Device, plan| {
        run_job(named(plan, device)?, &mut Unobserved).map_err(|error| error.to_string())
    };
    let nvme = device(&["front.interface=nvme", "front.sector_size=4KiB"]);
    let summary = run(&nvme, Workload { queues: Some(2), ..Workload::default() }).expect("whole sectors");
    let link = summary.time.iter().find(|share| share.name == "link").expect("a component");
    assert!(link.read_us > 1.0 && summary.link_utilisation.len() == 2, "{link:?}");
    assert!(
        (summary.time.iter().map(|share| share.read_us).sum::<f64>() - summary.host.read_latency_us.mean)
            .abs()
            < 1e-6
    );
    // The second request is refused. The error names it, not the last one, although valid requests follow.
    let sizes = [4096, 512, 4096, 4096, 512];
    let requests = sizes.map(|size| Request::new(Op::Read, Bytes(0), Bytes(size)));
    let given = Workload::given("five reads", requests);
    let error = crate::run(&nvme, &given, &RunOptions::default(), &mut Unobserved);
    let error = error.expect_err("two are odd").to_string();
    assert!(error.starts_with("request 2 of five reads"), "{error}");
    assert!(error.contains("wanted whole sectors of the device, whose size is 4KiB"), "{error}");
}

#[test]
fn the_embedded_trace_has_whole_sectors_on_every_device_with_addresses() {
    let options = RunOptions { precondition: Some(Precondition::Empty), ..RunOptions::default() };
    let load = Workload { requests: Some(200), ..Origin::Embedded.into() };
    let small = device(&["front.interface=nvme", "front.sector_size=4KiB"]);
    let run = |device: &Device| crate::run(device, &load, &options, &mut Unobserved).expect("it runs");
    let (small, usual) = (run(&small), run(&device(&["front.interface=nvme"])));
    let is_told = |run: &crate::Summary| {
        run.notes.iter().any(|note| note.contains("extended to whole sectors of 4KiB"))
    };
    assert!(is_told(&small) && !is_told(&usual), "{:?}", small.notes);
    assert!(
        small.host.written_bytes > usual.host.written_bytes && small.host.written_bytes.is_multiple_of(4096)
    );
    let zoned = Device::preset("zns-tlc-raw").expect("a preset");
    let refusal = crate::run(&zoned, &load, &options, &mut Unobserved).expect_err("writes at any address");
    let wanted = "workload: found none, wanted one that writes zones in order, such as rocks";
    assert!(refusal.to_string().starts_with(wanted), "{refusal}");
}

#[test]
fn generated_requests_stay_within_the_capacities_of_zones() {
    let zoned = Device::preset("zns-tlc-raw").expect("a preset");
    let zones = zoned.configured.shape().zones.expect("it has zones");
    assert!(zones.capacity < zones.size);
    let of_zone = |request: &Request| request.offset.0 % zones.size.0 + request.size.0;
    for name in ["randread-4k", "seqwrite-128k", "centaur/usr_1"] {
        let load = Workload { requests: Some(40_000), ..Workload::named(name) };
        let options = RunOptions { warm_up: Some(WarmUp::None), ..RunOptions::default() };
        let job = load.job(&zoned, &options, &mut Unobserved).expect("a job");
        let requests: Vec<Request> = job.load.in_order().map(|request| request.expect("drawn")).collect();
        assert_eq!(requests.len(), 40_000, "{name}");
        let outside = requests.iter().find(|request| of_zone(request) > zones.capacity.0);
        assert_eq!(outside, None, "{name}");
        assert!(requests.iter().any(|request| request.offset >= zones.size), "{name} uses several zones");
    }
}

#[test]
fn an_error_about_a_request_of_a_trace_names_its_line_in_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.csv");
    // The third request in time is on line 3, below a comment and before the requests that precede it.
    let text = |third: &str| {
        format!(
            "t_ps,op,offset,size\n# a comment\n900,{third}\n100,R,0,0\n200,R,0,4096\n300,W,4096,4096\n950,R,0,4096\n"
        )
    };
    let fault = |third: &str, set: &[&str], how: Workload| {
        std::fs::write(&path, text(third)).expect("it is written");
        let run = crate::run(&device(set), &how, &RunOptions::default(), &mut Unobserved);
        run.expect_err(third).to_string()
    };
    let trace = Workload::trace(&path);
    let refused = Workload { fit: Fit::Refuse, ..trace.clone() };
    let mut kept = trace.clone();
    if let Origin::Trace(_, options) = &mut kept.origin {
        options.zones = Some(Zones::Keep);
    }
    let here = path.display();
    let sectors = ["front.interface=nvme", "front.sector_size=4KiB"];
    for (third, set, how, wanted) in [
        ("R,0,512", &sectors[..], &trace, "found bytes 0 to 512 (request 3), wanted whole sectors"),
        ("ZR,0,0", &[], &kept, "found zone reset (request 3), wanted an operation of conventional devices"),
        (
            "R,1099511627776,4096",
            &[],
            &refused,
            "found a request up to byte 1099511631872 (request 3), wanted all within the device, or --fit wrap or scale: \
             the device has 12MiB, the trace extends to byte 1099511631872",
        ),
    ] {
        let fault = fault(third, set, how.clone());
        assert!(fault.starts_with(&format!("{here}:3: {wanted}")), "{fault}");
    }
    let options = RunOptions { precondition: Some(Precondition::Workload(None)), ..RunOptions::default() };
    std::fs::write(&path, text("ZR,0,0")).expect("it is written");
    let fault = crate::run(&device(&[]), &kept, &options, &mut Unobserved).expect_err("a reset").to_string();
    assert!(fault.starts_with(&format!("{here}:3: found zone reset (request 3)")), "{fault}");
}

#[test]
fn a_run_that_ends_early_has_the_notes_on_the_requests_so_far() {
    let beyond = Request::new(Op::Read, Bytes::gib(1), Bytes(4096));
    let given = Workload::given("three reads", [beyond; 3]);
    let job = given.job(&device(&[]), &RunOptions::default(), &mut Unobserved).expect("a job");
    let notes = job.load.late_notes.clone();
    let two = job.load.in_order().take(2).flatten().count();
    let wanted = "the trace extends to 1.00 GiB, the device has 12.00 MiB: 2 requests wrapped";
    assert_eq!((two, notes.take()), (2, vec![wanted.to_owned()]));
}

#[test]
fn a_flush_lies_on_every_device_whatever_its_offset() {
    let flush = Request::new(Op::Flush, Bytes::gib(1), Bytes(0));
    let read = Request::new(Op::Read, Bytes::mib(8), Bytes(4096));
    for fit in [Fit::Refuse, Fit::Scale] {
        let given = Workload { fit, ..Workload::given("a flush", [flush, read]) };
        let job = given.job(&device(&[]), &RunOptions::default(), &mut Unobserved).expect("it fits");
        assert_eq!(job.load.in_order().flatten().last().map(|request| request.offset), Some(Bytes::mib(8)));
    }
}

#[test]
fn a_run_that_takes_longer_than_the_limit_of_time_is_refused() {
    let plan = Workload {
        think_time: Some(Duration::from_ms(3_600_000)),
        queue_depth: Some(1),
        ..Workload::default()
    };
    let job = named(Workload { requests: Some(3_000), ..plan }, &device(&[])).expect("a job");
    let error = run_job(job, &mut Unobserved).expect_err("125 days").to_string();
    assert!(error.contains("more than 106 days of simulated time with 25"), "{error}");
}

#[test]
fn a_precondition_reads_as_a_word_or_a_fraction() {
    assert_eq!("empty".parse(), Ok(Precondition::Empty));
    assert_eq!("0.5".parse(), Ok(Precondition::Filled(0.5)));
    assert_eq!("steady-state".parse(), Ok(Precondition::Steady));
    assert_eq!("steady-state:0.5".parse(), Ok(Precondition::SteadyTo(0.5)));
    assert_eq!("filled:0.5".parse(), "0.5".parse::<Precondition>());
    for wrong in ["steady-state:", "steady-state:0", "filled:2", "filled:", ":0.5"] {
        assert!(wrong.parse::<Precondition>().is_err(), "{wrong}");
    }
    assert!("1.5".parse::<Precondition>().is_err());
    assert!("full".parse::<Precondition>().is_err());
}

/// A run of the job file with this text, on the smallest device.
fn run_of_jobs(text: &str) -> crate::Summary {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("job.fio");
    std::fs::write(&path, text).expect("it is written");
    let workload = Workload::named(&path.to_string_lossy());
    let device = Device::preset("tiny").expect("a preset");
    crate::run(&device, &workload, &RunOptions::seed(1), &mut Unobserved)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_job_is_as_fast_as_a_closed_loop_of_its_depth() {
    let device = Device::preset("tiny").expect("a preset");
    let pattern = Workload { requests: Some(4_000), queue_depth: Some(8), ..Workload::named("randread-4k") };
    let loop_of_8 = crate::run(&device, &pattern, &RunOptions::seed(1), &mut Unobserved).expect("it runs");
    let keys =
        "filename=x\nrw=randread\nnorandommap\nioengine=libaio\ndirect=1\nnumber_ios=4000\nio_size=1g\n";
    let deep = run_of_jobs(&format!("[a]\n{keys}iodepth=8\n"));
    let wide = run_of_jobs(&format!("[a]\n{keys}numjobs=8\nnumber_ios=500\n"));
    for jobs in [deep, wide] {
        assert_eq!(jobs.host.requests, 4_000);
        let ratio = jobs.host.iops / loop_of_8.host.iops;
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    }
}

#[test]
fn jobs_with_depths_and_rates_of_their_own_run_side_by_side() {
    let run = run_of_jobs(
        "[global]\nfilename=x\nioengine=libaio\ndirect=1\nruntime=50ms\ntime_based\n\
         [reads]\nrw=randread\nrate_iops=1000\nrate_process=poisson\n\
         [writes]\nrw=randwrite\nrate_iops=400\n\
         [thinks]\nrw=trim\nthinktime=1ms\n",
    );
    assert_eq!(run.host.writes, 20);
    assert!((35..65).contains(&run.host.reads), "{}", run.host.reads);
    assert!((40..=50).contains(&run.host.discards), "{}", run.host.discards);
    assert!((0.048..0.052).contains(&run.simulated_seconds), "{}", run.simulated_seconds);
}

#[test]
fn each_job_has_its_own_results_and_its_clones_are_one() {
    let run = run_of_jobs(
        "[global]\nfilename=x\nioengine=libaio\ndirect=1\nruntime=50ms\ntime_based\n\
         [slow]\nrw=randread\nrate_iops=400\n\
         [fast]\nrw=randread\nrate_iops=400\nnumjobs=3\n\
         [writes]\nstonewall\nrw=write\nbs=8k\nrate_iops=1000\n",
    );
    let [slow, fast, writes] = &run.jobs[..] else { panic!("three jobs, not {:?}", run.jobs) };
    assert_eq!([&slow.name, &fast.name, &writes.name], ["slow", "fast", "writes"]);
    assert_eq!((slow.reads, fast.reads, writes.writes), (20, 60, 50));
    let sum = |of: fn(&crate::summary::JobUse) -> u64| run.jobs.iter().map(of).sum::<u64>();
    let host = &run.host;
    assert_eq!((sum(|job| job.requests), sum(|job| job.reads)), (host.requests, host.reads));
    assert_eq!(
        (sum(|job| job.read_bytes), sum(|job| job.written_bytes)),
        (host.read_bytes, host.written_bytes)
    );
    assert_eq!((slow.write_latency_us.max, writes.read_latency_us.max), (0.0, 0.0));
    assert_eq!(slow.read_latency_us.max.max(fast.read_latency_us.max), host.read_latency_us.max);
    // The last job begins when the others have ended.
    assert!(
        slow.from_seconds < 0.003 && writes.from_seconds > 0.049,
        "{} {}",
        slow.from_seconds,
        writes.from_seconds
    );

    let iops = [slow, fast, writes].map(|job| job.iops);
    let jain = iops.iter().sum::<f64>().powi(2) / (3.0 * iops.iter().map(|iops| iops * iops).sum::<f64>());
    assert_eq!(run.fairness, Some(jain));
    assert!((0.7..0.9).contains(&jain), "{iops:?}: {jain}");

    let alone = run_of_jobs("[one]\nfilename=x\nrw=randread\nnumber_ios=10\n");
    assert_eq!((alone.jobs.len(), alone.fairness), (1, None));
}
