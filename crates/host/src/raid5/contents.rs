//! Contents of blocks in the stripe cache, for data verification. They do not change the behaviour of the
//! array.
//!
//! Parity is stored on the members with a mark. The mark identifies data from before the first write of the
//! array: a preconditioned device has [`FILLED`] in every sector, even where a filled row should have parity.

use std::collections::BTreeMap;
use std::ops::Range;

use wordline_device::content::{Content, FILLED, MARK, NOTHING, ZEROES, parity, parity_of};
use wordline_device::{Command, Operation};

use super::stripe_cache::{HeadId, SectorSet};
use super::write_method::{MemberSet, each};

/// Contents of cached blocks and of commands.
#[derive(Debug)]
pub struct TrackedContents {
    members: usize,
    block: usize,
    /// Indexed by head and member.
    blocks: Vec<Vec<Content>>,
    /// By head: the delta of deferred parity.
    delta: Vec<Vec<Content>>,
    /// By row: the partial parity in the log.
    partials: BTreeMap<u64, Vec<Content>>,
    /// By tag: contents for the next command with this tag.
    given: BTreeMap<u32, Vec<Content>>,
    /// By number: contents of accepted writes.
    carried: BTreeMap<u32, Vec<Content>>,
    /// By number: contents that outstanding reads have found so far.
    found: BTreeMap<u32, Vec<Content>>,
    /// By tag: contents of completed reads.
    answered: BTreeMap<u32, Vec<Content>>,
}

/// The parity that a sector of a member represents, in a row of `data` data blocks. The stored content has
/// the mark of parity, or is from before the first write of the array.
fn from_member(content: Content, data: usize) -> Content {
    match content {
        ZEROES | NOTHING => content,
        FILLED => parity_of(std::iter::repeat_n(FILLED, data)),
        marked => parity(marked, MARK),
    }
}

impl TrackedContents {
    /// Contents for a stripe cache with `heads` heads, and rows of `members` blocks of `block` sectors.
    pub fn new(heads: u32, members: usize, block: u64) -> Self {
        let block = block as usize;
        let zeroes = vec![ZEROES; block];
        Self {
            members,
            block,
            blocks: vec![zeroes.clone(); heads as usize * members],
            delta: vec![zeroes; heads as usize],
            partials: BTreeMap::new(),
            given: BTreeMap::new(),
            carried: BTreeMap::new(),
            found: BTreeMap::new(),
            answered: BTreeMap::new(),
        }
    }

    fn place(&self, head: HeadId, member: u16) -> usize {
        head.0 as usize * self.members + usize::from(member)
    }

    /// Sets the contents of the next command with this tag.
    pub fn set_contents(&mut self, tag: u32, contents: &[Content]) {
        self.given.insert(tag, contents.to_vec());
    }

    /// Notes a submitted command.
    pub fn note_submission(&mut self, request: u32, command: &Command) {
        if let Some(given) = self.given.remove(&command.tag) {
            self.carried.insert(request, given);
        }
        if command.operation == Operation::Read {
            self.found.insert(request, vec![NOTHING; command.sectors as usize]);
        }
    }

    /// Notes the completion of a command.
    pub fn note_completion(&mut self, request: u32, tag: u32) {
        self.carried.remove(&request);
        if let Some(found) = self.found.remove(&request) {
            self.answered.insert(tag, found);
        }
    }

    /// Removes and returns the contents that the read with this tag found.
    pub fn take(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.answered.remove(&tag)
    }

    /// The content that a command writes to one of its sectors.
    fn written(&self, request: u32, command: &Command, at: usize) -> Content {
        match (command.operation, self.carried.get(&request)) {
            (Operation::WriteZeroes, _) => ZEROES,
            (_, Some(carried)) => carried[at],
            (_, None) => Content::of(command.tag),
        }
    }

    /// Notes contents that a member read found, from sector `at` of the command.
    pub fn read(&mut self, request: u32, at: usize, found: &[Content]) {
        if let Some(all) = self.found.get_mut(&request) {
            all[at..at + found.len()].copy_from_slice(found);
        }
    }

    /// Serves a part of a read from a cached block.
    pub fn read_block(&mut self, request: u32, at: usize, head: HeadId, member: u16, part: Range<u64>) {
        let block = &self.blocks[self.place(head, member)][part.start as usize..part.end as usize];
        if let Some(all) = self.found.get_mut(&request) {
            all[at..at + block.len()].copy_from_slice(block);
        }
    }

    /// Notes the contents of sectors of a block that were read, from sector `first` of the block.
    pub fn fetched(
        &mut self,
        head: HeadId,
        (member, first): (u16, usize),
        found: &[Content],
        is_parity: bool,
    ) {
        let data = self.members - 1;
        let place = self.place(head, member);
        let of_member = |content: &Content| if is_parity { from_member(*content, data) } else { *content };
        let held = &mut self.blocks[place][first..first + found.len()];
        held.iter_mut().zip(found).for_each(|(held, found)| *held = of_member(found));
    }

    /// Computes sectors of a block from the other members of `all`.
    pub fn compute(&mut self, head: HeadId, member: u16, all: MemberSet, which: SectorSet) {
        for at in (0..self.block).filter(|at| which >> at & 1 == 1) {
            let others = each(all).filter(|other| *other != member);
            let content = parity_of(others.map(|other| self.blocks[self.place(head, other)][at]));
            let place = self.place(head, member);
            self.blocks[place][at] = content;
        }
    }

    /// Fills sectors of a block with zeroes.
    pub fn zero(&mut self, head: HeadId, member: u16, which: SectorSet) {
        let place = self.place(head, member);
        let block = self.blocks[place].iter_mut().enumerate();
        block.filter(|(at, _)| which >> at & 1 == 1).for_each(|(_, content)| *content = ZEROES);
    }

    /// Applies a write to a part of a block. Updates the parity or the delta, as `with` selects.
    pub fn write(
        &mut self,
        head: HeadId,
        member: u16,
        part: Range<u64>,
        (request, command, at): (u32, &Command, usize),
        with: ParityUpdate,
    ) {
        let (place, first) = (self.place(head, member), part.start as usize);
        for sector in part {
            let sector = sector as usize;
            let new = self.written(request, command, at + sector - first);
            let old = std::mem::replace(&mut self.blocks[place][sector], new);
            let change = parity(old, new);
            let with = match with {
                ParityUpdate::None => continue,
                ParityUpdate::Parity(member) => {
                    let place = self.place(head, member);
                    &mut self.blocks[place][sector]
                }
                ParityUpdate::Delta => &mut self.delta[head.0 as usize][sector],
            };
            *with = parity(*with, change);
        }
    }

    /// Resets the parity delta of a row to zero.
    pub fn begin_delta(&mut self, head: HeadId) {
        self.delta[head.0 as usize].fill(ZEROES);
    }

    /// Applies the delta of a row to its parity, which has been read.
    pub fn apply_delta(&mut self, head: HeadId, member: u16) {
        let place = self.place(head, member);
        let delta = &self.delta[head.0 as usize];
        self.blocks[place].iter_mut().zip(delta).for_each(|(held, delta)| *held = parity(*held, *delta));
    }

    /// Takes over the partial parity log of another value, because the log survives a power cut.
    #[must_use]
    pub fn with_partials(self, of: Self) -> Self {
        Self { partials: of.partials, ..self }
    }

    /// Drops the partial parity of rows for which `keeps` is false.
    pub fn keep_partials(&mut self, keeps: impl Fn(u64) -> bool) {
        self.partials.retain(|row, _| keeps(*row));
    }

    /// Logs the partial parity of a row before the blocks `written` are written. `before`: blocks of the row
    /// that were written and logged earlier. The partial parity is the exclusive or of the untouched blocks.
    /// With a `parity_member` it is computed from the parity block of that member, otherwise from the `data`
    /// blocks, which are in memory.
    pub fn note_partial(
        &mut self,
        head: HeadId,
        row: u64,
        (written, before): (MemberSet, Option<MemberSet>),
        parity_member: Option<u16>,
        data: MemberSet,
    ) {
        let old = before.and_then(|_| self.partials.remove(&row));
        let written_before = before.unwrap_or(0);
        let held = |member: u16, at: usize| self.blocks[self.place(head, member)][at];
        let partial = (0..self.block).map(|at| match parity_member {
            Some(member) => {
                let base = old.as_ref().map_or_else(|| held(member, at), |old| old[at]);
                each(written & !written_before).fold(base, |sum, member| parity(sum, held(member, at)))
            }
            None => parity_of(each(data & !written & !written_before).map(|member| held(member, at))),
        });
        let partial = partial.collect();
        self.partials.insert(row, partial);
    }

    /// Computes the parity of a row from its log entry and the blocks that were written.
    pub fn replay(&mut self, head: HeadId, row: u64, parity_member: u16, written: MemberSet) {
        let Some(partial) = self.partials.get(&row) else { return };
        let sums: Vec<Content> = (0..self.block)
            .map(|at| {
                let held = |member: u16| self.blocks[self.place(head, member)][at];
                each(written).fold(partial[at], |sum, member| parity(sum, held(member)))
            })
            .collect();
        let place = self.place(head, parity_member);
        self.blocks[place] = sums;
    }

    /// The contents to write to sectors of a block on its member.
    pub fn to_member(&self, head: HeadId, member: u16, part: &Range<u64>, is_parity: bool) -> Vec<Content> {
        let held = &self.blocks[self.place(head, member)][part.start as usize..part.end as usize];
        match is_parity {
            true => held.iter().map(|content| parity(*content, MARK)).collect(),
            false => held.to_vec(),
        }
    }

    /// Whether the cached parity of a row equals the parity of its data blocks.
    pub fn is_right(&self, head: HeadId, all: MemberSet) -> bool {
        let sum = |at: usize| parity_of(each(all).map(|member| self.blocks[self.place(head, member)][at]));
        (0..self.block).all(|at| sum(at) == ZEROES)
    }
}

/// The parity that a write updates in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParityUpdate {
    /// None.
    None,
    /// The parity block of this member.
    Parity(u16),
    /// The delta of deferred parity.
    Delta,
}
