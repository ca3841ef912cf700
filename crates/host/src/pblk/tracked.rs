//! Contents of pages, for data verification.

use std::collections::BTreeMap;
use std::ops::Range;

use wordline_device::content::{Content, FILLED, NOTHING, ZEROES};
use wordline_device::{Command, Operation};

use super::buffer::Buffer;
use super::l2p::PageLocation;
use super::layout::Page;
use super::lines::Lines;
use super::ring::LOST;

/// Contents by page and version.
struct Contents {
    sectors_of_a_page: usize,
    carried: BTreeMap<u32, Vec<Content>>,
    written: BTreeMap<(u32, u32), Vec<Content>>,
    found: BTreeMap<u32, Vec<Content>>,
}

/// The contents of all pages, while they are followed.
#[derive(Default)]
pub(super) struct TrackedContents(Option<Box<Contents>>);

impl TrackedContents {
    /// Follows contents from now on.
    pub(super) fn begin(&mut self, sectors_of_a_page: u64) {
        self.0 = Some(Box::new(Contents {
            sectors_of_a_page: sectors_of_a_page as usize,
            carried: BTreeMap::new(),
            written: BTreeMap::new(),
            found: BTreeMap::new(),
        }));
    }

    pub(super) fn carry(&mut self, tag: u32, contents: &[Content]) {
        let followed = self.0.as_mut().expect("contents are followed");
        followed.carried.insert(tag, contents.to_vec());
    }

    pub(super) fn take_found(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.0.as_mut()?.found.remove(&tag)
    }

    /// Drops the contents of commands in flight after a power cut. Written contents are kept, because they
    /// may be in flash.
    pub(super) fn forget(&mut self) {
        if let Some(followed) = &mut self.0 {
            followed.carried.clear();
            followed.found.clear();
        }
    }

    /// Notes the contents of a page of a write.
    #[inline]
    pub(super) fn note_write(&mut self, command: &Command, page: Page, version: u32) {
        if let Some(followed) = &mut self.0 {
            followed.note_write(command, page, version);
        }
    }

    /// Drops the contents of a write whose pages are all in the ring.
    #[inline]
    pub(super) fn forget_carried(&mut self, tag: u32) {
        if let Some(followed) = &mut self.0 {
            followed.carried.remove(&tag);
        }
    }

    /// Notes the contents that a read of these pages finds.
    #[inline]
    pub(super) fn note_read(&mut self, tag: u32, pages: Range<u32>, buffer: &Buffer, lines: &Lines) {
        if let Some(followed) = &mut self.0 {
            followed.note_read(tag, pages, buffer, lines);
        }
    }
}

impl Contents {
    fn note_write(&mut self, command: &Command, page: Page, version: u32) {
        let per_page = self.sectors_of_a_page;
        let first = (command.sector / per_page as u64) as u32;
        let at = (page.0 - first) as usize * per_page;
        let contents = match self.carried.get(&command.tag) {
            _ if command.operation == Operation::WriteZeroes => vec![ZEROES; per_page],
            Some(carried) => carried[at..at + per_page].to_vec(),
            None => vec![Content::of(command.tag); per_page],
        };
        self.written.insert((page.0, version), contents);
    }

    fn note_read(&mut self, tag: u32, pages: Range<u32>, buffer: &Buffer, lines: &Lines) {
        let per_page = self.sectors_of_a_page;
        let of_page = |page: Page| {
            let stamp = match buffer.map.get(page) {
                PageLocation::Unmapped => return vec![ZEROES; per_page],
                PageLocation::Ring(index) => buffer.ring.at(index).stamp,
                PageLocation::Flash(place) => lines.content(place),
            };
            match self.written.get(&(page.0, stamp.version)) {
                _ if stamp.logical & LOST != 0 => vec![NOTHING; per_page],
                Some(contents) => contents.clone(),
                None => vec![FILLED; per_page],
            }
        };
        let found = pages.map(Page).flat_map(of_page).collect();
        self.found.insert(tag, found);
    }
}
