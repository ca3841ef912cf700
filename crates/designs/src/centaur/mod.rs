//! Centaur, an SSD with 2D SLC and 3D TLC chips (Centaur, section 5), and the hybrid that the paper compares
//! it with (section 6.2.5).
//!
//! Centaur is one design with four decisions:
//! - Combining: which buffered pages of a mapping unit are destaged together. These pages are a *piece*.
//! - Dispatcher: whether a piece goes to the 3D chips or to the 2D chips.
//! - Stealer: whether an idle 2D chip takes a piece that waits for a 3D chip.
//! - Migration: whether GC of a 2D block moves its valid pages to the 3D chips. The other 2D pages of the
//!   same units are then programmed with them.
//!
//! The device executes these decisions.

mod configured;
mod dispatcher;
mod entry;
mod hybrid;
mod pools;
mod sizes;

use wordline_ftl::Design;
use wordline_ftl::design::{ExtensionPoint, Needs, View, WaitingPages, WriteStream};
use wordline_ftl::policy::router::HostPage;
use wordline_kernel::{Bytes, state};
use wordline_nand::BlockSetId;

use crate::design_type::DesignType;
pub use configured::CentaurFile;
pub use dispatcher::Dispatcher;
pub use hybrid::{Hybrid, HybridFile, SlcMlcHybrid};
use pools::{LARGE, SMALL};
pub use sizes::SizeHistogram;

/// Centaur: its three algorithms over two pools.
pub struct Centaur {
    dispatcher: Dispatcher,
    /// Whether buffered pages of a unit are dispatched together.
    combines: bool,
    /// Whether idle 2D chips take pieces that wait for the 3D chips.
    steals: bool,
    /// Whether GC moves pages from the 2D chips to the 3D chips.
    migrates: bool,
}

state!(Centaur { parts { dispatcher } fixed { combines, steals, migrates } });

impl Centaur {
    /// Centaur in its initial state. Expects a checked `file`.
    pub fn new(file: &CentaurFile) -> Self {
        let CentaurFile { combining, stealing, migration, .. } = *file;
        Self { dispatcher: Dispatcher::new(file), combines: combining, steals: stealing, migrates: migration }
    }
}

impl Design for Centaur {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let steals = self.steals.then_some(ExtensionPoint::Balance);
        let migrates = self.migrates.then_some(ExtensionPoint::Relocate);
        let decisions = [Some(ExtensionPoint::Pool), Some(ExtensionPoint::Coalesce), steals, migrates];
        let decisions: Vec<ExtensionPoint> = decisions.into_iter().flatten().collect();
        let gc_streams = vec![WriteStream::native("moved", LARGE), WriteStream::native("moved", SMALL)];
        Needs { gc_streams, ..Needs::of(&decisions) }
    }

    /// The pool of a piece (algorithm 1).
    fn pool(&mut self, piece: &HostPage<'_>, _: &mut View<'_>) -> u8 {
        self.dispatcher.pool(piece)
    }

    /// Whether the buffered pages of a unit are destaged together as soon as one has to be destaged (figure
    /// 9).
    fn destages_with(&mut self, _: u32, _: u32, _: &mut View<'_>) -> bool {
        self.combines
    }

    /// Always true: a page for the 3D chips is programmed together with all 2D pages of its unit (algorithm
    /// 3, lines 5 to 8).
    fn is_carried_along(&mut self, _: u32, _: &mut View<'_>) -> bool {
        true
    }

    fn min_size_for_first_pool(&self) -> Option<Bytes> {
        Some(self.dispatcher.condition())
    }

    /// Takes the oldest piece for an idle 2D chip, page by page, while the share of valid pages is larger in
    /// the 3D pool (algorithm 2).
    fn steal(&mut self, waiting: &[WaitingPages], to: usize, view: &mut View<'_>) -> Option<usize> {
        let [of_2d, of_3d] = [to, LARGE.into()].map(|pool| view.pool(pool).valid_share());
        (of_3d > of_2d && !waiting.is_empty()).then_some(0)
    }

    /// Whether the valid pages of a victim go to the 3D chips, with all other pages of their units. They do
    /// so while the share of valid pages is larger in the 2D pool (algorithm 3).
    fn leaves(&mut self, _: BlockSetId, pool: usize, view: &mut View<'_>) -> bool {
        let [of_2d, of_3d] = [pool, LARGE.into()].map(|pool| view.pool(pool).valid_share());
        of_2d > of_3d
    }
}
