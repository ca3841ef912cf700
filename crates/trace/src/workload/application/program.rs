//! Threads that run their loops over the files of a file system.

use wordline_kernel::{Seed, Stream};

use super::block_requests::{BLOCK, RequestQueue};
use super::files::FileSystem;
use super::flowops::Step;

/// Outcome of a thread's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The thread advanced.
    Advanced,
    /// The thread waits for other threads.
    Waiting,
}

/// No file is open.
const NONE: u32 = u32::MAX;

/// A thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    kind: u16,
    /// Index of the next step.
    at: u16,
    /// Number of passes over the steps before an `again`.
    rounds: u32,
    /// Pending posts to the thread.
    posts: u32,
    /// First byte of the open file that is not yet written.
    from: u64,
    /// Whether the open file is closed once the requests of the thread have been issued.
    closes: bool,
}

/// The threads of an application and their shared state.
#[derive(Clone, Debug)]
pub struct Program {
    fs: FileSystem,
    log_limit: u64,
    loops: Vec<Vec<Step>>,
    /// For each group of threads: its first thread, and the thread after its last.
    spans: Vec<(usize, usize)>,
    /// For each step that posts, the group that it posts to, by group and step.
    targets: Vec<Vec<u16>>,
    /// Pending posts of a group at which posters block.
    high_water: Vec<u32>,
    threads: Vec<Thread>,
    /// Files that threads have open, and files that they write back.
    open: Vec<u32>,
    picks: Stream,
    lengths: Stream,
    parts: Stream,
}

impl Program {
    /// Creates the threads at the beginning of their loops.
    pub fn new(fs: FileSystem, files: &super::Files, log_limit: u64, seed: Seed) -> Self {
        let kind_of = |name: &str| files.threads.iter().position(|threads| threads.name == name);
        let (mut threads, mut spans, mut targets, mut high_water) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (kind, group) in files.threads.iter().enumerate() {
            let first = threads.len();
            let thread = Thread { kind: kind as u16, ..Thread::default() };
            threads.extend(std::iter::repeat_n(thread, usize::from(group.count)));
            spans.push((first, threads.len()));
            let target = |step: &Step| match step {
                Step::Post { to } => kind_of(to).expect("a checked post is to threads that there are") as u16,
                _ => 0,
            };
            targets.push(group.steps.iter().map(target).collect());
            let water =
                |step: &Step| if let Step::Wait { high_water, .. } = step { *high_water } else { None };
            high_water.push(group.steps.iter().find_map(water).unwrap_or(u32::MAX));
        }
        Self {
            fs,
            log_limit,
            loops: files.threads.iter().map(|threads| threads.steps.clone()).collect(),
            spans,
            targets,
            high_water,
            open: vec![NONE; 2 * threads.len()],
            threads,
            picks: seed.stream("workload.files", 0),
            lengths: seed.stream("workload.lengths", 0),
            parts: seed.stream("workload.parts", 0),
        }
    }

    /// Number of threads.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Frees blocks.
    pub fn release(&mut self, block: u32, blocks: u32) {
        self.fs.release(block, blocks);
    }

    /// Advances a thread by one step. All of its requests must have been issued.
    pub fn step(&mut self, number: usize, asks: &mut RequestQueue) -> StepOutcome {
        asks.writes_back = None;
        self.open[2 * number + 1] = NONE;
        let thread = &mut self.threads[number];
        if std::mem::take(&mut thread.closes) {
            self.open[2 * number] = NONE;
        }
        let (kind, at) = (usize::from(thread.kind), usize::from(thread.at));
        let next = (at + 1) % self.loops[kind].len();
        let step = &self.loops[kind][at];
        match *step {
            Step::Again { steps, times } => {
                thread.rounds += 1;
                let is_over = thread.rounds == times;
                thread.rounds = if is_over { 0 } else { thread.rounds };
                thread.at = if is_over { next } else { at - usize::from(steps) } as u16;
                return StepOutcome::Advanced;
            }
            Step::Post { .. } => {
                if !self.post(usize::from(self.targets[kind][at])) {
                    return StepOutcome::Waiting;
                }
                asks.wakes = true;
            }
            Step::Wait { posts, .. } => {
                let Some(left) = thread.posts.checked_sub(posts) else { return StepOutcome::Waiting };
                thread.posts = left;
                asks.wakes = true;
            }
            Step::ReadPart { .. }
            | Step::WritePart { .. }
            | Step::WriteLog { .. }
            | Step::AppendLog { .. } => {
                let step = step.clone();
                self.step_parts(&step, asks);
            }
            _ => {
                let step = step.clone();
                self.step_whole_files(number, &step, asks);
            }
        }
        self.open[2 * number + 1] = asks.writes_back.unwrap_or(NONE);
        self.threads[number].at = next as u16;
        StepOutcome::Advanced
    }

    /// Posts to each thread of a group, unless one of them has too many pending posts. Returns whether it
    /// posted.
    fn post(&mut self, kind: usize) -> bool {
        let (first, end) = self.spans[kind];
        let threads = &mut self.threads[first..end];
        if threads.iter().any(|thread| thread.posts >= self.high_water[kind]) {
            return false;
        }
        // No step needs more posts than this number can count.
        threads.iter_mut().for_each(|thread| thread.posts = thread.posts.saturating_add(1));
        true
    }

    fn step_whole_files(&mut self, number: usize, step: &Step, asks: &mut RequestQueue) {
        let Self { fs, picks, lengths, open, .. } = self;
        let thread = &mut self.threads[number];
        let file = open[2 * number];
        match step {
            Step::Delete {} => {
                if let Some(file) = fs.pick(picks, open) {
                    fs.delete(file, asks);
                }
            }
            Step::Open {} => {
                open[2 * number] = fs.pick(picks, open).unwrap_or(NONE);
                let file = open[2 * number];
                thread.from = if file == NONE { 0 } else { fs.size(file) };
            }
            Step::Create {} => {
                open[2 * number] = fs.create(picks, asks).unwrap_or(NONE);
                thread.from = 0;
            }
            _ if file == NONE => {}
            Step::ReadWhole {} => fs.read_whole(file, asks),
            Step::Append { up_to } => fs.append(file, 1 + lengths.below(up_to.0)),
            Step::Fsync {} => {
                fs.fsync(file, thread.from, asks);
                thread.from = fs.size(file);
            }
            _ => {
                if fs.size(file) > thread.from {
                    fs.write_later(file, thread.from, asks);
                }
                thread.closes = true;
            }
        }
    }

    fn step_parts(&mut self, step: &Step, asks: &mut RequestQueue) {
        let Self { fs, lengths, parts, picks, log_limit, .. } = self;
        match step {
            Step::AppendLog { up_to } => fs.append_to_log(1 + lengths.below(up_to.0), *log_limit, asks),
            Step::WriteLog { size } => {
                let (log, blocks) = (fs.log(), (size.0 / BLOCK) as u32);
                let slots = fs.blocks_of(log) / blocks;
                if slots > 0 {
                    let slot = parts.below(u64::from(slots)) as u32;
                    fs.write_durably(log, slot * blocks, blocks, asks);
                }
            }
            _ => {
                let Some(file) = fs.pick(picks, &[]) else { return };
                let blocks = u64::from(fs.blocks_of(file)).max(1);
                let number = parts.below(blocks) as u32;
                // A file for which there was no space has no blocks.
                let Some(block) = fs.block_of(file, number) else { return };
                let is_whole = matches!(step, Step::WritePart { size } if size.0 == BLOCK);
                if is_whole {
                    fs.cache_block(block);
                } else {
                    fs.read_block(block, asks);
                }
                if matches!(step, Step::WritePart { .. }) {
                    fs.write_durably(file, number, 1, asks);
                }
            }
        }
    }
}

#[cfg(test)]
impl Program {
    pub fn file_system(&self) -> &FileSystem {
        &self.fs
    }
}
