//! Designs of a device, and the table of which design makes which decision. The table is built when the
//! device is created.

use std::cell::OnceCell;

use wordline_device::InvalidDecision;
use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Complaints, Instant, Seed, Stream, state};
use wordline_nand::CellMode;

use super::{
    BufferOccupancy, Demands, Design, EventMask, ExtensionPoint, ExtensionPoints, Needs, WriteStream,
};
use crate::Config;
use crate::policy::mapper::Mapper;
use crate::policy::relocator::Relocator;
use crate::policy::router::Router;

/// Entry for decisions that policies make.
const NO_DESIGN: u8 = u8::MAX;

/// Most host streams of all pools together: a 32-bit word has a bit for each, and one for table pages.
const MOST_STREAMS: usize = 31;

/// Decisions about host streams.
pub(super) const STREAM_DECISIONS: ExtensionPoints =
    ExtensionPoints::of(&[ExtensionPoint::Pool, ExtensionPoint::Stream]);

/// The design that makes each decision in a pool, by extension point.
type Owners = [u8; ExtensionPoint::ALL.len()];

/// Designs of a device, and which of them makes which decision in which pool.
#[derive(Default)]
pub struct Combination {
    all: Vec<Box<dyn Design>>,
    /// Names of designs that decide for the whole device, and in pools without designs of their own.
    of_device: Vec<String>,
    /// Names of designs that decide in a pool.
    of_pools: Vec<(usize, Vec<String>)>,
    /// Name of the design that decides, for extension points where several designs could.
    decides: Vec<(ExtensionPoint, String)>,
}

impl Combination {
    /// Designs that decide for the whole device and all pools.
    pub fn of(designs: Vec<Box<dyn Design>>) -> Self {
        let of_device = designs.iter().map(|design| design.name().to_owned()).collect();
        Self { all: designs, of_device, ..Self::default() }
    }

    /// Adds a design that decides only in pools that [name](Self::in_pool) it.
    #[must_use]
    pub fn and(mut self, design: Box<dyn Design>) -> Self {
        self.all.push(design);
        self
    }

    /// Lets only the named designs decide in a pool.
    #[must_use]
    pub fn in_pool(mut self, pool: usize, names: &[String]) -> Self {
        self.of_pools.push((pool, names.to_vec()));
        self
    }

    /// Lets this design decide at an extension point, if other designs could as well.
    #[must_use]
    pub fn with_decider(mut self, seam: ExtensionPoint, name: &str) -> Self {
        self.decides.push((seam, name.to_owned()));
        self
    }

    /// Whether there are no designs.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Names of all designs.
    pub fn names(&self) -> Vec<&'static str> {
        self.all.iter().map(|design| design.name()).collect()
    }

    /// Names of the designs that can make a decision.
    pub fn answering(&self, seam: ExtensionPoint) -> Vec<&'static str> {
        let decisions = self.all.iter().filter(|design| design.needs().decisions.has(seam));
        decisions.map(|design| design.name()).collect()
    }

    /// The design that makes a decision in each of this many pools; `None` where policies decide.
    pub fn owners(&self, seam: ExtensionPoint, pools: usize) -> Vec<Option<&'static str>> {
        self.decides(seam, pools).into_iter().map(|design| Some(design?.name())).collect()
    }

    /// Name and needs of the design that makes a decision in a pool; `None` if there is no such design, or
    /// several.
    pub(crate) fn asked(&self, seam: ExtensionPoint, pool: usize) -> Option<(&'static str, Needs)> {
        let design = self.decides(seam, pool + 1)[pool]?;
        Some((design.name(), design.needs()))
    }

    /// The mapper of the design that decides [`ExtensionPoint::Map`]; `None` if the policy decides.
    pub(crate) fn mapper(&self, config: &Config) -> Option<Box<dyn Mapper>> {
        let design = self.decides(ExtensionPoint::Map, 1)[0]?;
        Some(design.mapper(config))
    }

    /// The design that makes a decision, for each pool.
    fn decides(&self, seam: ExtensionPoint, pools: usize) -> Vec<Option<&dyn Design>> {
        let (table, _) = self.table(&self.needs(), pools);
        let design = |row: &Owners| self.all.get(usize::from(row[seam as usize])).map(Box::as_ref);
        table.iter().map(design).collect()
    }

    /// Streams and resources that these designs need in a device with this many pools, added to those of its
    /// `policies`.
    ///
    /// # Errors
    /// Conflicts between designs, by key.
    pub fn demands(&self, policies: Demands, pools: usize) -> Result<Demands, Complaints> {
        let needs = self.needs();
        let (table, wrong) = self.table(&needs, pools);
        wrong.into_result(())?;
        let routes = HostStreams::of(&table, &needs, policies.host);
        let gathered = GcStreams::of(&table, &needs, policies.gc);
        let orders = |(design, needs): (usize, &Needs)| {
            let is_asked =
                table.iter().any(|row| usize::from(row[ExtensionPoint::Frontier as usize]) == design);
            is_asked.then_some(needs.open_blocks)
        };
        let open_blocks = needs.iter().enumerate().filter_map(orders).max().unwrap_or(policies.open_blocks);
        let host = routes.as_ref().map_or(policies.host, |routes| routes.streams.len() as u8);
        let of_all = routes.as_ref().map_or(0, |routes| routes.streams.len());
        let mut wrong = Complaints::default();
        wrong.require(
            of_all <= MOST_STREAMS,
            "designs",
            format!("{of_all} host streams in all pools together"),
            format!("at most {MOST_STREAMS}"),
        );
        wrong.into_result(())?;
        let bits =
            |is: &dyn Fn(usize) -> bool| (0..pools).map(|pool| u16::from(is(pool)) << pool).sum::<u16>();
        let of_host =
            |mode| bits(&|pool| routes.as_ref().is_some_and(|routes| routes.in_mode(pool, mode) != 0));
        let of_collector = |mode| bits(&|pool| gathered.in_mode(pool, mode) != 0);
        let asks_router = table[0][ExtensionPoint::Stream as usize] == NO_DESIGN;
        let of_policies = |mode| if asks_router { policies.pools_in(mode) } else { 0 };
        let in_modes = CellMode::OF_BLOCKS.map(|mode| of_host(mode) | of_collector(mode) | of_policies(mode));
        let others = CellMode::OF_BLOCKS.into_iter().filter(|mode| *mode != CellMode::Native);
        let by_gc = others.map(of_collector).fold(0, |all, pools| all | pools);
        let suspended = |(pool, row): (usize, &Owners)| {
            let is_asked = row[ExtensionPoint::Frontier as usize] != NO_DESIGN;
            let of_host = routes.iter().flat_map(|routes| routes.suspended(pool));
            let all = of_host.chain(gathered.suspended[pool].iter().copied());
            let suspended = if is_asked { all.map(u32::from).sum() } else { 0 };
            // A stream that reprograms word lines has a full block open in addition to its active block.
            let streams = routes.iter().flat_map(|routes| &routes.streams);
            let full = streams.filter(|stream| usize::from(stream.pool) == pool && stream.again() > 0);
            suspended + full.count() as u32
        };
        let suspended = table.iter().enumerate().map(suspended).max().unwrap_or(0);
        let again = routes.as_ref().and_then(|routes| routes.streams.iter().map(WriteStream::again).max());
        let again = again.unwrap_or(0);
        Ok(Demands { host, gc: gathered.most(), open_blocks, suspended, in_modes, by_gc, again })
    }

    /// Hint which device of the contract test of `wordline_ssd` has blocks that the designs' streams need.
    /// Empty if the device of `config` has such blocks.
    pub fn contract_hint(&self, config: &Config) -> &'static str {
        let needs = self.needs();
        let mut streams = needs.iter().flat_map(|needs| needs.streams.iter().chain(&needs.gc_streams));
        if streams.clone().any(|stream| stream.is_in(CellMode::Slc)) && !config.file.has_slc_cache() {
            return "\n(contract::small_with_slc() has an SLC mode and blocks for streams in that mode)";
        }
        match streams.any(|stream| stream.is_in(CellMode::Mlc)) && config.file.two_bit_of(0).is_none() {
            true => {
                "\n(contract::small_with_two_bits() has a two-bit mode and blocks for streams in that mode)"
            }
            false => "",
        }
    }

    fn needs(&self) -> Vec<Needs> {
        self.all.iter().map(|design| design.needs()).collect()
    }

    /// Names of the designs considered for a decision in a pool.
    fn asked_in(&self, seam: ExtensionPoint, pool: usize) -> &[String] {
        let own = self.of_pools.iter().rev().find(|(number, _)| *number == pool && !seam.is_of_device());
        own.map_or(&self.of_device, |(_, names)| names)
    }

    /// Builds the table of which design decides what, with complaints about conflicts.
    fn table(&self, needs: &[Needs], pools: usize) -> (Vec<Owners>, Complaints) {
        let mut wrong = Complaints::default();
        let names = self.names();
        for (n, name) in names.iter().enumerate() {
            wrong.require(!names[..n].contains(name), "designs", format!("{name} twice"), "each once");
        }
        let mut table = vec![[NO_DESIGN; ExtensionPoint::ALL.len()]; pools];
        for seam in ExtensionPoint::ALL {
            for (pool, row) in table.iter_mut().enumerate() {
                let asked = self.asked_in(seam, pool);
                let decisions =
                    |n: &usize| needs[*n].decisions.has(seam) && asked.iter().any(|name| name == names[*n]);
                let found: Vec<usize> = (0..self.all.len()).filter(decisions).collect();
                row[seam as usize] = self.settle(seam, pool, &found, &mut wrong);
            }
        }
        self.check_decisions(needs, &mut wrong);
        check_streams(&table, needs, &names, &mut wrong);
        (table, wrong)
    }

    /// Determines which of the designs `found` makes a decision. Adds a complaint if several could.
    fn settle(&self, seam: ExtensionPoint, pool: usize, found: &[usize], wrong: &mut Complaints) -> u8 {
        let names = self.names();
        let decided = self.decides.iter().rev().find(|(other, _)| *other == seam).map(|(_, name)| name);
        match found {
            [] => NO_DESIGN,
            [one] => *one as u8,
            several => match several.iter().find(|n| decided.is_some_and(|name| names[**n] == name)) {
                Some(one) => *one as u8,
                None => {
                    let several: Vec<&str> = several.iter().map(|n| names[*n]).collect();
                    let key = format!("decides.{seam}");
                    if wrong.0.iter().all(|complaint| complaint.key != key) {
                        let place =
                            if seam.is_of_device() { String::new() } else { format!(" in pool {pool}") };
                        wrong.add(
                            key,
                            format!("the designs {} all decide `{seam}`{place}", several.join(" and ")),
                            format!("the one that does: {}", several.join(" or ")),
                        );
                    }
                    NO_DESIGN
                }
            },
        }
    }

    /// Checks that each design can make the decisions for which it was chosen.
    fn check_decisions(&self, needs: &[Needs], wrong: &mut Complaints) {
        for (seam, name) in &self.decides {
            let answering = self.all.iter().zip(needs).filter(|(_, needs)| needs.decisions.has(*seam));
            let answering: Vec<&str> = answering.map(|(design, _)| design.name()).collect();
            let wanted = match answering.len() {
                0 => "the key left out: no design of the device decides it".to_owned(),
                _ => format!("one of {}, which decide it", answering.join(", ")),
            };
            wrong.require(answering.contains(&name.as_str()), &format!("decides.{seam}"), name, wanted);
        }
    }
}

/// Checks declared streams. A design that decides `stream` in a pool must declare streams there. A design
/// that decides `relocate` must declare GC streams. All streams must be in pools of the device.
fn check_streams(table: &[Owners], needs: &[Needs], names: &[&str], wrong: &mut Complaints) {
    for (n, needs) in needs.iter().enumerate() {
        for (pool, row) in table.iter().enumerate() {
            let asked = usize::from(row[ExtensionPoint::Stream as usize]) == n;
            let some = needs.streams.iter().any(|stream| usize::from(stream.pool) == pool);
            wrong.require(
                !asked || some,
                "designs",
                format!("{} without a stream in pool {pool}", names[n]),
                "a design that decides `stream` to declare a stream in each pool in which it decides",
            );
        }
        let relocates = table.iter().any(|row| usize::from(row[ExtensionPoint::Relocate as usize]) == n);
        wrong.require(
            !relocates || !needs.gc_streams.is_empty(),
            "designs",
            format!("{} without a GC stream", names[n]),
            "a design that decides `relocate` to declare its streams in `Needs::gc_streams`, a native one first",
        );
        let of_collector = needs.gc_streams.len();
        wrong.require(
            of_collector <= 16 && needs.streams.len() <= 16,
            "designs",
            format!("{} with {} host streams and {of_collector} GC streams", names[n], needs.streams.len()),
            "up to 16 of each",
        );
        let maintains = needs.decisions.has(ExtensionPoint::Maintain);
        wrong.require(
            !maintains || needs.observes != EventMask::NOTHING,
            "designs",
            format!("{} without an event", names[n]),
            "a design that decides `maintain` to observe an event, after which it is queried",
        );
        let open = needs.open_blocks;
        let found = format!("{} with {open} open blocks a stream", names[n]);
        wrong.require((1..=8).contains(&open), "designs", found, "from 1 to 8");
        let all = needs.streams.iter().chain(&needs.gc_streams);
        for stream in all.filter(|stream| usize::from(stream.pool) >= table.len()) {
            let found = format!("{} with the stream {} in pool {}", names[n], stream.name, stream.pool);
            wrong.add("designs", found, format!("pools from 0 to {}", table.len() - 1));
        }
        check_modes(needs, names[n], wrong);
        check_suspended(needs, names[n], wrong);
    }
}

/// Checks that only designs that decide `frontier` have streams that suspend blocks.
fn check_suspended(needs: &Needs, name: &str, wrong: &mut Complaints) {
    let all = needs.streams.iter().chain(&needs.gc_streams);
    for stream in all.filter(|stream| stream.suspended > 0) {
        let found =
            format!("{name} with {} suspended blocks of the stream {}", stream.suspended, stream.name);
        let wanted = "a design that decides `frontier` for a stream that suspends blocks";
        wrong.require(needs.decisions.has(ExtensionPoint::Frontier), "designs", found, wanted);
    }
}

/// Checks the modes of GC streams: in each pool a native stream comes first, and no GC stream reprograms.
fn check_modes(needs: &Needs, name: &str, wrong: &mut Complaints) {
    let pools = needs.gc_streams.iter().map(|stream| stream.pool).max();
    for pool in 0..=pools.unwrap_or(0) {
        let first = needs.gc_streams.iter().find(|stream| stream.pool == pool);
        if let Some(first) = first.filter(|stream| !stream.is_in(CellMode::Native)) {
            let (stream, mode) = (first.name, first.mode.name());
            let found = format!("{name} with the stream {stream} in {mode} as the first GC stream");
            wrong.add(
                "designs",
                found,
                format!("a native stream before it, for pages without space in {mode}"),
            );
        }
    }
    for stream in needs.gc_streams.iter().filter(|stream| stream.mode.is_reprogram()) {
        let found = format!("{name} with the GC stream {} in {}", stream.name, stream.mode);
        wrong.add("designs", found, "a mode in which erased blocks are opened: GC must gain blocks");
    }
}

/// GC streams of each pool.
#[derive(Clone, Debug)]
pub(super) struct GcStreams {
    /// Number of streams of each pool.
    pub of_pools: Vec<u8>,
    /// Cell mode of each stream, pool by pool.
    modes: Vec<Vec<CellMode>>,
    /// Most blocks of a plane group that each stream of a pool may have suspended.
    pub suspended: Vec<Vec<u16>>,
}

impl GcStreams {
    /// Streams of each pool. Where no design decides, the relocator's `relocated` streams count.
    fn of(table: &[Owners], needs: &[Needs], relocated: u8) -> Self {
        let owner = |row: &Owners| needs.get(usize::from(row[ExtensionPoint::Relocate as usize]));
        let in_pool = |(pool, row): (u8, &Owners)| match owner(row) {
            Some(needs) => collected(needs, pool).count().max(1) as u8,
            None => relocated,
        };
        let modes_of = |(pool, row): (u8, &Owners)| {
            let own = owner(row).into_iter().flat_map(|needs| collected(needs, pool));
            own.map(|stream| stream.mode).collect()
        };
        let suspended_of = |(pool, row): (u8, &Owners)| {
            let own = owner(row).into_iter().flat_map(|needs| collected(needs, pool));
            own.map(|stream| stream.suspended).collect()
        };
        let pools = || (0u8..).zip(table);
        Self {
            suspended: pools().map(suspended_of).collect(),
            modes: pools().map(modes_of).collect(),
            of_pools: pools().map(in_pool).collect(),
        }
    }

    /// Streams of a pool whose blocks are opened in a mode, as a bitmap.
    pub fn in_mode(&self, pool: usize, mode: CellMode) -> u16 {
        bits_of(self.modes[pool].iter().map(|own| own.of_block() == mode)) as u16
    }

    /// Number of streams in the pool with the most.
    pub fn most(&self) -> u8 {
        self.of_pools.iter().copied().max().unwrap_or(1)
    }
}

/// GC streams that a design declares in a pool.
fn collected(needs: &Needs, pool: u8) -> impl Iterator<Item = &WriteStream> {
    needs.gc_streams.iter().filter(move |stream| stream.pool == pool)
}

/// Host streams of a device whose designs make decisions about them, pool after pool.
#[derive(Clone, Debug)]
pub(super) struct HostStreams {
    /// Streams, pool after pool.
    pub streams: Vec<WriteStream>,
    /// Number of each pool's first stream, and one past the last stream.
    pub first: Vec<u8>,
}

impl HostStreams {
    /// Host streams of all pools; `None` if no design makes a decision about them. The router's `routed`
    /// streams are in the first pool, unless a design decides there.
    fn of(table: &[Owners], needs: &[Needs], routed: u8) -> Option<Self> {
        let (pool, stream) = (ExtensionPoint::Pool as usize, ExtensionPoint::Stream as usize);
        if table.iter().all(|row| row[pool] == NO_DESIGN && row[stream] == NO_DESIGN) {
            return None;
        }
        let by_size = table.len() > 1 && table[0][pool] == NO_DESIGN;
        let (mut streams, mut first) = (Vec::new(), Vec::new());
        for (number, row) in (0u8..).zip(table) {
            first.push(streams.len() as u8);
            let usual = WriteStream::native("host", number);
            match needs.get(usize::from(row[stream])) {
                Some(needs) => streams.extend(needs.streams.iter().filter(|stream| stream.pool == number)),
                None if number == 0 && !by_size => streams.extend((0..routed).map(|_| usual)),
                None => streams.push(usual),
            }
        }
        first.push(streams.len() as u8);
        Some(Self { streams, first })
    }

    /// Most blocks of a plane group that each stream of a pool may have suspended.
    pub fn suspended(&self, pool: usize) -> impl Iterator<Item = u16> + '_ {
        let own =
            move |stream: &WriteStream| if usize::from(stream.pool) == pool { stream.suspended } else { 0 };
        self.streams.iter().map(own)
    }

    /// Streams of a pool whose blocks are opened in a mode, as a bitmap.
    pub fn in_mode(&self, pool: usize, mode: CellMode) -> u32 {
        let is_it = |stream: &WriteStream| stream.is_in(mode) && usize::from(stream.pool) == pool;
        bits_of(self.streams.iter().map(is_it))
    }
}

/// Bitmap of these flags, beginning with bit 0.
fn bits_of(decisions: impl Iterator<Item = bool>) -> u32 {
    decisions.zip(0..).fold(0, |bits, (decision, n)| bits | u32::from(decision) << n)
}

/// A design of a device.
pub(super) struct DesignEntry {
    pub design: Box<dyn Design>,
    pub observes: EventMask,
    pub random: Stream,
}

impl State for DesignEntry {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.value("name", &self.design.name())?;
        to.value("random", &self.random)?;
        to.part("design", &*self.design)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let name: String = from.value("name")?;
        if name != self.design.name() {
            let why = format!("found the state of the design {name}, wanted that of {}", self.design.name());
            return Err(SnapshotError::Inconsistent { why });
        }
        self.random = from.value("random")?;
        from.part("design", &mut *self.design)
    }
}

/// Designs of a device, and the table of which design decides what.
pub struct Designs {
    pub(super) all: Vec<DesignEntry>,
    /// The table, by pool.
    table: Vec<Owners>,
    /// Decisions that some design makes in some pool.
    pub(super) claimed: ExtensionPoints,
    /// Events that some design observes.
    pub(super) observed: EventMask,
    /// `None` if no design makes decisions about host streams.
    pub(super) routes: Option<HostStreams>,
    pub(super) gathered: GcStreams,
    /// Buffer occupancy and time of the next views.
    pub(super) level: BufferOccupancy,
    /// Buffer occupancy in the last event delivered to designs.
    pub(super) notified_level: BufferOccupancy,
    pub(super) now: Instant,
    /// Whether the design that decides [`ExtensionPoint::Maintain`] observed an event since it was queried.
    pub(super) is_maintenance_due: bool,
    /// Logical pages of the host.
    pub(super) logical_pages: u32,
    /// First invalid decision.
    pub(super) wrong: OnceCell<Box<InvalidDecision>>,
}

/// The table of a device, kept while policies decide instead of designs.
pub struct PausedDecisions {
    table: Vec<Owners>,
    claimed: ExtensionPoints,
    routes: Option<HostStreams>,
}

state!(Designs {
    values { level, notified_level, is_maintenance_due }
    lists { all }
    fixed { table, claimed, observed, routes, gathered, now, logical_pages, wrong }
});

impl Designs {
    /// Designs of a device of a configuration, with these policies.
    ///
    /// # Panics
    /// If designs conflict; see [`Combination::demands`].
    pub fn new(
        combination: Combination,
        router: &dyn Router,
        relocator: &dyn Relocator,
        config: &Config,
        seed: Seed,
    ) -> Self {
        let (pools, logical_pages) = (config.pools.count(), config.logical_pages);
        let needs = combination.needs();
        let (table, wrong) = combination.table(&needs, pools);
        assert!(wrong.0.is_empty(), "designs that go together: {wrong:?}");
        let routes = HostStreams::of(&table, &needs, router.streams());
        let gathered = GcStreams::of(&table, &needs, relocator.streams());
        let asked = |seam: &ExtensionPoint| table.iter().any(|row| row[*seam as usize] != NO_DESIGN);
        let claimed: Vec<ExtensionPoint> = ExtensionPoint::ALL.into_iter().filter(asked).collect();
        let with_stream = combination.all.into_iter().zip(&needs).map(|(design, needs)| DesignEntry {
            random: seed.stream(&format!("ssd.design.{}", design.name()), 0),
            observes: needs.observes,
            design,
        });
        let all: Vec<DesignEntry> = with_stream.collect();
        Self {
            observed: all.iter().fold(EventMask::NOTHING, |sum, one| sum | one.observes),
            claimed: ExtensionPoints::of(&claimed),
            level: BufferOccupancy::default(),
            notified_level: BufferOccupancy::default(),
            now: Instant::ZERO,
            is_maintenance_due: false,
            logical_pages,
            wrong: OnceCell::new(),
            all,
            table,
            routes,
            gathered,
        }
    }

    /// Lets policies make these decisions until [`resume_decisions`](Self::resume_decisions) is called.
    pub fn pause_decisions(&mut self, seams: ExtensionPoints) -> PausedDecisions {
        let mut table = self.table.clone();
        for row in &mut table {
            seams.iter().for_each(|seam| row[seam as usize] = NO_DESIGN);
        }
        let claimed = self.claimed.without(seams);
        PausedDecisions {
            table: std::mem::replace(&mut self.table, table),
            claimed: std::mem::replace(&mut self.claimed, claimed),
            routes: self.routes.take_if(|_| seams.has_any(STREAM_DECISIONS)),
        }
    }

    /// Lets designs decide again.
    pub fn resume_decisions(&mut self, unasked: PausedDecisions) {
        let PausedDecisions { table, claimed, routes } = unasked;
        (self.table, self.claimed) = (table, claimed);
        self.routes = self.routes.take().or(routes);
    }

    /// Whether the design that requests work must be queried.
    #[inline]
    pub fn is_maintenance_due(&self) -> bool {
        self.is_maintenance_due
    }

    /// Open blocks of each stream that a design needs.
    pub(super) fn open_blocks(&self, design: usize) -> u8 {
        self.all[design].design.needs().open_blocks
    }

    /// The design that makes a decision in a pool; `None` if a policy makes it.
    #[inline]
    pub(super) fn owner(&self, seam: ExtensionPoint, pool: usize) -> Option<usize> {
        let owner = self.table[pool][seam as usize];
        (owner != NO_DESIGN).then_some(usize::from(owner))
    }
}
