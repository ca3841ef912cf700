//! The host's model of each sector: the contents that it may have, given the commands and their completions,
//! and those that must survive a power cut. The host knows nothing of the inside of a device, except its
//! mapping unit and the losses that it reports.

use std::collections::BTreeMap;

use wordline_device::content::{Content, FILLED, ZEROES};
use wordline_device::{Command, Completion, Operation};

use crate::lost::UnderWay;

/// Logical time of the host: a number for each submission, completion and power cut.
type Moment = u64;

/// Not completed.
const NEVER: Moment = Moment::MAX;

/// The effect of a command on a sector.
#[derive(Clone, Copy, Debug)]
struct Change {
    content: Content,
    begun: Moment,
    completed: Moment,
    /// Whether the completion implies that the data are in flash.
    durable: bool,
    /// Whether the command discards old data. Volatile discards may bring old data back.
    forgets: bool,
}

impl Change {
    /// The content before the first command, or the content found after a power cut.
    fn found(content: Content, now: Moment, forgets: bool) -> Self {
        Self { content, begun: now, completed: now, durable: true, forgets }
    }
}

/// The data that a device keeps through a power cut after a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promises {
    /// Nothing, because an interrupted program destroys other pages too.
    Nothing,
    /// Written data, but not discards.
    Writes,
    /// Everything.
    All,
}

/// The conditions under which a command is durable.
#[derive(Clone, Copy, Debug)]
pub struct Durability {
    pub promises: Promises,
    /// A command is durable when it completes.
    pub writes_through: bool,
}

/// An outstanding command.
#[derive(Clone, Debug)]
struct Pending {
    begun: Moment,
    /// First sector of the command on the device.
    first: u64,
    command: Command,
}

/// The host.
#[derive(Clone, Debug)]
pub struct Host {
    now: Moment,
    /// Sectors of a mapping unit.
    per_page: u64,
    durability: Durability,
    sectors: Vec<Vec<Change>>,
    /// By sector: all contents that it ever had.
    history: BTreeMap<u64, Vec<Content>>,
    pending: BTreeMap<u32, Pending>,
    under_way: UnderWay,
    /// Submission of the last completed flush.
    flushed: Moment,
}

impl Host {
    /// The host of a device with `sectors` sectors. `filled`: whether all of them have contents.
    pub fn new(sectors: u64, per_page: u64, durability: Durability, filled: bool) -> Self {
        let content = if filled { FILLED } else { ZEROES };
        let sector = vec![Change::found(content, 0, false)];
        Self {
            now: 1,
            per_page,
            durability,
            sectors: vec![sector; sectors as usize],
            history: BTreeMap::new(),
            pending: BTreeMap::new(),
            under_way: UnderWay::default(),
            flushed: 0,
        }
    }

    /// Whether the effect of a command on a sector is in flash when the command completes.
    fn is_durable(&self, command: &Command, forgets: bool) -> bool {
        let keeps = self.durability.promises == Promises::All && command.operation != Operation::Discard;
        let promised = !forgets || keeps;
        promised && (command.fua || self.durability.writes_through)
    }

    /// Submits a command. `first`: its first sector on the device.
    pub fn on_submit(&mut self, command: Command, first: u64) {
        self.now += 1;
        self.under_way.on_submit(command, first);
        let end = first + command.sectors;
        let whole = first.div_ceil(self.per_page) * self.per_page..end / self.per_page * self.per_page;
        let (begun, completed) = (self.now, NEVER);
        for sector in first..end {
            let is_whole = whole.contains(&sector);
            let change = match command.operation {
                Operation::Write => Some((Content::of(command.tag), false)),
                Operation::WriteZeroes => Some((ZEROES, is_whole)),
                Operation::Discard => is_whole.then_some((ZEROES, true)),
                _ => None,
            };
            let Some((content, forgets)) = change else { continue };
            let durable = self.is_durable(&command, forgets);
            self.history.entry(sector).or_default().push(content);
            self.sectors[sector as usize].push(Change { content, begun, completed, durable, forgets });
        }
        self.pending.insert(command.tag, Pending { begun, first, command });
    }

    /// Completes a command, and checks the contents that a read found against the model. `is_lost`: whether a
    /// sector is lost. `refuses`: whether the device is at its end of life.
    pub fn completed(
        &mut self,
        completion: &Completion,
        found: Option<&[Content]>,
        is_lost: impl Fn(u64) -> bool,
        refuses: bool,
    ) {
        self.now += 1;
        let pending = self.pending.remove(&completion.command.tag).expect("each command is answered once");
        let Pending { begun, first, command } = pending;
        assert_eq!(completion.command, command, "an answer names its command");
        let all = first..first + command.sectors;
        self.under_way.completed(completion, is_lost, refuses);
        match command.operation {
            Operation::Read | Operation::Compare if completion.failed => {}
            Operation::Read => {
                let found = found.unwrap_or_else(|| panic!("a read without contents: {completion:?}"));
                for (sector, content) in all.zip(found) {
                    self.check_read(sector, *content, begun);
                }
            }
            Operation::Flush if !completion.failed => self.flushed = self.flushed.max(begun),
            Operation::Write | Operation::WriteZeroes | Operation::Discard if !completion.failed => {
                let now = self.now;
                for sector in all {
                    let changes = self.sectors[sector as usize].iter_mut().rev();
                    changes.filter(|change| change.begun == begun).for_each(|change| change.completed = now);
                }
            }
            _ => assert!(refuses || !completion.failed, "nothing is refused: {completion:?}"),
        }
    }

    /// Checks the content that a read submitted at `begun` found. The write of this content must not have
    /// been overwritten before the read: by another write that was submitted after its completion and
    /// completed before `begun`.
    fn check_read(&self, sector: u64, content: Content, begun: Moment) {
        let changes = &self.sectors[sector as usize];
        let over = changes.iter().filter(|change| change.completed < begun).map(|change| change.begun).max();
        let may =
            |change: &Change| change.content == content && over.is_none_or(|over| change.completed >= over);
        assert!(
            changes.iter().any(may),
            "a read of sector {sector} that began at {begun} found {content:?}, which {changes:?} do not allow"
        );
    }

    /// Checks the present content of a sector, when only commands that will never complete are outstanding.
    pub fn check_now(&self, sector: u64, content: Content) {
        self.check_read(sector, content, self.now + 1);
    }

    /// Applies a power cut. Outstanding commands never complete.
    pub fn loses_power(&mut self) -> usize {
        self.now += 1;
        self.under_way.loses_power();
        std::mem::take(&mut self.pending).len()
    }

    /// Checks the content of a sector after a power cut; `None` for a lost sector. `loses_tables`: whether
    /// discard tables may be lost. The found content is the only one from then on.
    pub fn check_cut(&mut self, sector: u64, content: Option<Content>, loses_tables: bool) {
        let flushed = self.flushed;
        let promises = if loses_tables {
            self.durability.promises.min(Promises::Writes)
        } else {
            self.durability.promises
        };
        let changes = &mut self.sectors[sector as usize];
        if changes.len() == 1 && content == Some(changes[0].content) {
            return;
        }
        let is_safe = |change: &Change| {
            let flushed = change.completed < flushed || change.durable && change.completed < NEVER;
            flushed && (!change.forgets || promises == Promises::All)
        };
        let safe = changes.iter().filter(|change| is_safe(change)).map(|change| change.begun).max();
        let stays = |change: &Change| safe.is_none_or(|safe| change.completed >= safe);
        let comes_back = |change: &Change| stays(change) && change.forgets && !is_safe(change);
        let older = promises == Promises::Nothing || changes.iter().any(comes_back);
        let now = self.now;
        let Some(content) = content else {
            changes.retain(stays);
            changes.iter_mut().for_each(|change| change.completed = change.completed.min(now));
            return;
        };
        let history = self.history.get(&sector).map_or(&[][..], Vec::as_slice);
        let was = |content| content == ZEROES || content == FILLED || history.contains(&content);
        let may = changes.iter().any(|change| stays(change) && change.content == content);
        assert!(
            may || older && was(content),
            "after a cut at {now}, flushed up to {flushed}, sector {sector} holds {content:?}, which {changes:?} do not allow"
        );
        *changes = vec![Change::found(content, now, content == ZEROES)];
    }
}
