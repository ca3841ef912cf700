//! Configuration of die scheduling: which commands overtake others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration};

/// Order of the commands queued for a die, and which ones may be suspended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingFile {
    /// Whether host reads go before programs, erases and GC reads; otherwise first come, first served.
    /// Read-modify-write reads go with host reads while a host command waits for them, and with programs
    /// otherwise.
    pub read_priority: bool,
    /// Most consecutive reads that go before a waiting or suspended program or erase.
    pub reads_in_a_row: u32,
    /// Age at which a command goes before all reads and is not suspended any more; `0` for none. It also
    /// limits how long `gc_priority` delays commands, which is 100 ms with `0`.
    pub age_limit: Duration,
    /// Priority of GC commands over host programs.
    pub gc_priority: GcPriority,
    /// Whether a program is suspended for a host read. A die with a suspended program takes only reads.
    pub suspend_programs: bool,
    /// Whether an erase is suspended for a host read.
    pub suspend_erases: bool,
    /// Most suspends of one program or erase.
    pub max_suspends: u32,
}

/// Longest wait of commands of one class for those of another with priority, without
/// [`SchedulingFile::age_limit`]. Chosen: ten erases of the slowest parts, so that it matters only where a
/// class starves.
pub(crate) const DEADLINE: Duration = Duration::from_ms(100);

/// Priority of GC commands over host programs, in the queue of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcPriority {
    /// GC commands go while no host program waits for the die, or once they have waited too long
    /// (`age_limit`).
    Low,
    /// First come, first served.
    #[default]
    Equal,
    /// GC commands go first, before all commands that have not waited too long.
    High,
}

impl Default for SchedulingFile {
    /// Reads first, nothing suspended. Chosen: 16 consecutive reads, so that a die that reads in 50 us and
    /// programs in 1 ms spends at least half of its time on programs when both wait and neither starves; four
    /// suspends, so that a program (100 us to suspend, 750 us of work in MQSim's part) takes at most about
    /// half as long again, excluding reads.
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
    /// Adds complaints with keys below `table`.
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
                "false, or {table}.read_priority = true: commands are suspended for prioritized reads"
            );
            wrong.require(!suspends || self.read_priority, &format!("{table}.{key}"), suspends, wanted);
        }
    }
}
