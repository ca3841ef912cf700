//! Contents of pages, for data verification.

use std::collections::BTreeMap;

use wordline_device::content::{Content, FILLED, NOTHING, ZEROES};
use wordline_device::{Command, Operation, PhysicalDevice};

use super::l2p::PageLocation;
use super::layout::Page;
use super::{Pblk, ring::LOST};

/// Contents by page and version.
#[derive(Default)]
pub(super) struct TrackedContents {
    carried: BTreeMap<u32, Vec<Content>>,
    written: BTreeMap<(u32, u32), Vec<Content>>,
    found: BTreeMap<u32, Vec<Content>>,
}

impl TrackedContents {
    pub(super) fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.carried.insert(tag, contents.to_vec());
    }

    pub(super) fn take_found(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.found.remove(&tag)
    }

    /// Drops the contents of commands in flight after a power cut. Written contents are kept, because they
    /// may be in flash.
    pub(super) fn forget(&mut self) {
        self.carried.clear();
        self.found.clear();
    }
}

impl<D: PhysicalDevice> Pblk<D> {
    pub(super) fn track_write(&mut self, command: &Command, page: Page, version: u32) {
        let (per_page, first) = (self.sectors_of_a_page as usize, self.pages_of(command).start);
        let Some(followed) = &mut self.followed else { return };
        let at = (page.0 - first) as usize * per_page;
        let contents = match followed.carried.get(&command.tag) {
            _ if command.operation == Operation::WriteZeroes => vec![ZEROES; per_page],
            Some(carried) => carried[at..at + per_page].to_vec(),
            None => vec![Content::of(command.tag); per_page],
        };
        followed.written.insert((page.0, version), contents);
    }

    /// Drops the contents of a write whose pages are all in the ring.
    pub(super) fn forget_carried(&mut self, tag: u32) {
        if let Some(followed) = &mut self.followed {
            followed.carried.remove(&tag);
        }
    }

    pub(super) fn track_read(&mut self, command: &Command) {
        let per_page = self.sectors_of_a_page as usize;
        let pages = self.pages_of(command).map(Page);
        let Some(followed) = &self.followed else { return };
        let of_page = |page: Page| {
            let stamp = match self.map.get(page) {
                PageLocation::Unmapped => return vec![ZEROES; per_page],
                PageLocation::Ring(index) => self.ring.at(index).stamp,
                PageLocation::Flash(place) => self.lines.content(place),
            };
            match followed.written.get(&(page.0, stamp.version)) {
                _ if stamp.logical & LOST != 0 => vec![NOTHING; per_page],
                Some(contents) => contents.clone(),
                None => vec![FILLED; per_page],
            }
        };
        let found = pages.flat_map(of_page).collect();
        if let Some(followed) = &mut self.followed {
            followed.found.insert(command.tag, found);
        }
    }
}
