//! Writes of a row to its members: whole blocks, parts of blocks, and batches of full stripes.

use std::ops::Range;

use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::Schedule;

use super::array::Array;
use super::event::Event;
use super::host::Host;
use super::intervals::Of;
use super::members::{CompletedCommand, Purpose};
use super::plan::Row;
use super::stripe::Stripes;
use super::stripe_cache::{HeadId, Job, Step};
use super::sync::{Sync, Task};
use super::write_method::{MemberSet, each};

impl Stripes {
    /// Adds a full stripe to the batch of the rows just before it in the same chunk.
    pub(super) fn add_to_batch<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let of_chunk = array.settings.striping.stripe_of(row.row);
        let goes_on = self.batch.last().is_some_and(|last| {
            let last = self.heads.get(*last).row.expect("it has work");
            last + 1 == row.row && array.settings.striping.stripe_of(last) == of_chunk
        });
        if !goes_on {
            self.store_batch(array, host, calendar);
        }
        self.batch.push(id);
    }

    /// Whether there is a batch to store.
    #[inline]
    pub(super) fn has_batch(&self) -> bool {
        !self.batch.is_empty()
    }

    /// Stores the batch, if there is one.
    pub(super) fn store_batch<D: BlockDevice>(
        &mut self,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let mut batch = std::mem::take(&mut self.batch).into_iter();
        let Some(first) = batch.next() else { return };
        let row = self.row_of(first, array);
        for id in batch {
            let head = self.heads.get_mut(id);
            (head.step, head.turns.changes) = (Step::Storing, true);
            let row = self.row_of(id, array).row;
            array.durability.note_write_start(row, false);
            self.heads.get_mut(first).batch.push(id);
        }
        self.log_and_store(first, &row, row.all, array, host, calendar);
    }

    /// Writes the sectors that the current writes cover, as contiguous runs. Also writes whole blocks that
    /// could not be read.
    pub(super) fn store_parts<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        array.durability.note_write_start(row.row, self.heads.get(id).turns.fua);
        let whole = 0..array.settings.striping.block;
        let head = self.heads.get_mut(id);
        (head.step, head.turns.changes) = (Step::Storing, true);
        let rewrite = std::mem::take(&mut head.rewrite) & !row.missing;
        let written = head.written;
        let mut parts: Vec<(u16, Range<u64>)> = each(rewrite).map(|member| (member, whole.clone())).collect();
        for member in each(written & !rewrite) {
            let mut covered = head.covered[usize::from(member)];
            let mut from = 0;
            while covered != 0 {
                let skip = u64::from(covered.trailing_zeros());
                let run = u64::from((covered >> skip).trailing_ones());
                parts.push((member, from + skip..from + skip + run));
                from += skip + run;
                covered = covered.checked_shr((skip + run) as u32).unwrap_or(0);
            }
        }
        head.left = parts.len() as u32;
        for (member, part) in parts {
            let contents = array
                .followed
                .as_ref()
                .map(|followed| followed.to_member(id, member, &part, 1 << member == row.parity));
            let first = row.row * whole.end;
            let sectors = first + part.start..first + part.end;
            self.store_on((id, member), sectors, contents.as_deref(), array, host, calendar);
        }
    }

    /// Writes whole blocks of a row and of the rows in its batch. Ends the work if there is nothing to write.
    pub(super) fn store<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: MemberSet,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let head = self.heads.get_mut(id);
        let (rewrite, was_lost) = (std::mem::take(&mut head.rewrite), std::mem::take(&mut head.turns.lost));
        // A rebuild or a repair writes the content that a block should have, so parity stays consistent. The
        // replacement of a lost block changes the content: after a power cut the block may be on its member,
        // and its parity not.
        let is_rebuild = matches!(array.sync, Some(Sync { task: Task::Rebuild { .. }, .. }));
        let changes =
            blocks != 0 && !(is_rebuild && head.job == Job::Sync) || rewrite.count_ones() > 1 || was_lost;
        let blocks = (blocks | rewrite) & array.durability.held.writable();
        if blocks == 0 {
            return self.end_job(id, array, host, calendar);
        }
        if changes {
            array.durability.note_write_start(row.row, head.turns.fua);
        }
        head.turns.changes = changes;
        head.step = Step::Storing;
        head.left = blocks.count_ones();
        let rows = 1 + head.batch.len() as u64;
        let block = array.settings.striping.block;
        let is_host = matches!(head.job, Job::Write | Job::Settle);
        if blocks & row.parity != 0 {
            array.members.note_parity(row.parity_member, rows * block);
        }
        if blocks & row.parity != 0 && is_host {
            array.counts.parity_writes += rows;
            for of_batch in row.row..row.row + rows {
                self.note_block_writes(
                    of_batch,
                    row.parity,
                    Of::Parity,
                    calendar.now(),
                    array.settings.striping.members,
                );
            }
        }
        for member in each(blocks) {
            let contents: Option<Vec<Content>> = array.followed.as_ref().map(|followed| {
                let all = std::iter::once(&id).chain(&self.heads.get(id).batch);
                let of =
                    |id: &HeadId| followed.to_member(*id, member, &(0..block), 1 << member == row.parity);
                all.flat_map(of).collect()
            });
            let sectors = row.row * block..(row.row + rows) * block;
            self.store_on((id, member), sectors, contents.as_deref(), array, host, calendar);
        }
    }

    fn store_on<D: BlockDevice>(
        &self,
        (id, member): (HeadId, u16),
        sectors: Range<u64>,
        contents: Option<&[Content]>,
        array: &mut Array<D>,
        host: &Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let head = self.heads.get(id);
        let first = head.current.first().map(|request| host.requests.get(*request).command);
        let Command { stream, queue, .. } = first.unwrap_or_default();
        let write = Command {
            operation: Operation::Write,
            fua: head.turns.fua,
            sector: sectors.start,
            sectors: sectors.end - sectors.start,
            stream,
            queue,
            ..Command::default()
        };
        if head.job == Job::Sync {
            array.members.note_sync(member, write.sectors);
        }
        array.send(member, Purpose::Store { head: id }, write, contents, calendar);
    }

    /// Completes a write of blocks.
    pub(super) fn complete_store<D: BlockDevice>(
        &mut self,
        id: HeadId,
        over: &CompletedCommand,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if over.failed {
            self.drop_member(over.sent.member, calendar.now(), array);
        }
        let head = self.heads.get_mut(id);
        head.left -= 1;
        if head.left == 0 {
            let batch = std::mem::take(&mut head.batch);
            for id in std::iter::once(&id).chain(&batch) {
                host.attribution.end_step(*id, over.sent.why);
                array.durability.note_write_end(self.row_of(*id, array).row);
            }
            self.end_job(id, array, host, calendar);
            batch.into_iter().for_each(|id| self.end_job(id, array, host, calendar));
        }
    }
}
