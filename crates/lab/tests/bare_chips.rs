//! Random reads on simple queues that are independent of the simulator, to find out which queueing rule gives
//! which latency. The device must agree with the queues that follow its rules. The queues that follow MQSim's
//! rules agree with the output of MQSim (`docs/VALIDATION.md`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wordline_kernel::{Seed, Stream};
use wordline_lab::{Device, Precondition, RunOptions, Selection, Unobserved, Workload, run};

const CHANNELS: usize = 8;
const OUTSTANDING: usize = 32;

/// Times of MQSim's part in nanoseconds: the latches of a read, the sensing, and the transfer of 4 KiB
/// including the wait before it.
const LATCHES: u64 = 290;
const SENSING: u64 = 75_000;
const DATA: u64 = 12_330;

/// The kind of transfer that the bus of a channel serves first.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Latches,
    Data,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Latched,
    Sensed { server: usize, since: u64 },
    Moved { server: usize, since: u64 },
}

/// A channel: servers that handle one read at a time each, and a bus that they share.
#[derive(Default)]
struct Channel {
    waiting: Vec<VecDeque<u64>>,
    working: Vec<bool>,
    sensed: VecDeque<(usize, u64)>,
    turn: usize,
    busy: bool,
}

struct Bare {
    channels: Vec<Channel>,
    pending: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    scheduled: u64,
    first: First,
    random: Stream,
}

impl Bare {
    fn at(&mut self, time: u64, channel: usize, event: Event) {
        self.scheduled += 1;
        self.pending.push(Reverse((time, self.scheduled, channel, event)));
    }

    fn latch(&mut self, now: u64, number: usize) -> bool {
        let channel = &mut self.channels[number];
        let servers = channel.working.len();
        for _ in 0..servers {
            let server = channel.turn;
            channel.turn = (server + 1) % servers;
            if channel.working[server] {
                continue;
            }
            if let Some(since) = channel.waiting[server].pop_front() {
                (channel.working[server], channel.busy) = (true, true);
                self.at(now + LATCHES, number, Event::Latched);
                self.at(now + LATCHES + SENSING, number, Event::Sensed { server, since });
                return true;
            }
        }
        false
    }

    fn move_data(&mut self, now: u64, number: usize) -> bool {
        let channel = &mut self.channels[number];
        let Some((server, since)) = channel.sensed.pop_front() else { return false };
        channel.busy = true;
        self.at(now + DATA, number, Event::Moved { server, since });
        true
    }

    fn use_bus(&mut self, now: u64, number: usize) {
        if self.channels[number].busy {
            return;
        }
        match self.first {
            First::Latches => self.latch(now, number) || self.move_data(now, number),
            First::Data => self.move_data(now, number) || self.latch(now, number),
        };
    }

    fn submit(&mut self, now: u64) {
        let number = self.random.below(CHANNELS as u64) as usize;
        let channel = &mut self.channels[number];
        let server = self.random.below(channel.working.len() as u64) as usize;
        channel.waiting[server].push_back(now);
        self.use_bus(now, number);
    }
}

/// Mean latency in microseconds, with this many servers per channel.
fn mean_latency(servers: usize, first: First) -> f64 {
    let channel = || Channel {
        waiting: vec![VecDeque::new(); servers],
        working: vec![false; servers],
        ..Channel::default()
    };
    let mut bare = Bare {
        channels: std::iter::repeat_with(channel).take(CHANNELS).collect(),
        pending: BinaryHeap::new(),
        scheduled: 0,
        first,
        random: Seed(1).stream("bare.chips", 0),
    };
    (0..OUTSTANDING).for_each(|_| bare.submit(0));
    let (mut done, mut sum) = (0u64, 0);
    while done < 200_000 {
        let Reverse((now, _, number, event)) = bare.pending.pop().expect("reads are outstanding");
        match event {
            Event::Latched => bare.channels[number].busy = false,
            Event::Sensed { server, since } => bare.channels[number].sensed.push_back((server, since)),
            Event::Moved { server, since } => {
                let channel = &mut bare.channels[number];
                (channel.busy, channel.working[server]) = (false, false);
                (done, sum) = (done + 1, sum + now - since);
                bare.submit(now);
            }
        }
        bare.use_bus(now, number);
    }
    sum as f64 / done as f64 / 1e3
}

/// Mean latency of the simulated device in microseconds, with packages of `dies` dies that have `planes`
/// planes.
fn of_the_device(dies: u32, planes: u32) -> f64 {
    let set = [
        format!("layout.dies_per_package={dies}"),
        format!("part.geometry.planes={planes}"),
        "part.geometry.blocks_per_plane=16".into(),
        "ftl.over_provisioning=0.4".into(),
        "ftl.gc.start_below_free_blocks=4".into(),
        "ftl.gc.stop_at_free_blocks=4".into(),
    ];
    let selection = Selection { preset: Some("mqsim-64g".into()), set: set.into(), ..Selection::default() };
    let device = Device::load(&selection).expect("a device");
    let load = Workload { requests: Some(100_000), ..Workload::named("randread-4k") };
    let options = RunOptions { precondition: Some(Precondition::Filled(1.0)), ..RunOptions::default() };
    let summary = run(&device, &load, &options, &mut Unobserved).expect("it runs");
    summary.host.read_latency_us.mean
}

fn close(found: f64, wanted: f64, within: f64) {
    assert!((found / wanted - 1.0).abs() <= within, "found {found}, wanted {wanted}");
}

#[test]
fn bare_dies_have_the_latency_of_the_device() {
    close(mean_latency(8, First::Latches), of_the_device(2, 2), 0.02);
    close(mean_latency(4, First::Latches), of_the_device(1, 4), 0.02);
}

#[test]
fn bare_chips_that_serve_one_read_at_a_time_have_the_latency_of_mqsim() {
    close(mean_latency(4, First::Data), 166.0, 0.02);
}
