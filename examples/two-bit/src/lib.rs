//! A design in its own crate: frequently written pages go to blocks with two bits a cell. When a page on a
//! word line of such a block is updated, another page is reprogrammed in its place, without an erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::design::{ExtensionPoint, Needs, SuspendedBlocks, View, WriteStream};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Complaints, Metric, state};
use wordline_lab::devices::{DesignType, Registry};
use wordline_nand::{BlockSetId, CellMode};

/// Counts the writes of each page.
pub struct TwoBit {
    file: File,
    /// Writes of each page, halved periodically.
    writes: Vec<u8>,
    /// Writes until all counts are halved next.
    left: u32,
    /// Pages sent to the stream with two bits a cell.
    hot: u64,
}

state!(TwoBit { values { writes, left, hot } fixed { file } });

static HOT: Metric =
    Metric::new("two_bit.hot", Unit::LogicalPages, "Logical pages of the host that are written often.");

impl Design for TwoBit {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// A stream of hot pages, whose word lines are reprogrammed. Its blocks may be suspended until pages
    /// become invalid.
    fn needs(&self) -> Needs {
        let mode = if self.file.times > 0 { CellMode::Reprogrammed(self.file.times) } else { CellMode::Mlc };
        let hot = WriteStream { mode, ..WriteStream::native("hot", 0) }.suspending(self.file.waiting);
        let streams = vec![WriteStream::native("cold", 0), hot];
        Needs { streams, ..Needs::of(&[ExtensionPoint::Stream, ExtensionPoint::Frontier]) }
    }

    fn stream(&mut self, written: &HostPage<'_>, _pool: u8, _: &mut View<'_>) -> u8 {
        let writes = &mut self.writes[written.logical as usize];
        *writes = writes.saturating_add(1);
        let is_hot = *writes >= self.file.hot_writes;
        self.left -= 1;
        if self.left == 0 {
            self.writes.iter_mut().for_each(|writes| *writes /= 2);
            self.left = self.writes.len() as u32;
        }
        self.hot += u64::from(is_hot);
        u8::from(is_hot)
    }

    /// The first open block with a word line to reprogram, because reprogramming saves free pages.
    fn open_block(&mut self, open: &[OpenBlock<'_>], _: &mut View<'_>) -> usize {
        open.iter().position(|one| !one.again.word_lines.is_empty()).unwrap_or(0)
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, _: &mut View<'_>) -> u32 {
        open.again.word_lines.first().copied().unwrap_or_else(|| open.first_unprogrammed())
    }

    /// A hot block at the end of a super layer. Its word lines cannot be reprogrammed after the next super
    /// layer begins.
    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        let is_at_end = |one: &&OpenBlock<'_>| {
            let per_super_layer = view.super_layer(one.block).unwrap_or(1);
            let is_hot = view.block(one.block).mode == CellMode::Mlc;
            is_hot && one.written > 0 && one.written.is_multiple_of(per_super_layer)
        };
        open.iter().find(is_at_end).map(|one| one.block)
    }

    /// The block that has been suspended longest, when `waiting` blocks are suspended. It continues with its
    /// next super layer.
    fn select_to_resume(&mut self, suspended: &SuspendedBlocks<'_>, _: &mut View<'_>) -> Option<BlockSetId> {
        let is_enough = suspended.count() >= usize::from(self.file.waiting);
        suspended.iter().next().filter(|_| is_enough).map(|one| one.block)
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        vec![(&HOT, Value::Count(self.hot))]
    }
}

/// Settings of the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Number of writes from which on a page goes to blocks with two bits a cell.
    pub hot_writes: u8,
    /// Reprogram passes of a word line.
    pub times: u8,
    /// Most blocks of a plane group that are suspended until pages become invalid.
    pub waiting: u16,
}

impl Default for File {
    /// Chosen: a page is hot if it is written sixteen times as often as the mean page.
    fn default() -> Self {
        Self { hot_writes: 16, times: 1, waiting: 4 }
    }
}

impl DesignType for TwoBit {
    const NAME: &'static str = "two-bit";
    const DESCRIPTION: &'static str =
        "Pages that are written often go to word lines that are programmed again without an erase.";

    type File = File;

    fn check(file: &File, _: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        wrong.require(file.hot_writes > 0, "hot_writes", file.hot_writes, "1 or more");
        wrong.require(file.times <= 2, "times", file.times, "at most 2");
        wrong.require((1..=8).contains(&file.waiting), "waiting", file.waiting, "from 1 to 8");
        wrong.into_result(())
    }

    fn build(file: &File, config: &Config) -> Box<dyn Design> {
        let pages = config.logical_pages;
        Box::new(Self { file: file.clone(), writes: vec![0; pages as usize], left: pages, hot: 0 })
    }

    fn metrics() -> Vec<&'static Metric> {
        vec![&HOT]
    }

    fn presets() -> &'static [(&'static str, &'static str)] {
        &[("two-bit", include_str!("../two-bit.toml"))]
    }
}

/// The devices and designs of `wordline`, with one more design.
pub fn registry() -> Registry {
    Registry::default().with_design::<TwoBit>()
}
