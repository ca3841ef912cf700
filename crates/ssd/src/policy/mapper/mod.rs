//! Mappers: which part of the L2P map is in memory. Translation pages in flash have the whole map; each has
//! the entries of consecutive logical pages.

mod dftl;
mod page;

use wordline_kernel::id;
use wordline_kernel::snapshot::State;

use crate::Config;
use crate::map::LogicalPage;

pub use dftl::Dftl;
pub use page::Page;

id!(
    /// Translation page. Page `n` has the map entries of `per_table` logical pages, from `n * per_table` on.
    TranslationPage
);

/// Decides which map entries are in memory, and which translation pages must be written. A method that
/// returns a translation page requires that page to be written, with all its changed entries.
pub trait Mapper: State + Send {
    /// Looks up a logical page before it is read or written. Returns whether its entry is in memory.
    fn lookup(&mut self, page: LogicalPage) -> bool;

    /// Inserts the entry of a page, just read from flash. May evict a dirty entry.
    fn load(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// Records the new location of a page after the program of a host write.
    fn update(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// Records without a lookup that GC relocated a page, or that the host discarded it.
    fn amend(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// Records that a translation page is being written with its current entries. Its entries in memory are
    /// clean from now on.
    fn written(&mut self, table: TranslationPage);

    /// Whether an entry in memory differs from its translation page.
    fn has_changed(&self, table: TranslationPage) -> bool;

    /// Drops all clean entries, after a power loss.
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
    /// Maximum number of entries in the protected segment, for entries used more than once.
    pub protected: u32,
    /// Entries of a translation page.
    pub per_table: u32,
    /// Number of translation pages.
    pub tables: u32,
}
