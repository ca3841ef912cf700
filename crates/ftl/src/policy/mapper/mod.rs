//! Mappers: which part of the L2P map is in memory. Translation pages in flash have the whole map; each has
//! the entries of consecutive logical pages. A mapper may also guess where a page is.

mod dftl;
mod page;

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{id, state};
use wordline_nand::Location;

use crate::map::LogicalPage;

pub use dftl::Dftl;
pub use page::Page;

id!(
    /// Translation page. Page `n` has the map entries of `per_table` logical pages, from `n * per_table` on.
    TranslationPage
);

/// Most neighbours on each side of a page whose logical page numbers are in the page's out-of-band (OOB) area.
/// Chosen: with the page's own number these are 124 of 128 B, at 4 B each.
pub const MAX_GUESS_ERROR: u32 = 15;

/// Predicted location of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guess {
    /// Predicted location.
    pub location: Location,
    /// Error bound: the page is expected at most this many locations before or after the predicted one, in
    /// the same multi-plane block. At most [`MAX_GUESS_ERROR`] counts.
    pub error: u32,
}

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

    /// Whether the mapper guesses. Called once, when the device is created. If it returns false,
    /// [`guess`](Self::guess) and [`located`](Self::located) are never called.
    fn guesses(&self) -> bool {
        false
    }

    /// Predicts the location of a page that the host reads, after [`lookup`](Self::lookup) did not find its
    /// entry and if its translation page would have to be read. `None` if the translation page is to be read.
    ///
    /// The prediction may be wrong. The device reads the predicted location, whose OOB area has the number of
    /// the logical page there. If this is another page, or an old copy, the device pays a second read: of the
    /// right location if it is within the error bound, because the OOB area also has the numbers of the
    /// neighbours, or else of the translation page. A location that the device knows to be of no use is not
    /// read: one in a block that is erased, being collected or out of service, or an invalid one without an
    /// error bound.
    fn guess(&mut self, _page: LogicalPage) -> Option<Guess> {
        None
    }

    /// Reports the location of a page, for training: after a program of host pages or of pages that GC
    /// relocated, page by page in the order of locations, and when preconditioning places a page. It is
    /// called before [`update`](Self::update) and [`amend`](Self::amend).
    fn located(&mut self, _page: LogicalPage, _at: Location) {}

    /// Checks that the loaded state is consistent.
    ///
    /// # Errors
    /// Description of the inconsistency.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Builds the mapper of a map with this cache; `None` if the whole map is in memory.
pub fn build(cache: Option<CacheSize>) -> Box<dyn Mapper> {
    match cache {
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

/// Guesses locations of pages whose entries are not cached. This one remembers where the first pages of the
/// device were last:
///
/// ```
/// use wordline_nand::Location;
/// use wordline_ftl::Config;
/// use wordline_ftl::map::LogicalPage;
/// use wordline_ftl::policy::mapper::{Dftl, Guess, Guesser, Guessing, Mapper};
///
/// struct First {
///     known: Vec<u32>,
/// }
/// wordline_kernel::state!(First { values { known } });
///
/// impl Guesser for First {
///     fn guess(&mut self, page: LogicalPage) -> Option<Guess> {
///         let at = *self.known.get(page.0 as usize)?;
///         Some(Guess { location: Location(at), error: 0 })
///     }
///
///     fn located(&mut self, page: LogicalPage, at: Location) {
///         if let Some(location) = self.known.get_mut(page.0 as usize) {
///             *location = at.0;
///         }
///     }
///
///     fn forget(&mut self) {
///         self.known.fill(u32::MAX);
///     }
/// }
///
/// fn mapper(config: &Config) -> Option<Box<dyn Mapper>> {
///     let cache = Dftl::new(&config.map_cache()?);
///     Some(Box::new(Guessing::new(cache, First { known: vec![u32::MAX; 100] })))
/// }
/// ```
pub trait Guesser: State + Send {
    /// Predicts the location of a page; see [`Mapper::guess`].
    fn guess(&mut self, page: LogicalPage) -> Option<Guess>;

    /// Reports the location of a page, for training; see [`Mapper::located`].
    fn located(&mut self, page: LogicalPage, at: Location);

    /// Drops what is in memory only, after a power loss.
    fn forget(&mut self);
}

/// A [`Dftl`] cache beside a [`Guesser`].
pub struct Guessing<G> {
    cache: Dftl,
    guesser: G,
}

state!(Guessing<G: State> { parts { cache, guesser } });

impl<G: Guesser> Guessing<G> {
    /// A mapper of this cache and guesser.
    pub fn new(cache: Dftl, guesser: G) -> Self {
        Self { cache, guesser }
    }
}

impl<G: Guesser> Mapper for Guessing<G> {
    fn lookup(&mut self, page: LogicalPage) -> bool {
        self.cache.lookup(page)
    }

    fn load(&mut self, page: LogicalPage) -> Option<TranslationPage> {
        self.cache.load(page)
    }

    fn update(&mut self, page: LogicalPage) -> Option<TranslationPage> {
        self.cache.update(page)
    }

    fn amend(&mut self, page: LogicalPage) -> Option<TranslationPage> {
        self.cache.amend(page)
    }

    fn written(&mut self, table: TranslationPage) {
        self.cache.written(table);
    }

    fn has_changed(&self, table: TranslationPage) -> bool {
        self.cache.has_changed(table)
    }

    fn keep_changed(&mut self) {
        self.cache.keep_changed();
        self.guesser.forget();
    }

    fn guesses(&self) -> bool {
        true
    }

    fn guess(&mut self, page: LogicalPage) -> Option<Guess> {
        self.guesser.guess(page)
    }

    fn located(&mut self, page: LogicalPage, at: Location) {
        self.guesser.located(page, at);
    }

    fn check_loaded(&self) -> Result<(), String> {
        self.cache.check_loaded()
    }
}
