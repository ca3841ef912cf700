//! The configuration of the queue of a die: which commands overtake others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration};

/// Which of the commands that wait for a die goes first, and what may be interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingFile {
    /// Whether reads of the host go before programs, erases and the collector's reads; else first come, first served. Reads
    /// that complete pages of the buffer go with them while a command of the host waits for that, and with programs while
    /// none does.
    pub read_priority: bool,
    /// Reads that go, one after another, before a program or erase that waits or is suspended.
    pub reads_in_a_row: u32,
    /// A command that has waited so long goes before all reads, and is not suspended any more; `0` for none. What `gc_priority` puts
    /// behind waits for the others no longer than this either, or than 100 ms with `0`.
    pub age_limit: Duration,
    /// The collector's commands against programs of the host.
    pub gc_priority: GcPriority,
    /// Whether a program is suspended for a read of the host. A die whose program is suspended takes reads alone.
    pub suspend_programs: bool,
    /// Whether an erase is suspended for a read of the host.
    pub suspend_erases: bool,
    /// How often one program or erase is suspended at the most.
    pub max_suspends: u32,
}

/// How long commands of one class wait for those of another that goes before them, without [`SchedulingFile::age_limit`]. Chosen: ten
/// erases of the slowest parts, so that it decides nothing but where a class starves.
pub(crate) const DEADLINE: Duration = Duration::from_ms(100);

/// The collector's commands against programs of the host, in the queue of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcPriority {
    /// They go while no program of the host waits for the die, or once they have waited too long (`age_limit`).
    Low,
    /// First come, first served.
    #[default]
    Equal,
    /// They go first, before all that has not waited too long.
    High,
}

impl Default for SchedulingFile {
    /// Reads first, nothing suspended. Chosen: 16 reads in a row, so that a die that reads in 50 us and programs in 1 ms
    /// spends at least half of its time on programs when both wait and neither starves; four suspends, so that a program
    /// (100 us to rest, 750 us of work in MQSim's part) takes at most about half as long again, reads not counted.
    fn default() -> Self {
        Self {
            read_priority: true,
            reads_in_a_row: 16,
            age_limit: Duration::ZERO,
            gc_priority: GcPriority::Equal,
            suspend_programs: false,
            suspend_erases: false,
            max_suspends: 4,
        }
    }
}

impl SchedulingFile {
    /// Adds what is wrong, with keys below `table`.
    pub fn check(&self, table: &str, wrong: &mut Complaints) {
        for (key, value) in [("reads_in_a_row", self.reads_in_a_row), ("max_suspends", self.max_suspends)] {
            wrong.require((1..=65_535).contains(&value), &format!("{table}.{key}"), value, "from 1 to 65535");
        }
        let limit = self.age_limit;
        wrong.require(
            limit == Duration::ZERO || (Duration::from_us(1)..=Duration::from_ms(10_000)).contains(&limit),
            &format!("{table}.age_limit"),
            limit,
            "0 for none, or from 1us to 10s",
        );
        for (key, suspends) in
            [("suspend_programs", self.suspend_programs), ("suspend_erases", self.suspend_erases)]
        {
            let wanted = format!(
                "false, or {table}.read_priority = true: what is suspended is so for reads that go first"
            );
            wrong.require(!suspends || self.read_priority, &format!("{table}.{key}"), suspends, wanted);
        }
    }
}
