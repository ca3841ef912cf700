//! A host FTL modelled on pblk, the FTL for open-channel SSDs in Linux 4.12 to 5.14. It is a block device on
//! top of any physical device.
//!
//! Pages written by the host, and valid pages read from victim lines, enter a ring buffer. From there they
//! are written to the open *line*: the chunks with the same number in all parallel units. A line begins with
//! smeta, which has its sequence number. It ends with emeta, which lists its pages, so that a recovery can
//! rebuild the L2P map. A rate limiter divides the ring between host and GC.
//!
//! `docs/pblk.md` describes the mechanisms, and where they differ from pblk.

mod attribution;
mod audit;
mod block_device;
mod collector;
mod config;
mod direct_fill;
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
mod rejections;
mod ring;
mod tracked;
mod writer;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::Completion;
use wordline_device::{PhysicalDevice, SECTOR};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Digest, Duration, Schedule, state};

pub use collector::CollectorFile;
pub use config::{PblkConfig, PblkFile};
pub(crate) use config::{Sizes, check_host, check_places, command_time};
pub use layout::Layout;
pub use metrics::{Counts, Mark, all as metrics};
pub(crate) use writer::OPEN_LINES;

use attribution::Explainer;
use collector::Collector;
use flush::FlushTracker;
use frontend::HostFrontend;
use l2p::L2pMap;
use limiter::Limiter;
use lines::Lines;
use port::{Port, Purpose, Sent};
use recovery::{Power, Recovery};
use ring::Ring;
use tracked::TrackedContents;
use writer::Writer;

use crate::recorder::Recorder;

/// Events of the FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of its device.
    Device(E),
    /// The host command with this number completes.
    Completion(u32),
}

/// A host FTL over a physical device.
pub struct Pblk<D> {
    layout: Layout,
    /// Host time per command, in addition to the device time.
    command_time: Duration,
    sectors_of_a_page: u64,
    port: Port<D>,
    map: L2pMap,
    ring: Ring,
    limiter: Limiter,
    lines: Lines,
    writer: Writer,
    collector: Collector,
    front: HostFrontend,
    durable: FlushTracker,
    recovery: Recovery,
    counts: Counts,
    digest: Digest,
    followed: Option<Box<TrackedContents>>,
    /// Logical blocks for data in lines that were collected, or freed without collection.
    victim_pages: u64,
    /// `None` unless latencies are explained.
    explainer: Option<Box<Explainer>>,
    recorder: Recorder,
}

state!(Pblk<D: State> {
    values { counts, digest }
    parts { port, map, ring, limiter, lines, writer, collector, front, durable, recovery }
    fixed { layout, command_time, sectors_of_a_page, followed, victim_pages, explainer, recorder }
});

impl<D: PhysicalDevice> Pblk<D> {
    /// A new FTL on a device without written data.
    pub fn new(device: D, layout: Layout, command_time: Duration, collector: CollectorFile) -> Self {
        let mut pblk = Self {
            command_time,
            sectors_of_a_page: device.geometry().block_size.0 / SECTOR.0,
            map: L2pMap::new(layout.pages),
            ring: Ring::new(&layout),
            limiter: Limiter::new(&layout),
            lines: Lines::new(layout, |chunk| device.report(chunk).state),
            writer: Writer::new(&layout),
            collector: Collector::new(collector),
            front: HostFrontend::new(),
            durable: FlushTracker::new(device.geometry().capabilities.volatile_writes),
            recovery: Recovery::new(),
            counts: Counts::default(),
            digest: Digest::default(),
            followed: None,
            victim_pages: 0,
            explainer: None,
            recorder: Recorder::default(),
            port: Port::new(device),
            layout,
        };
        pblk.update_limiter();
        pblk
    }

    /// The device below.
    pub fn device(&self) -> &D {
        &self.port.device
    }

    /// The layout of the FTL.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The counters since the FTL was made.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// For the closed lines that are not being collected, the candidates of GC: their valid logical blocks,
    /// their logical blocks for data, and their number.
    pub fn closed_lines(&self) -> [u64; 3] {
        self.lines.closed()
    }

    /// Valid logical blocks of each closed line that is not being collected.
    pub fn valid_in_closed_lines(&self) -> Vec<u32> {
        self.lines.valid_in_closed().collect()
    }

    /// Chunks of free lines.
    pub fn free_chunks(&self) -> u32 {
        self.lines.free_chunks()
    }

    fn update_limiter(&mut self) {
        self.limiter.update(self.lines.free_chunks(), self.lines.failed_lines());
    }

    /// Runs every activity that is possible now, until no activity makes progress: device completions, GC,
    /// host writes and flushes.
    fn make_progress(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.note_time(calendar.now());
        loop {
            let mut any = self.take_completions(calendar);
            any |= self.collect(calendar);
            any |= self.admit(calendar);
            any |= self.write_pending(calendar);
            any |= self.send_flush(calendar);
            any |= self.complete_flushes(calendar);
            if !any && !self.break_stall(calendar) {
                return self.note_wait_reasons();
            }
        }
    }

    /// Submits a command to the device. The command keeps references on its lines until it completes.
    fn send(&mut self, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) {
        for place in &sent.places {
            self.lines.add_reference(self.layout.line_of(*place));
        }
        if let Err(sent) = self.port.send(sent, &self.layout, &mut calendar.within(Event::Device)) {
            for place in &sent.places {
                self.lines.drop_reference(self.layout.line_of(*place));
            }
            self.refused(sent, calendar);
        }
    }

    /// Processes notifications and completions of the device. Returns whether there were any.
    fn take_completions(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.port.has_events() {
            return false;
        }
        self.take_notifications();
        let completions = self.port.take_completions();
        for completion in &completions {
            let sent = self.port.take(completion);
            self.note_device_completion(completion.tag);
            self.handle_completion(completion, sent, calendar);
        }
        self.port.recycle_completions(completions);
        self.note_rejections();
        while let Some((completion, sent)) = self.port.take_failed() {
            self.handle_completion(&completion, sent, calendar);
        }
        self.sync();
        true
    }

    /// Completes a device command.
    fn handle_completion(
        &mut self,
        completion: &Completion,
        sent: Sent,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        for place in &sent.places {
            self.lines.drop_reference(self.layout.line_of(*place));
        }
        match sent.work {
            Purpose::Data => self.complete_data_write(completion, &sent),
            Purpose::Smeta(line) => self.complete_smeta_write(line, completion, &sent),
            Purpose::Emeta(line) => self.complete_emeta_write(line, completion, &sent),
            Purpose::Reset(line) => self.complete_chunk_reset(line, completion, &sent),
            Purpose::Close(line) => self.reset_after_close(line, &sent, calendar),
            Purpose::Read(number) => self.complete_host_read(number, completion, &sent, calendar),
            Purpose::List(line) => self.complete_emeta_read(line, completion),
            Purpose::Collect(line) => self.pages_read(line, completion, &sent),
            Purpose::Pad => {}
            Purpose::Scan => self.complete_scan(completion, &sent.places),
            Purpose::Flush => self.complete_flush(completion),
        }
        self.port.recycle(sent);
    }

    /// Breaks a stall, in which host commands wait and nothing is in flight. Pads and writes strips that wait
    /// for more data, and evicts ring entries that are in flash. Returns whether anything was done.
    fn break_stall(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.port.is_idle() || !self.front.has_waiting() {
            return false;
        }
        self.write_emeta(None, calendar)
            || self.send_flush(calendar)
            || self.ring.waiting() > 0 && self.writer.force(self.ring.head())
            || self.evict_oldest()
    }
}
