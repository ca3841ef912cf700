//! A host FTL modelled on pblk, the FTL for open-channel SSDs in Linux 4.12 to 5.14. It is a block device on
//! top of any physical device.
//!
//! Pages written by the host, and valid pages read from victim lines, enter a ring buffer. From there they
//! are written to the open *line*: the chunks with the same number in all parallel units. A line begins with
//! smeta, which has its sequence number. It ends with emeta, which lists its pages, so that a recovery can
//! rebuild the L2P map. A rate limiter divides the ring between host and GC.
//!
//! `docs/pblk.md` describes the mechanisms, and where they differ from pblk.
//!
//! The parts own their state. Each is handed what it uses of the parts before it:
//!
//! 1. `flash`: the device with the commands in flight (`port`), its `lines`, and the rate `limiter`;
//! 2. `buffer`: the L2P map and the ring; `flush`: the flushes of the device;
//! 3. `frontend`: the host commands;
//! 4. `writer`, `collector` and `recovery`.
//!
//! [`Pblk`] is their sum, and the order in which they work.

mod attribution;
mod audit;
mod block_device;
mod buffer;
mod collector;
mod config;
mod counts;
mod direct_fill;
mod flash;
mod flush;
mod frontend;
mod l2p;
mod layout;
mod limiter;
mod lines;
mod metrics;
mod port;
mod precondition;
mod recovery;
mod requests;
mod ring;
mod state;
mod writer;

use wordline_device::PhysicalDevice;
use wordline_device::content::TrackedContents;
use wordline_device::physical_device::{Chunk, Completion, Notice};
use wordline_kernel::{Digest, Duration, Schedule};

pub use collector::CollectorFile;
pub use config::{PblkConfig, PblkFile};
pub(crate) use config::{Sizes, check_command_time, check_host, check_places, command_time};
pub use counts::Counts;
pub use layout::Layout;
pub use metrics::{Mark, all as metrics};
pub use port::Event;
pub(crate) use writer::OPEN_LINES;

use attribution::Attribution;
use buffer::Buffer;
use collector::Collector;
use flash::Flash;
use flush::FlushTracker;
use frontend::HostFrontend;
use layout::LineId;
use port::{Purpose, Sent};
use recovery::{Power, Recovery};
use ring::Origin;
use writer::Writer;

use crate::recorder::Recorder;

/// A host FTL over a physical device.
pub struct Pblk<D> {
    /// The device, its lines, and the rate limiter.
    flash: Flash<D>,
    /// The L2P map and the ring.
    buffer: Buffer,
    durable: FlushTracker,
    front: HostFrontend,
    writer: Writer,
    collector: Collector,
    recovery: Recovery,
    digest: Digest,
    tracked: Option<Box<TrackedContents>>,
    attribution: Attribution,
    recorder: Recorder,
}

impl<D: PhysicalDevice> Pblk<D> {
    /// A new FTL on a device without written data.
    pub fn new(device: D, layout: Layout, command_time: Duration, collector: CollectorFile) -> Self {
        Self {
            buffer: Buffer::new(&layout),
            durable: FlushTracker::new(device.geometry().capabilities.volatile_writes),
            front: HostFrontend::new(device.geometry().block_size, command_time),
            writer: Writer::new(&layout),
            collector: Collector::new(collector),
            recovery: Recovery::new(),
            digest: Digest::default(),
            tracked: None,
            attribution: Attribution::default(),
            recorder: Recorder::default(),
            flash: Flash::new(device, layout),
        }
    }

    /// The device below.
    pub fn device(&self) -> &D {
        self.flash.device()
    }

    /// The layout of the FTL.
    pub fn layout(&self) -> &Layout {
        &self.flash.layout
    }

    /// The counters since the FTL was made.
    pub fn counts(&self) -> &Counts {
        &self.flash.counts
    }

    /// For each closed line that is not being collected, a candidate of GC: its valid logical blocks, and its
    /// logical blocks for data.
    pub fn closed_lines(&self) -> impl Iterator<Item = [u32; 2]> {
        self.flash.lines.closed()
    }

    /// Chunks of free lines.
    pub fn free_chunks(&self) -> u32 {
        self.flash.lines.free_chunks()
    }

    /// Runs every activity that is possible now, until no activity makes progress: device completions, GC,
    /// host writes and flushes.
    fn make_progress(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.attribution.note_time(calendar.now());
        loop {
            let mut any = self.take_completions(calendar);
            any |= self.collector.collect(&mut self.flash, &mut self.buffer, &self.durable, calendar);
            any |= self.admit(calendar);
            let Self { flash, buffer, durable, front, writer, collector, .. } = &mut *self;
            if collector.has_moved_stranded(&flash.lines) {
                // Flushes wait for the last pages of the stranded lines.
                any |= writer.force(buffer.ring.head());
            }
            any |= writer.write_pending(flash, buffer, front, durable, calendar);
            any |= self.send_flush(calendar);
            any |= self.complete_flushes(calendar);
            if !any && !self.break_stall(calendar) {
                break;
            }
        }
        self.wake_when_silent(calendar);
        let (waiting, has_line) = (self.front.waiting(), self.writer.has_line());
        self.attribution.note_wait_reasons(waiting, &self.buffer.ring, &self.flash.limiter, has_line);
    }

    /// If pages of GC wait until the host is silent, schedules the time from which it is.
    fn wake_when_silent(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let held = self.buffer.ring.of(Origin::Collector);
        let time = match self.collector.has_batches() {
            true => self.flash.limiter.schedule_silence(held, calendar.now()),
            false => None,
        };
        time.into_iter().for_each(|time| calendar.at(time, Event::Silence));
    }

    /// Processes notifications and completions of the device. Returns whether there were any.
    fn take_completions(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.flash.port.has_events() {
            return false;
        }
        self.take_notifications();
        let completions = self.flash.port.take_completions();
        for completion in &completions {
            let sent = self.flash.port.take(completion);
            self.attribution.note_device_completion(completion.tag, &mut self.flash.port.device);
            self.handle_completion(completion, sent, calendar);
        }
        self.flash.port.recycle_completions(completions);
        self.attribution.note_rejections();
        while let Some((completion, sent)) = self.flash.port.take_failed() {
            self.handle_completion(&completion, sent, calendar);
        }
        self.buffer.sync(&mut self.flash.lines);
        true
    }

    /// Completes a device command.
    fn handle_completion(
        &mut self,
        completion: &Completion,
        sent: Sent,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let Self { flash, buffer, durable, front, writer, collector, recovery, .. } = self;
        flash.release(&sent);
        match sent.work {
            Purpose::Data => writer.complete_data_write(completion, &sent, flash, &mut buffer.ring),
            Purpose::Smeta(line) => writer.complete_smeta_write(line, completion, &sent, flash),
            Purpose::Emeta(line) => writer.complete_emeta_write(line, completion, &sent, flash),
            Purpose::Reset(line) => writer.complete_chunk_reset(line, completion, &sent, flash),
            Purpose::Close(line) => flash.reset_after_close(line, &sent, calendar),
            Purpose::Read(number) => {
                if front.complete_read(number, completion, &sent) {
                    self.attribution.note_read(number);
                    front.schedule_completion(number, calendar);
                }
            }
            Purpose::List(line) => collector.complete_emeta_read(line, completion, &mut flash.counts),
            Purpose::Collect(line) => collector.pages_read(line, completion, &sent, flash),
            Purpose::Pad => {}
            Purpose::Scan => recovery.complete_scan(completion, &sent.places),
            Purpose::Flush => durable.complete(completion),
        }
        flash.port.recycle(sent);
    }

    /// Handles the notifications of the device.
    fn take_notifications(&mut self) {
        let count = self.flash.device().notifications().len();
        for at in 0..count {
            let notification = self.flash.device().notifications()[at];
            let chunk = notification.first.chunk;
            match notification.notice {
                Notice::EarlyClose => self.mark_chunk_ended(chunk, false),
                Notice::Offline => self.mark_chunk_ended(chunk, true),
                Notice::HighErrorRate | Notice::Unrecovered => {}
            }
        }
        self.flash.port.device.clear_notifications();
    }

    /// Marks a chunk that takes no more writes. GC collects its line before others.
    fn mark_chunk_ended(&mut self, chunk: Chunk, is_offline: bool) {
        let (line, unit) = (LineId(chunk.chunk), self.flash.layout.unit_of_chunk(chunk));
        // For a chunk under reset, the completion of the reset reports the state.
        if self.writer.next_line() == Some(line) || !self.flash.lines.mark_ended(line, unit, is_offline) {
            return;
        }
        if is_offline && self.device().geometry().capabilities.volatile_writes {
            // No data of the line count as non-volatile until all of them are relocated. So the line ends
            // now.
            self.flash.lines.strand(line);
            self.durable.mark_spoilt();
            self.writer.end_line(line);
        }
        self.flash.update_limiter();
    }

    /// Sends a flush if a command, a line or emeta needs one and the flush can succeed. Returns whether it
    /// sent one.
    fn send_flush(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let (flash, durable) = (&mut self.flash, &mut self.durable);
        if !durable.can_begin() || flash.lines.has_stranded() {
            return false;
        }
        let synced = self.buffer.ring.synced();
        let waits = self.front.needs_flush(durable.covered(synced), synced)
            || durable.waits_for(self.writer.wanted_point())
            || durable.waits_for(flash.lines.wanted_point());
        if !waits {
            return false;
        }
        durable.begin(synced);
        flash.counts.flushes += 1;
        let sent = flash.port.new_command(Purpose::Flush);
        flash.send(sent, calendar);
        true
    }

    /// Breaks a stall, in which host commands wait and nothing is in flight. Pads and writes strips that wait
    /// for more data, and evicts ring entries that are in flash. Returns whether anything was done.
    fn break_stall(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.flash.port.is_idle() || !self.front.has_waiting() {
            return false;
        }
        self.writer.write_emeta(None, &mut self.flash, &self.durable, calendar)
            || self.send_flush(calendar)
            || self.buffer.ring.waiting() > 0 && self.writer.force(self.buffer.ring.head())
            || self.buffer.evict_oldest(&self.flash)
    }

    /// Advances the recovery as far as possible.
    fn advance_recovery(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let Power::Back(since) = self.recovery.power else { return };
        while self.flash.device().is_ready() {
            self.take_completions(calendar);
            if !self.flash.port.is_idle() {
                return;
            }
            let (flash, map) = (&mut self.flash, &mut self.buffer.map);
            if self.recovery.step(flash, map, calendar) {
                self.recovery.finish(flash, map, self.durable.point(), calendar.now() - since);
                return self.make_progress(calendar);
            }
        }
    }
}
