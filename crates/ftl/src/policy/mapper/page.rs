//! Page: the whole map is in memory.

use wordline_kernel::state;

use super::{Mapper, TranslationPage};
use crate::map::LogicalPage;

/// Finds every entry in memory and writes no translation pages.
pub struct Page;

state!(Page {});

impl Mapper for Page {
    fn lookup(&mut self, _: LogicalPage) -> bool {
        true
    }

    fn load(&mut self, _: LogicalPage) -> Option<TranslationPage> {
        None
    }

    fn update(&mut self, _: LogicalPage) -> Option<TranslationPage> {
        None
    }

    fn amend(&mut self, _: LogicalPage) -> Option<TranslationPage> {
        None
    }

    fn written(&mut self, _: TranslationPage) {}

    fn has_changed(&self, _: TranslationPage) -> bool {
        false
    }

    fn keep_changed(&mut self) {}
}
