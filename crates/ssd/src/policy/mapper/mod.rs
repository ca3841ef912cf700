//! Mappers: which part of the map is in memory. The rest is in translation pages of the flash, each of which holds the
//! places of consecutive logical pages.

mod dftl;
mod page;

use wordline_kernel::id;
use wordline_kernel::snapshot::State;

use crate::Config;
use crate::map::LogicalPage;

pub use dftl::Dftl;
pub use page::Page;

id!(
    /// A translation page: the places of the logical pages from its number times the entries of a page on.
    TranslationPage
);

/// Says what of the map is in memory, and which translation pages are to be written. It keeps books and answers; the
/// mechanism reads and writes the translation pages. It returns a translation page that has to be written
/// because of the call, with all that changed in it.
pub trait Mapper: State + Send {
    /// Looks up a logical page that is read or about to be written: whether its place is in memory.
    fn lookup(&mut self, page: LogicalPage) -> bool;

    /// The place of a page came into memory, read from flash. The entry that had to leave for it may have changed.
    fn load(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// The host's version of a page was programmed: its place is another one.
    fn update(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// The place of a page is another one, or none, without a lookup: the collector moved it, or the host
    /// discarded it.
    fn amend(&mut self, page: LogicalPage) -> Option<TranslationPage>;

    /// A translation page is being written as it is now: what changed in it and stays in memory is safe.
    fn written(&mut self, table: TranslationPage);

    /// Whether something in memory is not as its translation page says.
    fn has_changed(&self, table: TranslationPage) -> bool;

    /// The power was cut: of what is in memory only entries that differ from their translation page are kept.
    fn keep_changed(&mut self);

    /// Checks what was loaded: what it keeps goes together.
    ///
    /// # Errors
    /// The contradiction.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The mapper that the configuration names.
pub fn build(config: &Config) -> Box<dyn Mapper> {
    match config.map_cache() {
        None => Box::new(Page),
        Some(cache) => Box::new(Dftl::new(&cache)),
    }
}

/// A cache of the map, in entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// Entries that it holds.
    pub entries: u32,
    /// Entries among them that are kept for those used more than once.
    pub protected: u32,
    /// Entries of a translation page.
    pub per_table: u32,
    /// Translation pages.
    pub tables: u32,
}
