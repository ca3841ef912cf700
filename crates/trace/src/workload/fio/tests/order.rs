//! Order of jobs, their shares, and the outstanding requests of each.

use super::*;

/// Number of requests, and times of the first and the last one, of a lane.
fn of_lane(all: &[Request], lane: u16) -> (usize, u64, u64) {
    let of: Vec<u64> = all.iter().filter(|request| request.cpu == Some(lane)).map(us).collect();
    (of.len(), of.first().copied().unwrap_or(0), of.last().copied().unwrap_or(0))
}

#[test]
fn a_job_waits_for_the_one_that_it_names() {
    let all = requests(
        "[global]\nfilename=x\nnumber_ios=5\n[a]\nnumjobs=2\n[b]\n[c]\nwait_for=a\n[d]\nwait_for=c\n",
    );
    let begins = [0, 1, 2, 3, 4].map(|lane| of_lane(&all, lane).1);
    assert_eq!(begins, [0, 0, 0, 500, 1000]);
}

#[test]
fn a_delay_counts_from_the_beginning_of_the_run() {
    let all = requests(
        "[global]\nfilename=x\nnumber_ios=5\n[a]\n[b]\nstonewall\nstartdelay=200us\n[c]\nstonewall\nstartdelay=2ms\n",
    );
    let begins = [0, 1, 2].map(|lane| of_lane(&all, lane).1);
    assert_eq!(begins, [0, 500, 2000]);
}

#[test]
fn jobs_end_with_the_first_of_their_scope() {
    let jobs = |keys: &str| {
        requests(&format!(
            "[global]\nfilename=x\nruntime=10ms\ntime_based\n{keys}\n[a]\nnumber_ios=3\ntime_based=0\n[b]\n[c]\nnew_group\n\
             [d]\nstonewall\n"
        ))
    };
    let counts = |keys: &str| [0, 1, 2, 3].map(|lane| of_lane(&jobs(keys), lane).0);
    assert_eq!(counts(""), [3, 100, 100, 100]);
    let group = counts("exitall");
    assert!(group[1] <= 5 && group[2..] == [100, 100], "{group:?}");
    let stonewall = counts("exitall\nexit_what=stonewall");
    assert!(stonewall[1] <= 5 && stonewall[2] <= 5 && stonewall[3] == 100, "{stonewall:?}");
    let all = counts("exitall\nexit_what=all");
    assert!(all[1] <= 5 && all[2] <= 5 && all[3] == 0, "{all:?}");
}

#[test]
fn jobs_of_one_flow_have_requests_by_their_weights() {
    let all = requests(
        "[global]\nfilename=x\nioengine=libaio\niodepth=16\nruntime=100ms\ntime_based\nnorandommap\n\
         [a]\nrw=randread\nflow=8\n[b]\nrw=write\nflow=1\n",
    );
    let ([a, ..], [b, ..]) = ([of_lane(&all, 0).0], [of_lane(&all, 1).0]);
    let ratio = a as f64 / b as f64;
    assert!((ratio - 8.0).abs() < 0.1, "{a} to {b}");
    let sleeps = requests(
        "[global]\nfilename=x\nruntime=20ms\ntime_based\nflow_sleep=1000\n[a]\nflow=3\n[b]\nrw=write\nflow=1\n",
    );
    let ratio = of_lane(&sleeps, 0).0 as f64 / of_lane(&sleeps, 1).0 as f64;
    assert!((2.5..3.5).contains(&ratio), "{ratio}");
}

#[test]
fn a_full_queue_waits_for_so_many_completions() {
    let begins = |keys: &str| -> Vec<u64> {
        // Two jobs: the queue of the first one fills in steps of its rate.
        let all = job(&format!(
            "rw=randread\niodepth=4\nrate_iops=50000\nio_submit_mode=offload\n{keys}\nnumber_ios=10"
        ));
        all.iter().map(us).collect()
    };
    assert_eq!(begins(""), [0, 20, 40, 60, 100, 120, 140, 160, 200, 220]);
    assert_eq!(begins("iodepth_low=2"), [0, 20, 40, 60, 120, 120, 160, 160, 220, 220]);
    assert_eq!(begins("iodepth_batch_complete_min=4"), [0, 20, 40, 60, 160, 160, 160, 160, 260, 260]);
}

#[test]
fn a_job_that_is_ahead_of_its_rate_waits_for_its_requests_first() {
    let times = |keys: &str| -> Vec<u64> {
        job(&format!("rw=randread\nrate_iops=1000\nnumber_ios=4\niodepth=4\n{keys}")).iter().map(us).collect()
    };
    // The pause is as long as the rate asked for when the job saw it, as in fio.
    assert_eq!(times(""), [0, 1100, 2100, 3100]);
    assert_eq!(times("io_submit_mode=offload"), [0, 1000, 2000, 3000]);
}

#[test]
fn pauses_count_issued_requests_or_time() {
    let times = |keys: &str| -> Vec<u64> {
        job(&format!("rw=read\niodepth=2\nthinktime=1ms\nnumber_ios=5\n{keys}")).iter().map(us).collect()
    };
    assert_eq!(times("thinktime_blocks=2\nthinktime_blocks_type=issue"), [0, 0, 1100, 1100, 2200]);
    assert_eq!(times("thinktime_iotime=200us"), [0, 0, 100, 100, 1200]);
}
