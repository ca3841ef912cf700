//! Direct preconditioning: places pages into lines, oldest line first, as uniform random overwrites would
//! leave them.
//!
//! *Ages of lines.* The unit of time is the mean lifetime of a page. So a page of age `a` is still valid with
//! probability `exp(-a)`. This is true for host pages and for relocated pages: both are written to one open
//! line, so all pages of a line have one age.
//!
//! GC is greedy, apart from lines with a write error. It takes the line with the fewest valid pages from the
//! first non-empty list, and the lists are ordered by valid pages. So the victim is the closed line with the
//! fewest valid pages.
//!
//! Lines are written at equal intervals. A line of `b` pages becomes a victim when `m` of its pages are
//! valid. The mean time until then is the sum of `1 / i` for `i` from `m + 1` to `b`. The number `m` follows
//! from the mean valid fraction over this time (`wordline_ssd::precondition::shape`). Large lines have tens
//! of thousands of pages, so chance averages out and the victim is the oldest line. With `u = m / b` the mean
//! valid fraction is then `(1 - u) / -ln u`.
//!
//! *Free lines.* Their number follows from the rate limiter under load. The ring is then full, and entries
//! leave it in order. So the fraction `c` of GC in all writes equals the share of GC in the ring. The rate
//! limiter raises `c` as free chunks become fewer. A victim costs `u b` relocated pages, so `c / u` lines are
//! freed for each line written. With fewer free lines, the same data are spread over more physical pages, and
//! `u` is smaller. The number of free lines is stable where `c` equals `u`: with more free lines GC falls
//! behind, with fewer it frees more lines than are written. The stable number is the largest with `c >= u`,
//! plus the line that is opened next.
//!
//! Idle times below five seconds do not change this number. Entries leave the ring only to make space for new
//! entries, so GC advances only with host writes.
//!
//! *Contents.* Lines are laid out as they would have been written: smeta, then data, then emeta. Each data
//! location has the newest version of a page, or a version that a later location overwrites. Free lines have
//! only invalid pages, and are reset when they are opened. So a recovery after a power cut finds the same as
//! after long use.

use std::cmp::Reverse;

use wordline_device::PhysicalDevice;
use wordline_device::preconditioning::{FillProgress, ProgressFn};
use wordline_ftl::policy::victim::Preference;
use wordline_kernel::{Calendar, Schedule, Stream};
use wordline_nand::DataTag;
use wordline_ssd::precondition::Share;
use wordline_ssd::precondition::shape::Shape;

use super::flash::Flash;
use super::l2p::{L2pMap, PageLocation};
use super::layout::{LineId, Page, Ppa};
use super::port::Event;
use super::writer::{EMETA, SMETA};

/// Distance, in pages, at which random map lookups are prefetched. Chosen: the time for 8 pages covers a
/// memory access.
const AHEAD: u32 = 8;

/// The pages to lay out, in the order of their newest versions.
struct Pages {
    order: Share<'static>,
    laid: u32,
    random: Stream,
}

impl Pages {
    /// The page whose newest version is placed next. Advances to the following page.
    fn take_last(&mut self) -> Page {
        self.laid += 1;
        Page(self.order.item(self.laid - 1))
    }

    /// A random page whose newest version is not placed yet; `None` if all are.
    fn draw(&mut self) -> Option<Page> {
        let left = self.order.count - self.laid;
        (left > 0).then(|| Page(self.order.item(self.laid + self.random.below(left.into()) as u32)))
    }

    /// The page that [`take_last`](Self::take_last) returns `AHEAD` calls later.
    fn ahead(&self) -> Option<Page> {
        let later = self.laid + AHEAD;
        (later < self.order.count).then(|| Page(self.order.item(later)))
    }
}

/// Places the first `pages` pages into all lines of a new device, with the clock of the device off. Free lines
/// may be reused from `point`. Returns false if `look` stopped it.
pub(super) fn lay_out<D: PhysicalDevice>(
    flash: &mut Flash<D>,
    map: &mut L2pMap,
    (pages, point): (u32, u64),
    mut random: Stream,
    look: ProgressFn<'_>,
) -> bool {
    let mut lines: Vec<LineId> = std::iter::from_fn(|| flash.lines.take_free(0, |_| true)).collect();
    // Lines with fewer chunks are collected as soon as any of their pages is invalid. So they are the
    // youngest.
    lines.sort_by_key(|line| Reverse(flash.lines.chunks_of(*line)));
    let mut blocks: Vec<u32> = lines.iter().map(|line| flash.lines.data_blocks(*line)).collect();
    let room = |blocks: &[u32]| blocks.iter().copied().map(u64::from).sum::<u64>();
    let mut free = steady_free_lines(flash, pages, &lines, room(&blocks));
    while room(&blocks[free..]) < u64::from(pages) {
        free -= 1;
    }
    let blocks = blocks.split_off(free);
    let (per_line, all) = (blocks.iter().copied().max().unwrap_or(1), room(&blocks));
    let (full, share) = (all as f64 / f64::from(per_line), f64::from(pages) / all as f64);
    let shape = Shape::of(Preference::Fewest, full, per_line, share);
    let drawn = shape.draw(per_line, blocks, pages.into(), &mut random);
    flash.port.device.stop_clock();
    let pages_left = Pages { order: Share::new(0, 1, pages), laid: 0, random };
    let mut fill = DirectFill { flash, map, pages: pages_left, calendar: Calendar::new() };
    let mut goes_on = true;
    for (at, line) in lines.iter().enumerate() {
        fill.lay_out_line(*line, |extent| at >= free && drawn.is_valid((at - free) as u32, extent));
        if at < free {
            fill.flash.lines.free(*line, point);
        }
        let [done, filled] = [fill.pages.laid, pages].map(u64::from);
        goes_on &= look(FillProgress { pages: done, filled, expected: filled });
        if !goes_on {
            break;
        }
    }
    let laid = fill.pages.laid;
    flash.port.device.start_clock();
    flash.update_limiter();
    assert!(!goes_on || laid == pages, "closed lines have room for all pages");
    goes_on
}

/// How many of these lines are free with this many pages when GC keeps pace with the host and the next line is
/// about to be opened. `room`: logical blocks for data in all lines.
fn steady_free_lines<D: PhysicalDevice>(
    flash: &mut Flash<D>,
    pages: u32,
    lines: &[LineId],
    room: u64,
) -> usize {
    let all = lines.len() as u64;
    let chunks: u64 = lines.iter().map(|line| u64::from(flash.lines.chunks_of(*line))).sum();
    // GC keeps pace with `keeps` free lines, and falls behind with `falls` free lines.
    let (mut keeps, mut falls) = (0, all);
    while falls - keeps > 1 {
        let free = u64::midpoint(keeps, falls);
        let share = f64::from(pages) * all as f64 / ((all - free) * room) as f64;
        flash.limiter.update((free * chunks / all) as u32, 0, false);
        let [of_host, of_collector] = flash.limiter.shares().map(f64::from);
        let written = of_collector / (of_host + of_collector);
        let moved = Shape::victim_valid_pages((room / all) as u32, share);
        if written < moved { falls = free } else { keeps = free }
    }
    (keeps + 1).min(all) as usize
}

/// A device that is being filled.
struct DirectFill<'a, D: PhysicalDevice> {
    flash: &'a mut Flash<D>,
    map: &'a mut L2pMap,
    pages: Pages,
    calendar: Calendar<Event<D::Event>>,
}

impl<D: PhysicalDevice> DirectFill<'_, D> {
    /// Writes a whole line.
    fn lay_out_line(&mut self, line: LineId, is_valid: impl Fn(u32) -> bool) {
        let layout = self.flash.layout;
        let version = self.flash.lines.open(line);
        let strips: Vec<u32> = self.flash.lines.strips(line).collect();
        let data = layout.smeta..strips.len() as u32 - layout.emeta;
        let (mut places, mut stamps, mut extent) = (Vec::new(), Vec::new(), 0);
        for (at, strip) in (0..).zip(&strips) {
            for place in layout.locations_in(line, *strip) {
                places.push(place);
                stamps.push(if data.contains(&at) {
                    extent += 1;
                    self.lay_out_page(place, is_valid(extent - 1))
                } else {
                    DataTag { logical: if at < data.start { SMETA } else { EMETA }, version }
                });
            }
            if places.len() as u32 == layout.most_write() || at as usize + 1 == strips.len() {
                let calendar = &mut self.calendar.within(Event::Device);
                self.flash.port.write_directly(&places, &stamps, &layout, calendar);
                places.clear();
                stamps.clear();
            }
        }
        self.flash.lines.get_mut(line).is_listed = true;
        self.flash.lines.close(line, true);
    }

    /// Places the newest version of a page at a location, or a version that is overwritten later.
    fn lay_out_page(&mut self, place: Ppa, is_valid: bool) -> DataTag {
        let page = if is_valid { Some(self.pages.take_last()) } else { self.pages.draw() };
        let Some(page) = page else { return DataTag::PADDING };
        self.pages.ahead().into_iter().for_each(|page| self.map.prefetch(page));
        let stamp = DataTag { logical: page.0, version: self.map.next_version(page) };
        self.flash.lines.set_content(place, stamp);
        if is_valid {
            self.flash.lines.validate(place);
            self.map.set(page, PageLocation::Flash(place));
        }
        stamp
    }
}
