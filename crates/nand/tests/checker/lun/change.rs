//! Operations that change cells, and their interruptions.

use super::{Activity, Aside, Done, Effect, Kind, Lun, Place, UNKNOWN, Waiting, Work};

impl Lun {
    /// Handles 80h or 85h with 10h, 11h, 15h or 1Ah.
    pub fn program(
        &mut self,
        place: Place,
        copyback: bool,
        second: u8,
        slc: bool,
        now: u64,
        protected: bool,
    ) -> Done {
        let kind = if copyback { Kind::Copyback } else { Kind::Program };
        if copyback {
            self.admits_copyback(place.0)?;
        } else {
            self.admits_program()?;
        }
        if slc && self.facts.slc.is_none() {
            return Err("no SLC mode");
        }
        self.catch_up(now);
        let one_shot = self.facts.together(slc) > 1;
        let has = (second != 0x15 || self.facts.cache) && (second != 0x1a || one_shot);
        self.require(place, has, "not of this part")?;
        self.require(place, place.1 < self.facts.pages_in(slc), "hole")?;
        self.require(place, !protected, "write-protected")?;
        let in_the_way = self
            .aside
            .as_ref()
            .is_some_and(|aside| aside.works.iter().any(|work| work.kind == Kind::Program));
        self.require(place, !in_the_way && !self.suspended_uses(place), "suspended")?;
        let rule = self.against_queue(place, kind, slc);
        let broken = rule | self.wears(place, slc) | self.across(place, copyback);
        let missing = matches!(second, 0x10 | 0x15) && self.misses_pages(place, slc);
        let failing = self.limit(place, broken || missing, "a limit of programs")?;
        let plane = self.plane(place.0);
        let bytes = one_shot.then(|| (slc, self.cache[plane].clone()));
        let undefined = rule || missing;
        self.last = Some(kind);
        (self.goes_on, self.cache_reading) = (None, false);
        if matches!(second, 0x11 | 0x1a) {
            if !copyback {
                self.sources.clear();
            }
            let bytes = if undefined { Some((slc, vec![UNKNOWN; self.cache[plane].len()])) } else { bytes };
            self.wait(kind, Waiting { place, failing, bytes });
            let from = if one_shot { now.max(self.array_ready) } else { now };
            self.short(from);
            return Ok(());
        }
        self.sources.clear();
        self.start(Waiting { place, failing, bytes }, second == 0x15, slc, undefined, now);
        Ok(())
    }

    /// Whether a program violates page order, number of programs, a bad block, or the mode of its block.
    fn wears(&self, (number, page): Place, slc: bool) -> bool {
        let (block, together) = (&self.blocks[number as usize], self.facts.together(slc));
        block.last.is_some_and(|last| page / together < last / together)
            || block.programs.get(&page).is_some_and(|n| *n >= self.facts.programs)
            || block.bad
            || block.slc.is_some_and(|mode| mode != slc)
    }

    fn across(&self, place: Place, copyback: bool) -> bool {
        copyback && !self.copies.contains(&(self.plane(place.0) as u32))
    }

    fn misses_pages(&self, place: Place, slc: bool) -> bool {
        let wanted = self.facts.together(slc) as usize;
        let mut given: Vec<Place> =
            self.queue.iter().flat_map(|(_, w)| w).map(|w| w.place).chain([place]).collect();
        given.sort_unstable();
        given.dedup();
        let of_plane = |p: &Place| given.iter().filter(|o| self.plane(o.0) == self.plane(p.0)).count();
        given.iter().any(|p| of_plane(p) < wanted)
    }

    /// Whether an injected failure hits this operation.
    fn strikes(&mut self, place: Place, erase: bool) -> bool {
        let mut strikes = false;
        for (at, of_erase, left) in &mut self.faults {
            if *of_erase == erase && at.0 == place.0 && (erase || at.1 == place.1) && *left > 0 {
                *left -= 1;
                strikes |= *left == 0;
            }
        }
        strikes
    }

    fn start(&mut self, last: Waiting, cached: bool, slc: bool, undefined: bool, now: u64) {
        let mut waiting = self.queue.take().map(|(_, waiting)| waiting).unwrap_or_default();
        waiting.push(last);
        let undefined = undefined || waiting.iter().any(|w| w.failing);
        let mut pages: Vec<(Place, Vec<u16>)> = Vec::new();
        let mut failing = 0;
        for Waiting { place, failing: fails, bytes } in waiting {
            failing |= if fails { self.bit(place) } else { 0 };
            let (plane, length) = (self.plane(place.0), self.facts.page_bytes as usize);
            let bytes = match bytes {
                _ if undefined => vec![UNKNOWN; length],
                Some((mode, bytes)) => {
                    if mode == slc {
                        bytes
                    } else {
                        vec![UNKNOWN; length]
                    }
                }
                None => self.cache[plane].clone(),
            };
            pages.retain(|(other, _)| *other != place);
            pages.push((place, bytes));
            self.copies.retain(|copy| *copy as usize != plane);
        }
        pages.sort_by_key(|(place, _)| *place);
        let time = pages.iter().map(|(p, _)| self.program_time(*p, slc)).max().unwrap_or(0);
        let begin = self.array_ready.max(now) + if cached { self.facts.cache_busy } else { 0 };
        let end = begin + time;
        self.ready = if cached { begin } else { end };
        self.array_ready = end;
        self.behind = Activity::Programming;
        let after_cache = std::mem::replace(&mut self.after_cache, cached);
        self.due.push((begin, Effect::Start { after_cache }));
        self.due.extend(pages.iter().map(|(place, _)| (begin, Effect::Begin { place: *place, slc })));
        let places: Vec<Place> = pages.iter().map(|(place, _)| *place).collect();
        let struck: u16 =
            places.iter().fold(0, |mask, p| if self.strikes(*p, false) { mask | self.bit(*p) } else { mask });
        self.due.push((end, Effect::Fail(failing | struck)));
        for (place, bytes) in pages {
            let torn = struck & self.bit(place) != 0;
            self.due.push((end, Effect::Write { place, bytes, torn }));
        }
        self.works.push(Work { begin, end, kind: Kind::Program, cached, places });
    }

    fn program_time(&self, place: Place, slc: bool) -> u64 {
        let together = self.facts.together(slc);
        self.facts.program_time(place.1 - place.1 % together, slc)
    }

    /// Handles 60h with D0h or D1h.
    pub fn erase(&mut self, block: u32, queue: bool, slc: bool, now: u64, protected: bool) -> Done {
        let place = (block, 0);
        self.require_queue(Kind::Erase)?;
        if slc && self.facts.slc.is_none() {
            return Err("no SLC mode");
        }
        self.catch_up(now);
        self.require(place, !protected, "write-protected")?;
        self.require(place, self.aside.is_none(), "suspended")?;
        let worn =
            self.blocks[block as usize].erases >= self.facts.endurance || self.blocks[block as usize].bad;
        let broken = worn || self.against_queue(place, Kind::Erase, slc);
        let failing = self.limit(place, broken, "a limit of erases")?;
        self.last = Some(Kind::Erase);
        (self.goes_on, self.cache_reading) = (None, false);
        self.sources.clear();
        if queue {
            self.wait(Kind::Erase, Waiting { place, failing, bytes: None });
            self.short(now);
            return Ok(());
        }
        let (places, failing) = self.take_queue(place, failing);
        let begin = self.array_ready.max(now);
        let end = begin + self.facts.erase_time(slc);
        (self.ready, self.array_ready, self.after_cache) = (end, end, false);
        let struck: u16 =
            places.iter().fold(0, |mask, p| if self.strikes(*p, true) { mask | self.bit(*p) } else { mask });
        self.due.push((begin, Effect::Start { after_cache: false }));
        self.due.extend(places.iter().map(|(block, _)| (begin, Effect::BeginErase(*block))));
        self.due.push((end, Effect::Fail(failing | struck)));
        for place in &places {
            let torn = struck & self.bit(*place) != 0;
            self.due.push((end, Effect::Erase { block: place.0, torn }));
        }
        self.works.push(Work { begin, end, kind: Kind::Erase, cached: false, places });
        Ok(())
    }

    /// Handles 84h or 61h.
    pub fn suspend(&mut self, erase: bool, now: u64) -> Done {
        if self.last.is_some_and(|last| (last == Kind::Erase) != erase) {
            return Err("another operation works");
        }
        self.catch_up(now);
        let first = self.works.first().filter(|work| work.begin <= now && work.kind != Kind::Read);
        let Some(work) = first.filter(|_| self.aside.is_none()).cloned() else {
            return Err(self.failed((0, 0), "nothing to suspend"));
        };
        self.forget_history();
        let rests = now + self.facts.suspend[usize::from(work.kind == Kind::Erase)];
        if work.end <= rests {
            return Ok(());
        }
        let (effects, works) = (std::mem::take(&mut self.due), std::mem::take(&mut self.works));
        let status = (self.fail, self.fail_before);
        self.aside = Some(Aside { since: now, status, effects, works });
        self.works.push(Work { end: rests, cached: false, kind: work.kind, places: Vec::new(), begin: now });
        (self.ready, self.array_ready) = (rests, rests);
        Ok(())
    }

    /// Handles 13h or D2h.
    pub fn resume(&mut self, now: u64) -> Done {
        self.catch_up(now);
        let Some(aside) = self.aside.take() else {
            return Err(self.failed((0, 0), "nothing to resume"));
        };
        self.forget_history();
        let later = now - aside.since;
        self.due.extend(aside.effects.into_iter().map(|(at, effect)| (at + later, effect)));
        self.works.extend(aside.works.into_iter().map(|work| {
            let begin = if work.begin <= aside.since { now } else { work.begin + later };
            Work { begin, end: work.end + later, ..work }
        }));
        (self.fail, self.fail_before) = aside.status;
        let last = self.works.last().expect("something was suspended");
        (self.ready, self.array_ready) = (if last.cached { last.begin } else { last.end }, last.end);
        self.behind = Activity::Programming;
        Ok(())
    }

    /// Clears the history at a suspend or a resume: no later command can continue from an earlier one.
    fn forget_history(&mut self) {
        (self.goes_on, self.cache_reading, self.last) = (None, false, None);
        self.sources.clear();
    }

    /// Handles FFh, FCh and FAh at the instant at which the LUN becomes busy.
    pub fn reset(&mut self, now: u64) {
        self.catch_up(now);
        let time = |work: &Work| match work.kind {
            Kind::Read => 0,
            Kind::Erase => 2,
            _ => 1,
        };
        let begun = |work: &&Work| work.begin <= now;
        let class = self.works.iter().filter(begun).map(time).max().unwrap_or(0);
        let broken: Vec<Work> = std::mem::take(&mut self.works);
        let aside = self.aside.take();
        let since = aside.as_ref().map_or(0, |aside| aside.since);
        let suspended = aside.into_iter().flat_map(|aside| aside.works).filter(|work| work.begin <= since);
        let broken = broken.into_iter().filter(|work| work.begin <= now);
        for work in broken.chain(suspended).collect::<Vec<Work>>() {
            self.break_off(&work);
        }
        self.due.clear();
        self.sensed.fill(None);
        self.queue = None;
        self.copies.clear();
        self.forget_history();
        (self.fail, self.fail_before, self.after_cache, self.held) = (0, 0, false, 0);
        (self.column, self.plane_lost) = (0, false);
        let at = now + self.facts.reset[class];
        (self.ready, self.array_ready) = (at, at);
    }

    /// Makes the contents of cells unknown after interrupted work. Lower pages of the same word line become
    /// unknown, too.
    fn break_off(&mut self, work: &Work) {
        for place in &work.places {
            match work.kind {
                Kind::Read => {}
                Kind::Erase => self.blocks[place.0 as usize].torn = true,
                _ => {
                    self.tear(*place);
                    let block = &self.blocks[place.0 as usize];
                    let first = place.1 - place.1 % self.facts.bits;
                    let below = if block.slc == Some(false) { first..place.1 } else { 0..0 };
                    let below: Vec<u32> = below.filter(|page| block.programs.contains_key(page)).collect();
                    below.into_iter().for_each(|page| self.tear((place.0, page)));
                }
            }
        }
    }

    /// Every page that was programmed since its block was erased.
    pub fn touched(&self) -> impl Iterator<Item = Place> + '_ {
        let pages = |(n, block): (usize, &super::Block)| {
            block.pages.keys().map(move |page| (n as u32, *page)).collect::<Vec<Place>>()
        };
        self.blocks.iter().enumerate().flat_map(pages)
    }
}
