//! Loops of an application's threads over files, as data. Filebench calls the steps of such loops flowops.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, one_of};

use super::block_requests::BLOCK;
use super::files::MAX_FILE_BYTES;

/// An application as threads that use files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Mean file size at the start of the run.
    pub mean_size: Bytes,
    /// Distribution of file sizes at the start of the run.
    #[serde(default)]
    pub sizes: Sizes,
    /// Share of the files that exist at the start of the run, above 0 and at most 1.
    #[serde(default = "whole")]
    pub present: f64,
    /// Share of the region that files fill at the start of the run, above 0 and at most 0.9. It determines
    /// the number of files.
    #[serde(default = "fill")]
    pub fill: f64,
    /// Share of the files that the page cache holds, from 0 to 0.9. With 0 every read reaches the device, and
    /// no write is deferred. If files are read and written in parts, it is the share of their blocks.
    #[serde(default = "page_cache")]
    pub page_cache: f64,
    /// Size of the metadata journal, at most a sixty-fourth of the region. With 0B there is no journal, and
    /// metadata are written in place.
    #[serde(default = "journal")]
    pub journal: Bytes,
    /// Whether the blocks of a file are discarded once its deletion is durable.
    #[serde(default = "yes")]
    pub discard: bool,
    /// Size at which the log restarts, at most a sixteenth of the region.
    #[serde(default = "log_limit")]
    pub log_limit: Bytes,
    /// Threads, in groups with the same loop.
    pub threads: Vec<Group>,
}

/// Distribution of file sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// Gamma distribution with shape 1.5, as in Filebench.
    #[default]
    Gamma,
    /// All files have the mean size.
    Equal,
}

/// Threads that run the same loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name by which other threads refer to the group.
    pub name: String,
    /// Number of threads, from 1 to 1,024 in all groups together.
    pub count: u16,
    /// Steps of the loop that each thread repeats.
    #[serde(rename = "loop")]
    pub steps: Vec<Step>,
}

/// A step of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Opens an existing file, drawn uniformly.
    Open {},
    /// Creates and opens a file that did not exist.
    Create {},
    /// Deletes an existing file, drawn uniformly.
    Delete {},
    /// Reads the whole open file.
    ReadWhole {},
    /// Appends between one byte and this many to the open file, drawn uniformly.
    Append {
        /// Upper bound.
        up_to: Bytes,
    },
    /// Makes the open file and all changed metadata durable.
    Fsync {},
    /// Closes the open file. Blocks that are not durable are written back later.
    Close {},
    /// Appends between one byte and this many, drawn uniformly, to the log that all threads share.
    AppendLog {
        /// Upper bound.
        up_to: Bytes,
    },
    /// Reads a part of a file, drawn uniformly.
    ReadPart {
        /// Size, at most a block of 4 KiB.
        size: Bytes,
    },
    /// Writes a part of a file, drawn uniformly, durably. If the block is written in part and not cached, it
    /// is read first.
    WritePart {
        /// Size, at most a block of 4 KiB.
        size: Bytes,
    },
    /// Writes a part of the log, drawn uniformly, durably.
    WriteLog {
        /// Size.
        size: Bytes,
    },
    /// Repeats the last `steps` steps until they have run `times` times.
    Again {
        /// Number of steps.
        steps: u16,
        /// Number of passes in all, from 2 on.
        times: u32,
    },
    /// Posts once to each thread of a group. Blocks while one of these threads has too many pending posts.
    Post {
        /// Name of the group.
        to: String,
    },
    /// Waits for this many posts and consumes them.
    Wait {
        /// Number of posts.
        posts: u32,
        /// Posters block while this many posts are pending; unlimited if not given.
        high_water: Option<u32>,
    },
}

const fn whole() -> f64 {
    1.0
}

/// Chosen: a device that holds data and has space for files to be created and deleted.
const fn fill() -> f64 {
    0.6
}

/// Chosen: without a page cache the load is the load of a machine without memory; with a large page cache
/// reads hardly reach the device.
const fn page_cache() -> f64 {
    0.25
}

/// Journal size chosen by mke2fs for file systems from 32 GiB up to 128 GiB.
const fn journal() -> Bytes {
    Bytes::mib(128)
}

const fn yes() -> bool {
    true
}

/// Chosen: logs are rotated by age, which a generator does not know.
const fn log_limit() -> Bytes {
    Bytes::mib(256)
}

/// Upper bound on threads of an application. Chosen: five times the threads of Filebench's largest
/// personality.
const MAX_THREADS: u32 = 1024;

impl Files {
    /// Total number of threads.
    pub fn thread_count(&self) -> u32 {
        self.threads.iter().map(|threads| u32::from(threads.count)).sum()
    }

    /// Whether files are read and written in parts, not whole.
    pub fn has_parts(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::ReadPart { .. } | Step::WritePart { .. }))
    }

    /// Whether a log is written in parts.
    pub fn writes_log(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::WriteLog { .. }))
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.threads.iter().flat_map(|threads| &threads.steps)
    }

    pub(super) fn check(&self, c: &mut Complaints) {
        let size = self.mean_size;
        let most = Bytes(MAX_FILE_BYTES);
        c.require(size.0 > 0 && size <= most, "mean_size", size, format!("above 0B and at most {most}"));
        let holds = self.present > 0.0 && self.present <= 1.0;
        c.require(holds, "present", self.present, "a fraction above 0 and at most 1");
        let holds = self.fill > 0.0 && self.fill <= 0.9;
        c.require(holds, "fill", self.fill, "a fraction above 0 and at most 0.9");
        let holds = (0.0..=0.9).contains(&self.page_cache);
        c.require(holds, "page_cache", self.page_cache, "a fraction from 0 to 0.9");
        let holds = self.journal.0.is_multiple_of(BLOCK);
        c.require(holds, "journal", self.journal, "a multiple of 4KiB");
        c.require(self.log_limit.0 >= BLOCK, "log_limit", self.log_limit, "at least 4KiB");
        let threads = self.thread_count();
        let holds = (1..=MAX_THREADS).contains(&threads);
        c.require(holds, "threads", format!("{threads} threads"), format!("from 1 to {MAX_THREADS} in all"));
        self.check_kinds(c);
        for (n, threads) in self.threads.iter().enumerate() {
            let is_first = self.threads[..n].iter().all(|other| other.name != threads.name);
            c.require(is_first, &format!("threads[{n}].name"), &threads.name, "a name that is not in use");
            c.require(threads.count > 0, &format!("threads[{n}].count"), threads.count, "at least 1");
            let mut inner = Complaints::default();
            self.check_loop(threads, &mut inner);
            c.nest(&format!("threads[{n}].loop"), inner);
        }
    }

    /// Checks that the steps of all loops are compatible.
    fn check_kinds(&self, c: &mut Complaints) {
        let is_of_whole = |step: &Step| {
            matches!(step, Step::ReadWhole {} | Step::Create {} | Step::Delete {} | Step::Append { .. })
        };
        if self.has_parts() && self.steps().any(is_of_whole) {
            c.add("threads", "steps on parts of files and on whole files", "one or the other");
        }
        let appends_log = self.steps().any(|step| matches!(step, Step::AppendLog { .. }));
        if self.writes_log() && appends_log {
            c.add("threads", "steps that write parts of the log and that append to it", "one or the other");
        }
        let has = |wanted: fn(&Step) -> bool| self.steps().any(wanted);
        if has(|step| matches!(step, Step::Create {})) != has(|step| matches!(step, Step::Delete {})) {
            c.add(
                "threads",
                "files that are only created or only deleted",
                "both steps, create and delete, or none",
            );
        }
        let is_free = |threads: &Group| {
            let asks = |step: &Step| {
                use Step as S;
                matches!(
                    step,
                    S::ReadWhole {}
                        | S::ReadPart { .. }
                        | S::WritePart { .. }
                        | S::WriteLog { .. }
                        | S::AppendLog { .. }
                        | S::Fsync {}
                )
            };
            let waits = |step: &Step| matches!(step, Step::Wait { .. });
            threads.steps.iter().any(asks) && !threads.steps.iter().any(waits)
        };
        if !self.threads.iter().any(is_free) {
            let wanted = "some that read, write or fsync, and wait for no posts";
            c.add("threads", "none that issues requests by itself", wanted);
        }
    }

    fn check_loop(&self, threads: &Group, c: &mut Complaints) {
        c.require(!threads.steps.is_empty(), "", "no step", "at least one");
        let has = |wanted: fn(&Step) -> bool| threads.steps.iter().any(wanted);
        if has(|step| matches!(step, Step::Post { .. })) && has(|step| matches!(step, Step::Wait { .. })) {
            c.add(
                "",
                "steps that post and that wait",
                "one or the other: threads could wait for each other forever",
            );
        }
        let (mut is_open, mut again) = (false, false);
        for (n, step) in threads.steps.iter().enumerate() {
            match step {
                Step::Open {} | Step::Create {} => {
                    c.require(!is_open, &format!("[{n}]"), "a second open file", "a close before");
                    is_open = true;
                }
                Step::ReadWhole {} | Step::Append { .. } | Step::Fsync {} | Step::Close {} => {
                    c.require(is_open, &format!("[{n}]"), "no open file", "an open or create before");
                    is_open &= !matches!(step, Step::Close {});
                }
                Step::Again { .. } => {
                    c.require(!again, &format!("[{n}]"), "a second again", "one at most");
                    again = true;
                }
                _ => {}
            }
            self.check_step(n, step, c);
        }
        c.require(!is_open, "", "a file that stays open", "a close at the end");
    }

    fn check_step(&self, n: usize, step: &Step, c: &mut Complaints) {
        let key = |name: &str| format!("[{n}].{name}");
        match step {
            Step::Append { up_to } | Step::AppendLog { up_to } => {
                let holds = up_to.0 > 0 && *up_to <= Bytes::mib(1);
                c.require(holds, &key("up_to"), up_to, "above 0B and at most 1MiB");
            }
            Step::ReadPart { size } | Step::WritePart { size } => {
                let holds = size.0 > 0 && size.0 <= BLOCK;
                c.require(holds, &key("size"), size, "above 0B and at most 4KiB");
            }
            Step::WriteLog { size } => {
                let holds = size.0 > 0 && size.0.is_multiple_of(BLOCK) && *size <= Bytes::mib(1);
                c.require(holds, &key("size"), size, "a multiple of 4KiB, at most 1MiB");
            }
            Step::Again { steps, times } => {
                let holds = *steps >= 1 && usize::from(*steps) <= n;
                c.require(holds, &key("steps"), steps, format!("from 1 to {n}, the steps before"));
                c.require((2..=1_000_000).contains(times), &key("times"), times, "from 2 to 1000000");
            }
            Step::Post { to } => {
                let names: Vec<&str> = self.threads.iter().map(|threads| threads.name.as_str()).collect();
                c.require(names.contains(&to.as_str()), &key("to"), to, one_of(to, &names));
            }
            Step::Wait { posts, high_water } => {
                c.require(*posts >= 1, &key("posts"), posts, "at least 1");
                let holds = high_water.is_none_or(|high_water| high_water >= *posts);
                let found = high_water.unwrap_or_default();
                c.require(holds, &key("high_water"), found, "at least as many as posts");
            }
            _ => {}
        }
    }
}
