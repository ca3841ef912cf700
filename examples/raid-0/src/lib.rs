//! A device made of devices: SSDs striped as a RAID-0 array.
//!
//! Stripe unit `k` of the array is stripe unit `k / n` of member `k mod n`. So the sectors of a command on
//! one member are contiguous, and a command becomes one command for each member that it touches. The array
//! wraps the events of its members and lends them its calendar. Power cuts, metrics, audits and snapshots
//! apply to all members.
//!
//! [`Array`] is the device type that configurations can name. The program of this crate is the complete
//! program `wordline` with this device type.

mod configured;
mod pieces;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_device::ageing::Ages;
use wordline_device::block_device::{NextCommand, OldestCommand, Programmed, Shape};
use wordline_device::content::{Content, NOTHING};
use wordline_device::detail::Detail;
use wordline_device::preconditioning::{FillProgress, ProgressFn, Steady};
use wordline_device::snapshot::Agenda;
use wordline_device::{
    BlockDevice, Command, Completion, Gauges, InvalidDecision, Operation, PowerCut, Recovered, ageing,
};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed, counters, state};

pub use configured::{Array, ArrayFile};
pub use pieces::Striping;

/// An event of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEvent<E> {
    /// Number of the member.
    pub member: u16,
    /// The event of the member.
    pub event: E,
}

counters! {
    /// The counters of the array.
    pub struct Counts {
        commands: "raid.commands", Count, "Commands of the host.";
        split: "raid.split", Count, "Commands of the host that went to several members.";
        pieces: "raid.pieces", Count, "Commands to members.";
    }
}

/// An outstanding host command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OutstandingCommand {
    command: Command,
    submitted: Instant,
    /// Outstanding member commands.
    pieces: u32,
    failed: bool,
}

/// The counters of an array at a point in time.
pub struct Mark<M> {
    counts: Counts,
    members: Vec<M>,
}

/// An array of devices of one shape.
pub struct Raid0<D> {
    members: Vec<D>,
    striping: Striping,
    /// By the tag of its member commands: each outstanding host command.
    under_way: BTreeMap<u32, OutstandingCommand>,
    next: u32,
    digest: Digest,
    counts: Counts,
    completions: Vec<Completion>,
    /// `None` unless data verification is on.
    followed: Option<Box<TrackedContents>>,
}

state!(Raid0<D: State> {
    values { under_way, next, digest, counts, completions }
    lists { members }
    fixed { striping, followed }
});

/// Contents of commands, for data verification.
#[derive(Default)]
struct TrackedContents {
    /// Contents of host writes, by tag.
    carried: BTreeMap<u32, Vec<Content>>,
    /// Contents found so far by outstanding reads, by the tag of their member commands.
    found: BTreeMap<u32, Vec<Content>>,
    /// Contents found by completed reads, by tag.
    answered: BTreeMap<u32, Vec<Content>>,
}

impl<D: BlockDevice> Raid0<D> {
    /// An array of `members` with stripe units of `unit` bytes. Sectors of a member after its last whole unit
    /// are not used.
    ///
    /// # Panics
    /// Without members, with members of different shapes, or with a unit that is not a multiple of their
    /// logical pages and sectors.
    pub fn new(members: Vec<D>, unit: Bytes) -> Self {
        let shape = members.first().expect("an array has members").shape();
        assert!(members.iter().all(|member| member.shape() == shape), "members of one shape");
        for size in [shape.logical_page, shape.sector_size] {
            let whole = unit.0 > 0 && unit.0.is_multiple_of(size.0);
            assert!(whole, "a stripe unit of {unit}, wanted a multiple of {size}");
        }
        let striping = Striping::of(members.len() as u64, unit, &shape);
        let (under_way, digest, counts) = (BTreeMap::new(), Digest::default(), Counts::default());
        Self {
            members,
            striping,
            under_way,
            next: 0,
            digest,
            counts,
            completions: Vec::new(),
            followed: None,
        }
    }

    /// The members.
    pub fn members(&self) -> &[D] {
        &self.members
    }

    /// Takes the contents that completed reads found on a member.
    #[cold]
    fn take_found(&mut self, member: u16) {
        let Some(followed) = &mut self.followed else { return };
        let device = &mut self.members[usize::from(member)];
        let tags: Vec<u32> = device.completions().iter().map(|completion| completion.command.tag).collect();
        for tag in tags {
            let Some(found) = device.take_contents(tag) else { continue };
            let command = &self.under_way[&tag].command;
            let all = followed.found.entry(tag).or_insert_with(|| vec![NOTHING; command.sectors as usize]);
            let places = self.striping.sectors_on(member, command.sector, command.sectors);
            places.zip(found).for_each(|(at, content)| all[at] = content);
        }
    }

    /// Takes the completions of a member.
    fn take_completions(&mut self, member: u16, now: Instant) {
        if self.followed.is_some() {
            self.take_found(member);
        }
        let Self { members, under_way, digest, completions, followed, .. } = self;
        let member = &mut members[usize::from(member)];
        for completion in member.completions() {
            let tag = completion.command.tag;
            let whole = under_way.get_mut(&tag).expect("a member answers what it was asked");
            whole.pieces -= 1;
            whole.failed |= completion.failed;
            if whole.pieces == 0 {
                let OutstandingCommand { command, submitted, failed, .. } = *whole;
                under_way.remove(&tag);
                let latency = now - submitted;
                digest.add(u64::from(command.tag));
                digest.add(latency.ps());
                completions.push(Completion { command, latency, failed });
                if let Some(followed) = followed {
                    followed.carried.remove(&command.tag);
                    let found = followed.found.remove(&tag);
                    followed.answered.extend(found.map(|found| (command.tag, found)));
                }
            }
        }
        member.clear_completions();
    }

    fn all_members(&self) -> std::ops::Range<u16> {
        0..self.members.len() as u16
    }

    /// The events of one member among the events of the array.
    fn agenda_of(member: u16, agenda: &Agenda<MemberEvent<D::Event>>) -> Agenda<D::Event> {
        let own = agenda.events.iter().filter(|(_, event)| event.member == member);
        Agenda { now: agenda.now, events: own.map(|(time, of)| (*time, of.event)).collect() }
    }
}

impl<D: Ages> BlockDevice for Raid0<D> {
    type Event = MemberEvent<D::Event>;
    type Mark = Mark<D::Mark>;

    fn shape(&self) -> Shape {
        self.striping.shape(self.members[0].shape())
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>) {
        let tag = self.next;
        self.next = tag.wrapping_add(1);
        let pieces: Vec<(u16, Command)> = match command.operation {
            Operation::Flush => {
                self.all_members().map(|member| (member, Command { tag, ..command })).collect()
            }
            _ => {
                let piece = |(member, sectors): (u16, std::ops::Range<u64>)| {
                    let (sector, sectors) = (sectors.start, sectors.end - sectors.start);
                    (member, Command { sector, sectors, tag, ..command })
                };
                self.striping.pieces(command.sector, command.sectors).map(piece).collect()
            }
        };
        let under_way = OutstandingCommand {
            command,
            submitted: calendar.now(),
            pieces: pieces.len() as u32,
            failed: false,
        };
        self.under_way.insert(tag, under_way);
        self.counts.commands += 1;
        self.counts.pieces += pieces.len() as u64;
        self.counts.split += u64::from(pieces.len() > 1);
        for (member, piece) in pieces {
            if let Some(carried) =
                self.followed.as_ref().and_then(|followed| followed.carried.get(&command.tag))
            {
                let places = self.striping.sectors_on(member, command.sector, command.sectors);
                let contents: Vec<Content> = places.map(|at| carried[at]).collect();
                self.members[usize::from(member)].carry(tag, &contents);
            }
            self.members[usize::from(member)].submit(piece, &mut calendar_of(member, calendar));
            self.take_completions(member, calendar.now());
        }
    }

    fn follow_contents(&mut self) {
        self.members.iter_mut().for_each(D::follow_contents);
        self.followed = Some(Box::default());
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        let followed = self.followed.as_mut().expect("contents are followed");
        followed.carried.insert(tag, contents.to_vec());
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.followed.as_mut()?.answered.remove(&tag)
    }

    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>) {
        let MemberEvent { member, event } = event;
        self.members[usize::from(member)].handle(event, &mut calendar_of(member, calendar));
        self.take_completions(member, calendar.now());
    }

    fn completions(&self) -> &[Completion] {
        &self.completions
    }

    fn clear_completions(&mut self) {
        self.completions.clear();
    }

    fn outstanding(&self) -> usize {
        self.under_way.len()
    }

    fn give_up(&mut self, calendar: &mut impl Schedule<Self::Event>) -> bool {
        let mut any = false;
        for member in self.all_members() {
            any |= self.members[usize::from(member)].give_up(&mut calendar_of(member, calendar));
            self.take_completions(member, calendar.now());
        }
        any
    }

    fn invalid_decision(&self) -> Option<&InvalidDecision> {
        self.members.iter().find_map(D::invalid_decision)
    }

    fn is_read_only(&self) -> bool {
        self.members.iter().any(D::is_read_only)
    }

    fn power_cut(&mut self, now: Instant) -> PowerCut {
        if self.followed.is_some() {
            self.followed = Some(Box::default());
        }
        let mut cut = PowerCut::default();
        for member in &mut self.members {
            cut.torn.add(&member.power_cut(now).torn);
        }
        let incomplete = std::mem::take(&mut self.under_way).into_values();
        cut.incomplete = incomplete.map(|under_way| under_way.command).collect();
        cut
    }

    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>) {
        for member in self.all_members() {
            self.members[usize::from(member)].recover(&mut calendar_of(member, calendar));
        }
    }

    fn is_ready(&self) -> bool {
        self.members.iter().all(D::is_ready)
    }

    /// The sum of the pages that the members have recovered.
    fn pages_recovered(&self) -> u64 {
        self.members.iter().map(D::pages_recovered).sum()
    }

    fn pages_to_recover(&self) -> u64 {
        self.members.iter().map(D::pages_to_recover).sum()
    }

    fn recovery(&self) -> Option<Recovered> {
        let all: Option<Vec<Recovered>> = self.members.iter().map(D::recovery).collect();
        all.map(|all| {
            all.iter().fold(Recovered::default(), |sum, one| Recovered {
                time: sum.time.max(one.time),
                pages_read: sum.pages_read + one.pages_read,
                lost: sum.lost + one.lost,
                returned: sum.returned + one.returned,
            })
        })
    }

    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool {
        let (mut before, members) = (0, self.members.len() as u64);
        self.members.iter_mut().all(|member| {
            let mut pages = 0;
            let done = member.fill_while(fraction, &mut |written| {
                pages = written.pages;
                look(combined_progress(written, before, members))
            });
            before += pages;
            done
        })
    }

    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady> {
        let mut all = Steady { overwritten: 0, amplification: Some(0.0) };
        let count = self.members.len() as f64;
        let mut before = 0;
        for (number, member) in self.members.iter_mut().enumerate() {
            let mut pages = 0;
            let own = Seed(seed.0.wrapping_add(number as u64));
            let one = member.fill_steady_while(own, fraction, &mut |written| {
                pages = written.pages;
                look(combined_progress(written, before, count as u64))
            })?;
            before += pages;
            all.overwritten += one.overwritten;
            let of_one = one.amplification.map(|amplification| amplification / count);
            all.amplification = all.amplification.zip(of_one).map(|(all, one)| all + one);
        }
        Some(all)
    }

    fn age(&mut self, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        ageing::age(self, next, depth)
    }

    fn digest(&self) -> Digest {
        let mut digest = self.digest;
        self.members.iter().for_each(|member| digest.add(member.digest().value()));
        digest
    }

    fn audit(&self, elapsed: Duration) {
        self.members.iter().for_each(|member| member.audit(elapsed));
        let pieces: u32 = self.under_way.values().map(|under_way| under_way.pieces).sum();
        let outstanding: usize = self.members.iter().map(D::outstanding).sum();
        assert_eq!(pieces as usize, outstanding, "members work on the pieces of commands");
    }

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.under_way.values().min_by_key(|under_way| under_way.submitted);
        first.map(|OutstandingCommand { command, submitted, pieces, .. }| {
            let of_members = self.members.iter().filter_map(D::oldest).map(|oldest| oldest.done);
            let done = of_members.fold(u64::from(*pieces), u64::wrapping_add);
            OldestCommand { submitted: *submitted, tag: command.tag, done }
        })
    }

    fn stall_limit(&self) -> Duration {
        self.members.iter().map(D::stall_limit).max().unwrap_or(Duration::ZERO)
    }

    fn describe_outstanding(&self, now: Instant) -> String {
        let of =
            |(number, member): (usize, &D)| format!("member {number}\n{}", member.describe_outstanding(now));
        self.members.iter().enumerate().map(of).collect()
    }

    fn mark(&self, now: Instant) -> Self::Mark {
        let members = self.members.iter().map(|member| member.mark(now)).collect();
        Mark { counts: self.counts.clone(), members }
    }

    fn programmed(&self) -> Programmed {
        self.members.iter().map(D::programmed).fold(Programmed::default(), |sum, one| Programmed {
            host: sum.host + one.host,
            other: sum.other + one.other,
        })
    }

    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics {
        let members = self.members.iter().zip(&mark.members);
        let mut metrics = Metrics::join(members.map(|(member, mark)| member.metrics(mark, now)));
        self.counts.since(&mark.counts).add_to(&mut metrics);
        metrics
    }

    fn gauges(&self, now: Instant) -> Gauges {
        Gauges::join(self.members.iter().map(|member| member.gauges(now)))
    }

    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail {
        let members = self.members.iter().zip(&mark.members);
        Detail::join(members.map(|(member, mark)| member.detail(mark, now)))
    }

    fn lengths(&self) -> Vec<usize> {
        self.members.iter().flat_map(D::lengths).collect()
    }

    fn max_field_bytes(&self) -> u64 {
        self.members.iter().map(D::max_field_bytes).sum()
    }

    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String> {
        if agenda.events.iter().any(|(_, event)| usize::from(event.member) >= self.members.len()) {
            return Err("an event of a member that does not exist".into());
        }
        let mut each = self.members.iter().zip(0..);
        each.try_for_each(|(member, number)| member.check_loaded(&Self::agenda_of(number, agenda)))
    }
}

impl<D: Ages> Ages for Raid0<D> {
    fn is_timer(event: &Self::Event) -> bool {
        D::is_timer(&event.event)
    }

    fn stop_clock(&mut self) -> bool {
        self.members.iter_mut().all(D::stop_clock)
    }

    fn next_untimed_completion(&mut self, clock: &mut impl Schedule<Self::Event>) -> bool {
        self.all_members().any(|member| {
            let is_over =
                self.members[usize::from(member)].next_untimed_completion(&mut calendar_of(member, clock));
            self.take_completions(member, clock.now());
            is_over
        })
    }

    fn pause_gc(&mut self) {
        self.members.iter_mut().for_each(D::pause_gc);
    }

    fn start_clock(&mut self) {
        self.members.iter_mut().for_each(D::start_clock);
    }

    /// Time per page of the array: the members work concurrently.
    fn page_program_time(&self) -> Duration {
        let of_one = self.members.iter().map(D::page_program_time).max().unwrap_or(Duration::ZERO);
        Duration::from_ps(of_one.ps() / self.members.len() as u64)
    }
}

/// Progress over all members, which are preconditioned one after another. `one`: progress of the current
/// member. `before`: pages written to earlier members. Expects the same number of pages from each member.
/// Each member is filled and overwritten before the next one, so the array has no separate filled phase.
fn combined_progress(one: FillProgress, before: u64, members: u64) -> FillProgress {
    let expected = one.expected * members;
    FillProgress { pages: before + one.pages, filled: expected, expected }
}

/// The calendar of a member. Its type is the same for all calls, so that members are compiled for it once.
fn calendar_of<E>(member: u16, calendar: &mut impl Schedule<MemberEvent<E>>) -> impl Schedule<E> {
    calendar.within(move |event| MemberEvent { member, event })
}
