//! Mappers: the part of the L2P map that is in memory. The rest is in translation pages in flash, each of
//! which has the locations of consecutive logical pages.

mod dftl;
mod page;

use wordline_kernel::id;
use wordline_kernel::snapshot::State;

use crate::Config;
use crate::map::LogicalPage;

pub use dftl::Dftl;
pub use page::Page;

id!(
    /// A translation page: the locations of as many logical pages as it has entries, from its number times
    /// that many on.
    TranslationPage
);

/// Decides which part of the map is in memory, and which translation pages must be written. The policy keeps
/// the books and decides; the mechanism reads and writes the translation pages. Methods return a translation
/// page that must be written because of the call, with all its changes.
pub trait Mapper: State + Send {
    /// Looks up a logical page that is read or about to be written; returns whether its entry is in memory.
    fn lookup(&mut self, page: LogicalPage) -> bool;

    /// Inserts the entry of a page, read from flash. The entry evicted for it may be dirty.
    fn load(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// Records a new location of a page that the host wrote, after its program.
    fn update(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// Records a new location of a page, or none, without a lookup: GC relocated it, or the host discarded
    /// it.
    fn amend(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// Records that a translation page is being written with its current contents: its entries in memory are
    /// clean now.
    fn written(&mut self, table: TranslationPage);

    /// Whether some entry in memory differs from its translation page.
    fn has_changed(&self, table: TranslationPage) -> bool;

    /// Drops all entries after a power cut, except those that differ from their translation page.
    fn keep_changed(&mut self);

    /// Checks that the loaded state is consistent.
    ///
    /// # Errors
    /// Description of the inconsistency.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Builds the mapper of a configuration.
pub fn build(config: &Config) -> Box<dyn Mapper> {
    match config.map_cache() {
        None => Box::new(Page),
        Some(cache) => Box::new(Dftl::new(&cache)),
    }
}

/// Size of a map cache, in entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// Number of entries.
    pub entries: u32,
    /// Entries among them reserved for those used more than once.
    pub protected: u32,
    /// Entries of a translation page.
    pub per_table: u32,
    /// Number of translation pages.
    pub tables: u32,
}
