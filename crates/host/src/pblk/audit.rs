//! Invariants of the FTL, the check of a restored state, and the report of pending work.

use wordline_device::PhysicalDevice;
use wordline_device::snapshot::Agenda;
use wordline_kernel::snapshot::State;

use super::Pblk;
use super::l2p::PageLocation;
use super::layout::Ppa;
use super::port::{Event, PADDING, Purpose, Sent};
use super::recovery::Power;
use super::ring::{Origin, page_of};

impl<D: PhysicalDevice> Pblk<D> {
    /// Checks the L2P map, the ring and the lines against each other.
    pub(super) fn audit_all(&self) {
        self.flash
            .lines
            .check()
            .and_then(|()| self.buffer.ring.check())
            .unwrap_or_else(|wrong| panic!("{wrong}"));
        if self.recovery.power != Power::On {
            return;
        }
        let mut valid = 0;
        for (page, address) in self.buffer.map.iter() {
            let version = self.buffer.map.version(page);
            let durable = match address {
                PageLocation::Unmapped => continue,
                PageLocation::Flash(place) => place,
                PageLocation::Ring(index) => {
                    let entry = self.buffer.ring.at(index);
                    assert_eq!(
                        (page_of(entry.stamp), entry.stamp.version),
                        (page, version),
                        "it is in the ring"
                    );
                    entry.durable
                }
            };
            if durable == Ppa::NONE {
                continue;
            }
            valid += 1;
            let stamp = self.flash.lines.content(durable);
            assert!(
                self.flash.lines.is_valid(durable) && page_of(stamp) == page,
                "a page is where the map says"
            );
            let is_newest = stamp.version == version || !matches!(address, PageLocation::Flash(_));
            assert!(is_newest, "the newest version of a page is in the ring or in flash");
        }
        let of_lines: u64 =
            self.flash.lines.ids().map(|line| u64::from(self.flash.lines.get(line).valid)).sum();
        assert_eq!(valid, of_lines, "nothing is valid but what the map names");
        assert_eq!(
            self.flash.lines.free_chunks(),
            self.flash.lines.count_free_chunks(self.writer.next_line()),
            "the free chunks are those of free lines"
        );
        self.audit_pending();
    }

    /// Checks the pending counts and references of lines against the ring and the commands in flight.
    fn audit_pending(&self) {
        for line in self.flash.lines.ids() {
            let is_of_line = |place: &&Ppa| self.flash.layout.line_of(**place) == line;
            let commands =
                self.flash.port.in_flight().flat_map(|sent| &sent.places).filter(is_of_line).count();
            let references = commands as u32 + self.collector.references(line);
            assert_eq!(
                self.flash.lines.get(line).references,
                references,
                "something concerns line {}",
                line.0
            );
        }
        let pending: u32 = self.flash.lines.ids().map(|line| self.flash.lines.get(line).pending).sum();
        assert_eq!(
            pending,
            self.buffer.ring.pending(),
            "entries that are written are pending in their lines"
        );
    }

    /// Checks that a restored state is consistent.
    pub(super) fn check_state(&self, agenda: &Agenda<Event<D::Event>>) -> Result<(), String> {
        let (lines, places, pages) =
            (self.flash.layout.lines, self.flash.lines.places(), self.buffer.map.pages());
        self.buffer.ring.check()?;
        self.flash.port.check()?;
        self.front.check()?;
        self.durable.check(self.buffer.ring.synced())?;
        self.flash.lines.check()?;
        self.collector.check(lines, places, pages)?;
        self.recovery.check(lines, places)?;
        self.writer.check(&self.flash.lines, &self.buffer.ring.positions())?;
        let is_place = |place: &Ppa| place.0 < places;
        let is_entry = |position: u64| {
            let entry = self.buffer.ring.at(self.buffer.ring.index(position));
            page_of(entry.stamp).0 < pages
                && [entry.place, entry.durable].iter().all(|place| *place == Ppa::NONE || is_place(place))
        };
        let is_right = self.buffer.map.iter().all(|(page, address)| match address {
            PageLocation::Unmapped => true,
            PageLocation::Flash(place) => is_place(&place),
            PageLocation::Ring(index) => {
                (index as usize) < self.buffer.ring.capacity()
                    && page_of(self.buffer.ring.at(index).stamp) == page
                    && self.buffer.ring.has(index)
            }
        });
        if !is_right || !self.buffer.ring.positions().all(is_entry) {
            return Err("pages mapped to locations that do not exist".into());
        }
        if !self.flash.port.in_flight().all(|sent| self.is_valid_command(sent)) {
            return Err("invalid commands in flight to the device".into());
        }
        let (mut of_device, mut completed) = (Vec::new(), true);
        for (time, event) in &agenda.events {
            match event {
                Event::Device(event) => of_device.push((*time, *event)),
                Event::Completion(number) => completed &= self.front.has(*number),
                Event::Silence => {}
            }
        }
        if !completed {
            return Err("a completion of a command that is not outstanding".into());
        }
        self.device().check_loaded(&Agenda { now: agenda.now, events: of_device })?;
        self.check_contents()
    }

    /// Checks that the page lists of the lines name existing pages and match the contents of flash.
    fn check_contents(&self) -> Result<(), String> {
        let pages = self.buffer.map.pages();
        for place in (0..self.flash.lines.places()).map(Ppa) {
            let listed = self.flash.lines.content(place);
            if !listed.is_data() {
                continue;
            }
            let found = self.device().stamp(self.flash.layout.block(place));
            if page_of(listed).0 >= pages || found.is_some_and(|found| found.is_data() && found != listed) {
                return Err(format!("location {} is listed with {listed:?} and contains {found:?}", place.0));
            }
        }
        Ok(())
    }

    fn is_valid_command(&self, sent: &Sent) -> bool {
        let places = self.flash.lines.places();
        let is_known = match sent.work {
            Purpose::Read(number) => self.front.has(number),
            Purpose::Smeta(line)
            | Purpose::Emeta(line)
            | Purpose::Reset(line)
            | Purpose::Close(line)
            | Purpose::List(line)
            | Purpose::Collect(line) => line.0 < self.flash.layout.lines,
            Purpose::Data => sent.positions.len() == sent.places.len(),
            Purpose::Pad | Purpose::Scan | Purpose::Flush => true,
        };
        let positions = self.buffer.ring.positions();
        is_known
            && sent.places.iter().all(|place| place.0 < places)
            && sent.positions.iter().all(|position| *position == PADDING || positions.contains(position))
    }

    /// The state of the FTL, for a stall report.
    pub(super) fn describe(&self) -> String {
        let (used, synced) = self.buffer.ring.lengths();
        let shares = self.flash.limiter.shares();
        let held = [Origin::Host, Origin::Collector].map(|origin| self.buffer.ring.of(origin));
        let [writes, flushes] = self.front.waiting();
        format!(
            "{} outstanding commands: {writes} writes and {flushes} flushes wait\n\
             ring: {used} entries, {synced} of them in flash, {} wait; host and gc occupy {held:?} of {shares:?}\n\
             lines: {} free chunks, collected below {}\n{}{}",
            self.front.outstanding(),
            self.buffer.ring.waiting(),
            self.flash.lines.free_chunks(),
            self.flash.layout.high,
            self.writer.describe(),
            self.collector.describe(),
        )
    }

    /// Lengths of the lists in a state.
    pub(super) fn list_lengths(&self) -> Vec<usize>
    where
        D: State,
    {
        let mut lengths = vec![self.buffer.ring.capacity()];
        lengths.extend(self.flash.lines.lengths());
        lengths.extend(self.device().lengths());
        lengths
    }
}
