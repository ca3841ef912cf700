//! Preconditioning: brings a device into a given state in no simulated time.
//!
//! * `placing` puts pages where the device would write them: each page once, in ascending order.
//! * `uniform` creates the steady state of uniform random overwrites, using the valid-page counts that theory
//!   predicts (`shape`).
//! * `ageing` lets the device carry out a workload with all its mechanisms while flash operations take no
//!   time.

mod ageing;
mod in_place;
mod placing;
mod progress;
pub mod shape;
mod uniform;

use wordline_device::preconditioning::ProgressFn;
use wordline_ftl::map::LogicalPage;

use crate::device::Device;
use placing::Layer;
pub use placing::Share;
use progress::ProgressReporter;

impl Device {
    /// Writes the first `fraction` of the logical pages of a new device once, in ascending order.
    pub fn fill(&mut self, fraction: f64) {
        self.fill_while(fraction, &mut |_| true);
    }

    /// Like [`fill`](Self::fill), and reports progress to `look`. Returns false if `look` stopped it.
    pub fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        self.core.ftl.blocks.pause_events(true);
        let done = self.fill_watched(fraction, &mut ProgressReporter::by(look));
        self.core.ftl.blocks.pause_events(false);
        done
    }

    fn fill_watched(&mut self, fraction: f64, watched: &mut ProgressReporter<'_>) -> bool {
        let pages = self.pages_in(fraction);
        watched.fills(u64::from(pages));
        let mut layer = Layer::of(&mut self.core, &mut self.writer);
        let unit = layer.core.ftl.map.whole_unit();
        for page in (0..pages).step_by(unit.unwrap_or(1) as usize) {
            match unit {
                Some(_) => layer.whole_unit(LogicalPage(page), pages),
                None => layer.page(LogicalPage(page)),
            }
            if !watched.wrote(u64::from(unit.unwrap_or(1))) {
                return false;
            }
        }
        layer.tables(pages, watched);
        layer.finish();
        watched.goes_on
    }

    /// Number of logical pages in the first `fraction` of the logical capacity.
    fn pages_in(&self, fraction: f64) -> u32 {
        (f64::from(self.core.ftl.config.logical_pages) * fraction.clamp(0.0, 1.0)) as u32
    }
}
