//! A design that sends some pages to blocks in another cell mode, both when the host writes them and when GC
//! relocates them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_ftl::design::{ExtensionPoint, Needs, View, WriteStream};
use wordline_ftl::policy::relocator::{MigrationTarget, RelocatedPage};
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::state;
use wordline_nand::CellMode;

use crate::gathers::add_design;

/// Sends one page in `every` to a stream in another cell mode.
pub struct RandomSorter {
    settings: File,
}

/// Settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    every: u32,
    /// Whether host writes go to this stream too.
    written: bool,
    /// The pool of the stream.
    pool: u8,
    /// Reprogram passes of MLC mode. Left out: the mode is SLC.
    again: Option<u8>,
    /// One in `moves` of the page pairs that GC relocates goes to the other pool. 0: none.
    moves: u32,
}

impl Default for File {
    fn default() -> Self {
        Self { every: 3, written: true, pool: 0, again: None, moves: 0 }
    }
}

state!(RandomSorter { fixed { settings } });

impl RandomSorter {
    fn stream_of(&self, page: u32, pool: u8) -> u8 {
        u8::from(pool == self.settings.pool && page.is_multiple_of(self.settings.every))
    }
}

impl Design for RandomSorter {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let File { pool, again, .. } = self.settings;
        let written = match again {
            None => CellMode::Slc,
            Some(0) => CellMode::Mlc,
            Some(times) => CellMode::Reprogrammed(times),
        };
        let both = |mode| {
            let named = [("usual", CellMode::Native), ("some", mode)];
            named.map(|(name, mode)| WriteStream { mode, ..WriteStream::native(name, pool) }).to_vec()
        };
        let completions: &[ExtensionPoint] = if self.settings.written {
            &[ExtensionPoint::Stream, ExtensionPoint::Relocate]
        } else {
            &[ExtensionPoint::Relocate]
        };
        let before = (0..pool).map(|pool| WriteStream::native("usual", pool));
        let streams = if self.settings.written { before.chain(both(written)).collect() } else { Vec::new() };
        Needs { streams, gc_streams: both(written.of_block()), ..Needs::of(completions) }
    }

    fn stream(&mut self, written: &HostPage<'_>, pool: u8, _: &mut View<'_>) -> u8 {
        self.stream_of(written.logical, pool)
    }

    fn relocate(&mut self, page: &RelocatedPage, pool: u8, _: &mut View<'_>) -> u8 {
        self.stream_of(page.logical, pool)
    }

    fn migration_target(
        &mut self,
        page: &RelocatedPage,
        pool: u8,
        _: &mut View<'_>,
    ) -> Option<MigrationTarget> {
        let leaves = self.settings.moves > 0 && (page.logical / 2).is_multiple_of(self.settings.moves);
        leaves.then(|| MigrationTarget { pool: 1 - pool, stream: 0 })
    }
}

impl DesignType for RandomSorter {
    const NAME: &'static str = "sorts";
    const DESCRIPTION: &'static str = "Some pages go to blocks in another mode.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { settings: file.clone() })
    }
}

/// Gives the second pool of a device three bits a cell with an SLC mode, and adds the design with its streams
/// to that pool.
pub fn add_to_second_pool(settings: &mut Vec<String>, every: u64, written: bool, moves: u64) {
    // A single page cannot go to a pool with coarse-grained mapping.
    let whole = settings.iter().any(|setting| setting == "ftl.mapping.whole_units=true");
    let moves = if whole { 0 } else { moves };
    let Some(at) = settings.iter().position(|setting| setting.starts_with("pools=[")) else { return };
    let pool = settings.remove(at);
    let (before, after) = pool.split_once("geometry.pages_per_block = ").expect("a pool has a geometry");
    let (pages, after) = after.split_once(',').expect("and more keys");
    let pages = 3 * pages.parse::<u32>().expect("a number of pages");
    let after = after.strip_suffix("}]").expect("the end of the only pool").trim_end();
    let slc = "geometry.bits_per_cell = 3, geometry.one_shot = true, \
        timing.slc = { read = '20us', program = '100us', erase = '1ms' }";
    settings.push(format!(
        "{before}geometry.pages_per_block = {pages}, {slc},{after}, slc_cache = {{ blocks = 2 }}, \
         start_below_free_blocks = 6, stop_at_free_blocks = 7 }}]"
    ));
    settings.retain(|setting| {
        !setting.starts_with("ftl.gc.start_below") && !setting.starts_with("ftl.gc.stop_at")
    });
    settings.extend(["ftl.gc.start_below_free_blocks=6", "ftl.gc.stop_at_free_blocks=7"].map(String::from));
    let own = format!("{{ every = {every}, written = {written}, pool = 1, moves = {moves} }}");
    add_design(settings, "sorts", &own, "relocate");
}
