//! Configuration of die scheduling: which commands go before others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration};

/// Order of the commands queued for a die, and which of them may be suspended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulingFile {
    /// Whether host reads go before programs, erases and GC reads. If false, host reads and programs are
    /// served in order of arrival. A read-modify-write read has the priority of a host read while a host
    /// command waits for it, and the priority of a program otherwise.
    pub read_priority: bool,
    /// Most consecutive reads that go before a waiting or suspended program or erase. The next read that
    /// arrives can suspend a resumed one again.
    pub reads_in_a_row: u32,
    /// Age at which a command goes before all reads and can no longer be suspended; `0` for no limit. This
    /// age also limits how long `gc_priority` delays a command. With `0`, the delay is limited to 100 ms.
    pub age_limit: Duration,
    /// Priority of GC commands relative to host programs.
    pub gc_priority: GcPriority,
    /// Whether a host read suspends a program in progress. A die with a suspended program serves only reads.
    pub suspend_programs: bool,
    /// Whether a host read suspends an erase in progress.
    pub suspend_erases: bool,
    /// Most suspends of one program or erase.
    pub max_suspends: u32,
}

/// Longest time for which `gc_priority` delays a command if [`SchedulingFile::age_limit`] is zero. Chosen:
/// ten erases of the slowest parts, so that it takes effect only if commands starve.
pub(crate) const DEADLINE: Duration = Duration::from_ms(100);

/// Priority of GC commands relative to host programs, in the queue of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcPriority {
    /// GC commands wait while host programs are queued for the die, up to the `age_limit`.
    Low,
    /// GC commands and host programs are served in order of arrival.
    #[default]
    Equal,
    /// Host programs wait while GC commands are queued for the die, up to the `age_limit`.
    High,
}

impl Default for SchedulingFile {
    /// Reads go first, and nothing is suspended.
    ///
    /// Chosen: 16 consecutive reads. If reads take 50 us and programs 1 ms, a die with both queued spends at
    /// least half of its time on programs.
    ///
    /// Chosen: four suspends. In MQSim's part a suspend takes 100 us and a program 750 us. Suspends then
    /// lengthen a program by at most about a half, not counting the reads themselves.
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
