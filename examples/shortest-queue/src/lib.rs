//! A design in its own crate: each program goes to the plane group whose die has the shortest queue. Among
//! equal ones it goes to the plane group with the fewest erases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::design::{DeviceEvent, EventMask, ExtensionPoint, Needs, View};
use wordline_ftl::policy::placement::{PlaneGroupId, PlaneGroupSet};
use wordline_ftl::{Config, Design};
use wordline_kernel::chart::{Chart, ChartAxis, ChartData};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Column, Complaints, Instant, Metric, Series, state};
use wordline_lab::devices::{DesignType, Embedded};

/// Places programs by queue length and wear.
pub struct ShortestQueue {
    /// Weight of an erase in queued tasks. Only erases in excess of those of the least worn plane group
    /// count. With 0, wear decides only between equal queues.
    tasks_of_erase: u32,
    /// Erases of each plane group, from device events.
    erases: Column<PlaneGroupId, u32>,
    /// Programs that did not go to the first plane group that accepted them.
    passed: u64,
    /// By number of tasks queued at the die: programs placed there.
    found: Vec<u64>,
    /// By window of time: programs, and the sum of the tasks queued at their dies.
    over_time: Series<[u64; 2]>,
}

state!(ShortestQueue { values { erases, passed, found, over_time } fixed { tasks_of_erase } });

static PASSED: Metric = Metric::new(
    "shortest_queue.passed",
    Unit::Count,
    "Programs for which the first free plane group was passed over.",
);

static QUEUES: [Chart; 2] = [
    Chart {
        name: "queues",
        title: "Tasks that a program found waiting",
        caption: "Programs by the tasks that waited for their die when they were placed.",
        over: ChartAxis::Sizes("Tasks that waited"),
        value: "Programs",
    },
    Chart {
        name: "queues-over-time",
        title: "Tasks queued at the die of a program, over time",
        caption: "The mean of the tasks that waited for the die of a program when it was placed, by window.",
        over: ChartAxis::Time,
        value: "Tasks that waited",
    },
];

impl ShortestQueue {
    /// Notes a program to a die with this many queued tasks.
    fn note(&mut self, tasks: u32, now: Instant) {
        let at = tasks as usize;
        self.found.resize(self.found.len().max(at + 1), 0);
        self.found[at] += 1;
        let add = |sum: &mut [u64; 2], more: &[u64; 2]| *sum = [sum[0] + more[0], sum[1] + more[1]];
        add(self.over_time.window(now, add), &[1, tasks.into()]);
    }
}

impl Design for ShortestQueue {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::ERASED, ..Needs::of(&[ExtensionPoint::Place]) }
    }

    fn place(&mut self, rows: &PlaneGroupSet, view: &mut View<'_>) -> PlaneGroupId {
        let least = rows.iter().map(|row| self.erases[row]).min().unwrap_or(0);
        let cost = |row: &PlaneGroupId| {
            let (worn, tasks) = (self.erases[*row] - least, view.queue_length(view.die_of_group(*row)));
            (tasks + worn * self.tasks_of_erase, worn)
        };
        let best = rows.iter().min_by_key(cost).expect("a row takes the program");
        self.passed += u64::from(rows.next_from(PlaneGroupId(0)) != Some(best));
        self.note(view.queue_length(view.die_of_group(best)), view.now());
        best
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        if let DeviceEvent::Erased { block, .. } = *seen {
            self.erases[view.pools().group_of_block(block)] += 1;
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        vec![(&PASSED, Value::Count(self.passed))]
    }

    fn charts(&self) -> Vec<ChartData> {
        let by_size = self.found.iter().enumerate().map(|(tasks, programs)| [tasks as f64, *programs as f64]);
        let mean = |[programs, tasks]: &[u64; 2]| (*programs > 0).then(|| *tasks as f64 / *programs as f64);
        let points = [by_size.collect(), self.over_time.points(mean)];
        QUEUES.iter().zip(points).map(|(chart, points)| ChartData { chart, points }).collect()
    }
}

/// Settings of the design.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Weight of an erase in queued tasks. Only erases in excess of those of the least worn plane group
    /// count. With 0, wear decides only between equal queues.
    pub tasks_of_erase: u32,
}

impl DesignType for ShortestQueue {
    const NAME: &'static str = "shortest-queue";
    const DESCRIPTION: &'static str = "Programs go where the queue is shortest and the wear least.";

    type File = File;

    fn check(file: &File, _: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        let tasks = file.tasks_of_erase;
        wrong.require(tasks <= 1_000, "tasks_of_erase", tasks, "from 0 to 1000");
        wrong.into_result(())
    }

    fn build(file: &File, config: &Config) -> Box<dyn Design> {
        let erases = Column::filled(config.pools.rows() as usize, 0);
        Box::new(Self {
            tasks_of_erase: file.tasks_of_erase,
            erases,
            passed: 0,
            found: Vec::new(),
            over_time: Series::default(),
        })
    }

    fn metrics() -> Vec<&'static Metric> {
        vec![&PASSED]
    }

    fn presets() -> &'static [Embedded] {
        &[("shortest-queue", include_str!("../shortest-queue.toml"))]
    }
}

#[test]
fn it_keeps_the_contract_of_designs() {
    use wordline_ssd::contract;
    contract::check(&contract::small(), |config| ShortestQueue::build(&File { tasks_of_erase: 2 }, config));
}
