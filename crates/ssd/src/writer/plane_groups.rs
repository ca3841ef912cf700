//! Acceptance of host streams by plane groups, and the program unit in progress of each plane group.
//! Acceptance is computed when the state of a plane group changes, and cached.

mod selection;

use wordline_flash::Flash;
use wordline_ftl::Config;
use wordline_ftl::blocks::{BlockManager, ModeShare, StreamId};
use wordline_ftl::contents::Contents;
use wordline_ftl::gc::Gc;
use wordline_ftl::policy::placement::PlaneGroupSet;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, state};
use wordline_nand::{CellMode, Location, PlaneGroupId, Pools};

use crate::cache::Cache;
use crate::cache::buffer::{EntryId, EntryState};
use crate::writer::ProgramUnit;
pub(super) use selection::reclaimed_pages;

/// Streams that plane groups accept, and program units in progress.
pub(crate) struct PlaneGroups {
    /// For each stream, the plane groups that accept a program unit now.
    accepting: Vec<PlaneGroupSet>,
    /// Program unit of each plane group. `is_busy` is true while it is being programmed.
    groups: Column<PlaneGroupId, ProgramUnit>,
    is_busy: Column<PlaneGroupId, bool>,
    /// Buffer entries that are being programmed.
    programming: u32,
    /// Pool of each stream.
    pools: Vec<usize>,
    /// Bitmap of the streams of each pool.
    streams: Vec<u32>,
    /// Host streams whose blocks are in a non-native mode.
    modes: Vec<ModeGroups>,
    /// Whether a plane group was skipped because it is full of valid pages.
    some_full: bool,
    /// Whether a plane group has begun to accept a stream, or has failed, since this flag was last cleared.
    opened: bool,
}

state!(PlaneGroups { values { accepting, groups, is_busy, programming, some_full, opened } lists { modes } fixed { pools, streams } });

impl PlaneGroups {
    /// Plane groups that accept nothing yet, for streams of these `pools`.
    pub fn new(config: &Config, pools: Vec<usize>, shares: &[Vec<ModeShare>]) -> Self {
        let rows = config.pools.rows();
        let bits =
            |of: usize| pools.iter().zip(0..).fold(0, |bits, (pool, n)| bits | u32::from(*pool == of) << n);
        Self {
            accepting: vec![PlaneGroupSet::new(rows); pools.len()],
            groups: Column::filled(rows as usize, ProgramUnit::default()),
            is_busy: Column::filled(rows as usize, false),
            programming: 0,
            streams: (0..config.pools.count()).map(bits).collect(),
            pools,
            modes: shares.iter().flatten().flat_map(|share| ModeGroups::of(share, config)).collect(),
            some_full: false,
            opened: false,
        }
    }

    /// Lengths of the lists of the state.
    pub fn shape(&self) -> Vec<usize> {
        let accepting = self.accepting.iter().map(PlaneGroupSet::words);
        accepting.chain([self.groups.len(), self.is_busy.len()]).collect()
    }

    /// Checks a loaded state. Only existing plane groups accept streams, and each page being programmed is in
    /// the cache or below `pages`.
    pub fn check_loaded(&self, cache: &Cache, pages: u32) -> Result<(), String> {
        let rows = self.is_busy.len() as u32;
        let mut sets = self.accepting.iter().chain(self.modes.iter().map(|one| &one.rows));
        ensure(sets.all(|set| set.is_of(rows)), || "a plane group that does not exist accepts pages".into())?;
        let is_programmed = |id: EntryId| {
            id.0 < cache.buffer().pages() && cache.buffer().get(id).state == EntryState::Programming
        };
        for (row, group) in self.groups.entries() {
            let is_alone = self.is_busy[row] || group.is_empty();
            ensure(is_alone && group.is_possible(is_programmed, pages), || {
                format!("plane group {row} programs pages that the buffer does not mark as being programmed")
            })?;
        }
        let programming: u32 = self.groups.iter().map(ProgramUnit::entry_count).sum();
        ensure(programming == self.programming, || {
            format!("{programming} pages are being programmed, not {}", self.programming)
        })
    }

    /// Drops all programs, in a power loss.
    pub fn forget(&mut self) {
        self.accepting.iter_mut().for_each(PlaneGroupSet::clear);
        self.modes.iter_mut().for_each(|one| one.rows.clear());
        self.groups.fill(ProgramUnit::default());
        self.is_busy.fill(false);
        self.programming = 0;
        self.some_full = false;
    }

    /// Plane groups that accept a stream.
    #[inline]
    pub fn of(&self, stream: usize) -> &PlaneGroupSet {
        &self.accepting[stream]
    }

    /// Plane groups that accept each stream.
    #[inline]
    pub fn of_all(&self) -> &[PlaneGroupSet] {
        &self.accepting
    }

    /// Program unit of a plane group.
    #[inline]
    pub fn group(&self, row: PlaneGroupId) -> &ProgramUnit {
        &self.groups[row]
    }

    /// Program unit of a plane group that is not busy, to be filled.
    #[inline]
    pub fn program_unit_mut(&mut self, row: PlaneGroupId) -> &mut ProgramUnit {
        &mut self.groups[row]
    }

    /// Begins the program of a plane group's program unit. It has `brought` buffer entries and is padded to
    /// `places` pages.
    pub fn begin(&mut self, row: PlaneGroupId, brought: u32, places: u32) {
        self.programming += brought;
        self.groups[row].pad(places as usize);
        self.is_busy[row] = true;
    }

    /// Takes the program unit of a plane group whose program has ended. [`end`](Self::end) takes it back when
    /// its pages are handled.
    #[inline]
    pub fn take(&mut self, row: PlaneGroupId) -> ProgramUnit {
        let group = std::mem::take(&mut self.groups[row]);
        self.programming -= group.entry_count();
        group
    }

    /// Clears the program unit of a plane group whose program has ended, and keeps it for the next program.
    #[inline]
    pub fn end(&mut self, row: PlaneGroupId, mut group: ProgramUnit) {
        group.clear();
        self.groups[row] = group;
        self.is_busy[row] = false;
    }

    /// Whether the program unit of a plane group is being programmed.
    #[inline]
    pub fn is_busy(&self, row: PlaneGroupId) -> bool {
        self.is_busy[row]
    }

    /// Buffer entries that are being programmed.
    #[inline]
    pub fn programming(&self) -> u32 {
        self.programming
    }

    /// Records that a plane group has failed: pages that wait for it go to other plane groups.
    pub fn note_lost_group(&mut self) {
        self.opened = true;
    }

    /// Whether a plane group has begun to accept a stream, or has failed, since
    /// [`clear_opened`](Self::clear_opened).
    #[inline]
    pub fn has_opened(&self) -> bool {
        self.opened
    }

    /// Clears the flag that [`has_opened`](Self::has_opened) returns.
    #[inline]
    pub fn clear_opened(&mut self) {
        self.opened = false;
    }

    /// Whether a plane group was skipped because it is full of valid pages. Clears the flag.
    pub fn take_some_full(&mut self) -> bool {
        std::mem::take(&mut self.some_full)
    }

    /// Updates whether `row` accepts a program unit of each host stream.
    #[inline]
    pub fn note(&mut self, row: PlaneGroupId, blocks: &BlockManager, gc: &Gc) {
        let before = if self.modes.is_empty() { 0 } else { self.accepted_of(row) };
        let is_full = blocks.space().is_full(row, blocks.pools().per_program(row));
        self.some_full |= is_full;
        if is_full || self.is_busy[row] || !self.note_streams(row, blocks, gc) {
            self.accepting.iter_mut().for_each(|accepting| _ = accepting.set(row, false));
        }
        if !self.modes.is_empty() {
            self.note_modes(row, blocks);
            self.opened |= self.accepted_of(row) & !before != 0;
        }
    }

    /// Updates which host streams `row` accepts. Returns false if the host may neither open a block there nor
    /// write to open blocks.
    #[inline(never)]
    fn note_streams(&mut self, row: PlaneGroupId, blocks: &BlockManager, gc: &Gc) -> bool {
        if gc.throttles_host(row, blocks) {
            return false;
        }
        let may_open = blocks.space().can_open(row, false);
        if !may_open && !gc.can_afford(row, blocks.modes(row).max_cost(blocks.pools().per_program(row))) {
            return false;
        }
        // While GC gains free blocks, a stream waits for its own block and does not share another stream's.
        let may_share = !may_open && !gc.gains(row);
        let here = self.streams[blocks.pools().number_of_group(row)];
        for n in 0..self.accepting.len() {
            let has_place = may_open || blocks.takes(row, blocks.streams().host(n as u8), may_share);
            let opens = self.accepting[n].set(row, has_place && here >> n & 1 != 0);
            // If streams use non-native modes, `note` sets the flag after `note_modes`.
            self.opened |= opens && self.modes.is_empty();
        }
        true
    }

    /// Bitmap of the host streams that `row` accepts.
    #[inline]
    pub fn accepted_of(&self, row: PlaneGroupId) -> u32 {
        let streams = self.accepting.iter().enumerate();
        streams.fold(0, |bits, (n, accepting)| bits | u32::from(accepting.contains(row)) << n)
    }

    /// Updates which host streams every plane group accepts.
    pub fn note_all(&mut self, blocks: &BlockManager, gc: &Gc) {
        for row in blocks.pools().all_groups() {
            self.note(row, blocks, gc);
        }
    }

    /// Updates whether `row` accepts programs in non-native modes.
    #[inline(never)]
    fn note_modes(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        let Self { modes, accepting, .. } = self;
        for one in modes {
            let mode = blocks.next_mode(row, StreamId(one.stream as u8));
            let is_in =
                mode.of_block() == one.mode.of_block() && mode.is_reprogram() == one.mode.is_reprogram();
            one.rows.set(row, is_in && accepting[one.stream].contains(row));
        }
    }

    /// Whether a stream has blocks in a non-native mode.
    #[inline]
    pub fn has_modes(&self) -> bool {
        !self.modes.is_empty()
    }

    /// Plane groups that accept a program of a stream in the stream's own mode. `None` if the stream is
    /// native, or if there are no such plane groups.
    #[inline]
    fn in_mode(&self, stream: usize) -> Option<&ModeGroups> {
        self.modes.iter().find(|one| one.stream == stream && !one.rows.is_empty())
    }

    /// Whether a host stream writes to the pool of `row`.
    #[inline]
    pub fn is_in_pool_of(&self, row: PlaneGroupId, stream: usize, pools: &Pools) -> bool {
        pools.number_of_group(row) == self.pools[stream]
    }

    /// Pool of a stream.
    #[inline]
    pub fn pool_of(&self, stream: usize) -> usize {
        self.pools[stream]
    }

    /// Pages of the next program unit of a stream. The unit is in the stream's own mode if a plane group
    /// accepts a program in this mode, otherwise in native mode.
    #[inline]
    pub fn unit_of(&self, stream: usize, pools: &Pools) -> u32 {
        match self.in_mode(stream) {
            Some(one) => one.unit,
            None => pools.get(self.pool_of(stream)).locations.per_program,
        }
    }

    /// Plane groups for the next program unit of a stream. Plane groups that accept the stream's own mode are
    /// preferred.
    #[inline]
    pub fn preferred_groups(&self, stream: usize) -> &PlaneGroupSet {
        match self.in_mode(stream) {
            Some(one) => &one.rows,
            None => &self.accepting[stream],
        }
    }

    /// Whether a plane group now requires a program unit of a stream that is larger than `unit`.
    #[inline]
    pub fn has_larger_unit(
        &self,
        row: PlaneGroupId,
        stream: usize,
        unit: u32,
        blocks: &BlockManager,
    ) -> bool {
        !self.modes.is_empty() && blocks.unit(row, StreamId(stream as u8)) > unit
    }

    /// Plane groups that accept a program unit of translation pages or discard records.
    pub fn for_tables(&self) -> &PlaneGroupSet {
        self.accepting.last().expect("there is a stream of the host")
    }

    /// Whether no program unit with pages of the buffer is being programmed.
    #[inline]
    pub fn has_no_programs(&self) -> bool {
        self.programming == 0
    }

    /// Whether writes wait for buffer space and no program in progress would free any.
    pub fn is_stalled(&self, cache: &Cache) -> bool {
        self.has_no_programs() && cache.waiting().has_stalled()
    }

    /// Whether no host page is being programmed and GC is idle.
    pub fn is_idle(&self, gc: &Gc) -> bool {
        self.has_no_programs() && gc.is_idle()
    }

    /// Report of the streams that a plane group accepts.
    pub fn describe(&self, row: PlaneGroupId) -> String {
        format!("accepts streams {:b}, program in progress {}", self.accepted_of(row), self.is_busy(row))
    }

    /// Reports to data verification that the program unit of a plane group is being programmed with the
    /// buffered versions of its pages.
    #[cold]
    pub fn note_sent(&self, row: PlaneGroupId, cache: &Cache, contents: &mut Contents) {
        for entry in self.groups[row].entries().map(|id| cache.buffer().get(id)) {
            contents.sent(entry.logical, entry.version);
        }
    }

    /// Records the other pages of the reprogrammed word lines, whose data are lost if the program fails.
    #[cold]
    pub fn keep_partner_pages(
        &mut self,
        row: PlaneGroupId,
        first: Location,
        blocks: &BlockManager,
        flash: &Flash,
    ) {
        let kept = blocks.sibling_locations(first).map(Location);
        let valid = kept.filter(|at| blocks.table().is_valid(*at));
        self.groups[row].kept = valid.map(|at| (at, flash.stamp(at))).collect();
    }
}

/// Plane groups of a host stream whose blocks are in a non-native mode.
#[derive(Clone, Debug)]
struct ModeGroups {
    /// Number of the stream.
    pub stream: usize,
    pub mode: CellMode,
    /// Pages of a program in this mode.
    pub unit: u32,
    /// Plane groups that accept such a program now.
    pub rows: PlaneGroupSet,
}

state!(ModeGroups { values { rows } fixed { stream, mode, unit } });

impl ModeGroups {
    /// One entry for each host stream of `share`. A stream that reprograms has two: for reprograms, then for
    /// other programs.
    pub fn of(share: &ModeShare, config: &Config) -> impl Iterator<Item = Self> {
        let (ModeShare { mode, unit, streams, .. }, rows) = (*share, config.pools.rows());
        let again = (CellMode::Reprogrammed(1), share.reprogram_unit());
        let has_again = mode == CellMode::Mlc && config.file.again() > 0;
        let units = has_again.then_some(again).into_iter().chain([(mode, unit)]);
        let streams = (0..u32::BITS as usize).filter(move |stream| streams.host >> stream & 1 != 0);
        let one = move |stream, (mode, unit)| Self { stream, mode, unit, rows: PlaneGroupSet::new(rows) };
        streams.flat_map(move |stream| units.clone().map(move |unit| one(stream, unit)))
    }
}
