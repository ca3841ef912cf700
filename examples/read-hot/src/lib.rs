//! A design in its own crate: frequently read pages go to blocks in SLC mode, when the host writes them and
//! when GC relocates them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::design::{DeviceEvent, EventMask, ExtensionPoint, Needs, View, WriteStream};
use wordline_ftl::policy::relocator::RelocatedPage;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::policy::victim::Candidates;
use wordline_ftl::{Config, Design};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Complaints, Metric, state};
use wordline_lab::devices::{DesignType, Registry};
use wordline_nand::{BlockSetId, CellMode, PlaneGroupId};

/// Counts the reads of each page.
pub struct ReadHot {
    file: File,
    /// Reads of each page, halved periodically.
    reads: Vec<u8>,
    /// Reads until all counts are halved next.
    left: u32,
    /// Host reads from flash, and the part of them in blocks in SLC mode.
    seen: [u64; 2],
}

state!(ReadHot { values { reads, left, seen } fixed { file } });

static SEEN: [Metric; 2] = [
    Metric::new("read_hot.reads", Unit::LogicalPages, "Logical pages that the host read in flash."),
    Metric::new("read_hot.slc_reads", Unit::LogicalPages, "Those that were in blocks in SLC mode."),
];

impl ReadHot {
    /// The stream of a page: 1 if it is read frequently.
    fn stream_of(&self, page: u32) -> u8 {
        u8::from(self.reads[page as usize] >= self.file.hot_reads)
    }
}

impl Design for ReadHot {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let named = [("cold", CellMode::Native), ("hot", CellMode::Slc)];
        let streams = named.map(|(name, mode)| WriteStream { mode, ..WriteStream::native(name, 0) }).to_vec();
        let decisions =
            Needs::of(&[ExtensionPoint::Stream, ExtensionPoint::Relocate, ExtensionPoint::Victim]);
        Needs { observes: EventMask::READ, streams: streams.clone(), gc_streams: streams, ..decisions }
    }

    fn stream(&mut self, written: &HostPage<'_>, _pool: u8, _: &mut View<'_>) -> u8 {
        self.stream_of(written.logical)
    }

    fn relocate(&mut self, page: &RelocatedPage, _: u8, _: &mut View<'_>) -> u8 {
        self.stream_of(page.logical)
    }

    /// The block with the fewest valid pages. A block in SLC mode has few pages, so it counts only if at most
    /// a quarter of its SLC pages is valid.
    fn victim(&mut self, from: Candidates<'_>, _: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
        let most = from.pages_per_block() / view.pools().first().geometry.bits_per_cell() / 4;
        let goes =
            |block: &BlockSetId| view.block(*block).mode == CellMode::Native || from.valid(*block) <= most;
        let best = from.fewest_first().find(goes);
        best.or_else(|| from.fewest_valid())
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        let DeviceEvent::Read { page, from } = *seen else { return };
        self.reads[page.0 as usize] = self.reads[page.0 as usize].saturating_add(1);
        if let Some(from) = from {
            let is_slc = view.block(view.pools().block_of(from)).mode == CellMode::Slc;
            self.seen = [self.seen[0] + 1, self.seen[1] + u64::from(is_slc)];
        }
        self.left -= 1;
        if self.left == 0 {
            self.reads.iter_mut().for_each(|reads| *reads /= 2);
            self.left = self.reads.len() as u32 * self.file.halved_after;
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        SEEN.iter().zip(self.seen).map(|(metric, pages)| (metric, Value::Count(pages))).collect()
    }
}

/// Settings of the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Number of reads from which on a page goes to blocks in SLC mode.
    pub hot_reads: u8,
    /// Mean number of reads of a page after which all counts are halved.
    pub halved_after: u32,
}

impl Default for File {
    /// Chosen: a page is hot if it is read sixteen times as often as the mean page. Few pages are.
    fn default() -> Self {
        Self { hot_reads: 32, halved_after: 2 }
    }
}

impl DesignType for ReadHot {
    const NAME: &'static str = "read-hot";
    const DESCRIPTION: &'static str =
        "Pages that are read often go to blocks in SLC mode, when they are written and when they are moved.";

    type File = File;

    fn check(file: &File, _: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        wrong.require(file.hot_reads > 0, "hot_reads", file.hot_reads, "1 or more");
        let halved = file.halved_after;
        wrong.require((1..=1_000).contains(&halved), "halved_after", halved, "from 1 to 1000");
        wrong.into_result(())
    }

    fn build(file: &File, config: &Config) -> Box<dyn Design> {
        let pages = config.logical_pages;
        let (reads, left) = (vec![0; pages as usize], pages * file.halved_after);
        Box::new(Self { file: file.clone(), reads, left, seen: [0; 2] })
    }

    fn metrics() -> Vec<&'static Metric> {
        SEEN.iter().collect()
    }

    fn presets() -> &'static [(&'static str, &'static str)] {
        &[("read-hot", include_str!("../read-hot.toml"))]
    }
}

/// The devices and designs of `wordline`, with one more design.
pub fn registry() -> Registry {
    Registry::default().with_design::<ReadHot>()
}
