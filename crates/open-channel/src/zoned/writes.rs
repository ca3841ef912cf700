//! Writes: blocks that fill programs go to the device below, in order within their zone. The other blocks are
//! gathered; a flush pads them.

use wordline_device::physical_device::{Failure, LogicalBlock, MOST_BLOCKS};
use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::DataTag;

use super::below::Context;
use super::command::Status;
use super::host::Host;
use super::in_flight::{Piece, Work};
use super::table::ZoneId;
use super::zone_data::Job;
use super::zones::Zones;

impl Zones {
    /// Writes at the write pointer of a zone, for a command. The data begin at index `at` of the command.
    pub(super) fn write<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        (number, at): (u32, u32),
        zone: ZoneId,
        stamps: &[DataTag],
        context: &mut Context<'_, D, C>,
    ) {
        let count = stamps.len() as u32;
        self.counts.writes += 1;
        self.counts.blocks_written += u64::from(count);
        self.table.write(zone, count);
        let end = self.table.get(zone).next;
        let piece = Piece { command: number, zone, at, count, end, parts: 1, has_failed: false };
        let piece = self.pieces.add(piece);
        context.host.commands.get_mut(number).parts += 1;
        let body = &mut self.bodies[zone];
        body.pieces.push_back(piece);
        if body.jobs.is_empty() {
            self.write_piece(piece, stamps, context);
        } else {
            body.jobs.push_back(Job::Write(piece, stamps.to_vec()));
        }
        if end == self.config.layout.capacity {
            self.bodies[zone].jobs.push_back(Job::Close(None));
            self.run_jobs(zone, context);
        }
    }

    /// Sends those blocks of a piece to the device below that fill programs.
    pub(super) fn write_piece<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        number: u32,
        stamps: &[DataTag],
        context: &mut Context<'_, D, C>,
    ) {
        let zone = self.pieces.get_mut(number).zone;
        let body = &mut self.bodies[zone];
        let kept = (body.blocks_sent(), body.gathered.len() as u32);
        let (position, whole) = body.take(stamps, self.config.layout.unit);
        self.write_programs(zone, (position, &whole), (Some(number), kept), context);
        self.finish_piece_part(number, context.host, context.calendar.now());
    }

    /// Writes programs from a position on. If the device below rejects one, the zone becomes full.
    fn write_programs<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        (position, stamps): (u32, &[DataTag]),
        (piece, (first, kept)): (Option<u32>, (u32, u32)),
        context: &mut Context<'_, D, C>,
    ) {
        let unit = self.config.layout.unit as usize;
        let most = MOST_BLOCKS / unit * unit;
        let (mut position, mut kept) = (position, kept);
        for stamps in stamps.chunks(most) {
            let end = position + stamps.len() as u32;
            let blocks: Vec<LogicalBlock> =
                (position..end).map(|at| self.config.layout.block(zone, at)).collect();
            let work = Work::Write { zone, piece, first, kept };
            if !context.below.send(
                work,
                |tag| physical::Command::write(tag, &blocks, stamps),
                context.calendar,
            ) {
                self.record_loss(piece, kept);
                return self.end(zone, context);
            }
            self.bodies[zone].writes += 1;
            if let Some(piece) = piece {
                self.pieces.get_mut(piece).parts += 1;
            }
            (position, kept) = (end, 0);
        }
    }

    /// Records a failed program, so that its piece fails. `stranded` of its blocks belong to completed
    /// writes. These blocks stay in memory. A power loss destroys them, unless the buffer is protected. The
    /// next flush reports the failed program.
    fn record_loss(&mut self, piece: Option<u32>, stranded: u32) {
        if stranded > 0 && !self.config.is_protected {
            self.losses.add();
        }
        self.counts.blocks_unprogrammed += u64::from(stranded);
        if let Some(piece) = piece {
            self.pieces.get_mut(piece).has_failed = true;
        }
    }

    /// Handles the end of a write of the device below, or its failure.
    fn finish_write<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        (piece, (first, kept)): (Option<u32>, (u32, u32)),
        completion: &physical::Completion,
        context: &mut Context<'_, D, C>,
    ) {
        self.bodies[zone].writes -= 1;
        let arrived = (0..kept).filter(|at| !completion.has_failed(*at as usize));
        let arrived = arrived.map(|at| self.bodies[zone].on_way.remove(&(first + at))).count() as u32;
        if completion.failure.is_some() {
            self.record_loss(piece, kept - arrived);
            self.end(zone, context);
        }
        if let Some(piece) = piece {
            self.finish_piece_part(piece, context.host, context.calendar.now());
        }
        self.run_jobs(zone, context);
    }

    /// Ends a part of a piece. The pieces of a zone end in order, so that after a power loss no data are
    /// missing before data of a completed write.
    fn finish_piece_part(&mut self, number: u32, host: &mut Host, now: Instant) {
        let piece = self.pieces.get_mut(number);
        piece.parts -= 1;
        let zone = piece.zone;
        while let Some(first) = self.bodies[zone].pieces.front().copied()
            && self.pieces.get_mut(first).parts == 0
        {
            self.bodies[zone].pieces.pop_front();
            let Piece { command, at, count, end, has_failed, .. } = self.pieces.remove(first);
            if has_failed {
                host.commands.get_mut(command).record_failure(at as usize, count, Status::WriteFault);
                self.counts.writes_failed += 1;
            } else {
                self.bodies[zone].completed = end;
            }
            host.finish_part(command, now);
        }
    }

    /// Flushes: pads gathered blocks, unless they survive a power loss anyway, and flushes the device below.
    pub(super) fn flush<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        number: u32,
        context: &mut Context<'_, D, C>,
    ) {
        self.counts.flushes += 1;
        if self.config.layout.unit > 1 && !self.config.is_protected {
            let gathers =
                |zone: &ZoneId| !self.bodies[*zone].gathered.is_empty() && self.bodies[*zone].jobs.is_empty();
            let zones: Vec<ZoneId> = self.table.ids().filter(gathers).collect();
            zones.into_iter().for_each(|zone| self.pad(zone, context));
        }
        context.host.commands.get_mut(number).parts += 1;
        let work = Work::Flush { command: number, told: self.losses.told() };
        assert!(
            context.below.send(work, physical::Command::flush, context.calendar),
            "a device that is ready takes a flush"
        );
    }

    /// Ends a flush. It fails if some earlier write is not in flash and never will be.
    fn finish_flush(
        &mut self,
        (number, told): (u32, u64),
        completion: &physical::Completion,
        host: &mut Host,
        now: Instant,
    ) {
        let has_failed = completion.failure == Some(Failure::NotFlushed);
        if self.losses.report(told) || has_failed {
            host.commands.get_mut(number).record_failure(0, 1, Status::WriteFault);
        }
        host.finish_part(number, now);
    }

    /// Writes the gathered blocks of a zone, followed by padding. The zone becomes full if the padding leaves
    /// too little space for its remaining capacity.
    pub(super) fn pad<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        context: &mut Context<'_, D, C>,
    ) {
        let layout = self.config.layout;
        let body = &mut self.bodies[zone];
        if body.gathered.is_empty() {
            return;
        }
        let kept = (body.blocks_sent(), body.gathered.len() as u32);
        self.counts.padding += u64::from(layout.unit - kept.1);
        let (position, stamps) = body.pad(layout.unit);
        let fits = body.fits(&layout);
        self.write_programs(zone, (position, &stamps), (None, kept), context);
        if !fits {
            self.end(zone, context);
        }
    }

    /// Pads the chunks of a zone up to a position, after a power loss.
    pub(super) fn pad_to<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        zone: ZoneId,
        position: u32,
        context: &mut Context<'_, D, C>,
    ) {
        let layout = self.config.layout;
        let unit = layout.unit as usize;
        let mut blocks = Vec::new();
        for member in 0..layout.width {
            let chunk = layout.chunk(zone, member);
            let (first, end) =
                (context.below.device.report(chunk).write_pointer, layout.below(member, position));
            blocks.extend(chunk.range(first, end.saturating_sub(first)));
        }
        for blocks in blocks.chunks(MOST_BLOCKS / unit * unit) {
            let stamps = vec![DataTag::PADDING; blocks.len()];
            let work = Work::Write { zone, piece: None, first: 0, kept: 0 };
            if !context.below.send(
                work,
                |tag| physical::Command::write(tag, blocks, &stamps),
                context.calendar,
            ) {
                return self.end(zone, context);
            }
            self.bodies[zone].writes += 1;
            self.counts.padding += blocks.len() as u64;
        }
    }

    /// Handles a completion of the device context.below.
    pub(super) fn completed<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        completion: &physical::Completion,
        context: &mut Context<'_, D, C>,
    ) {
        if let Some(teller) = &mut context.host.outbox.teller {
            teller.note_below(context.below.device.take_breakdown(completion.tag), context.calendar.now());
        }
        match context.below.sent.remove(completion.tag) {
            Work::Write { zone, piece, first, kept } => {
                self.finish_write(zone, (piece, (first, kept)), completion, context);
            }
            Work::Read { zone, command, places } => {
                self.bodies[zone].reads -= 1;
                for (n, at) in places.iter().enumerate() {
                    if completion.has_failed(n) {
                        context.host.unread(command, *at);
                    } else {
                        context.host.commands.get_mut(command).found[*at as usize] = completion.found[n];
                    }
                }
                context.host.finish_part(command, context.calendar.now());
                self.run_jobs(zone, context);
            }
            Work::Reset { zone } => {
                self.on_reset_done(zone, completion.failure.is_some(), context);
            }
            Work::Close { zone } => self.on_close_done(zone, context),
            Work::Flush { command, told } => {
                self.finish_flush((command, told), completion, context.host, context.calendar.now());
            }
        }
    }
}
