//! A host FTL modelled on pblk, the FTL for open-channel SSDs in Linux 4.12 to 5.14: a block device on top of
//! any physical device.
//!
//! Pages written by the host, and valid pages read from victim lines, enter a ring buffer and are written
//! from there to the open *line*: the chunks with one number, one of each parallel unit. A line begins with
//! smeta, which holds its sequence number, and ends with emeta, which lists its pages, so that the L2P map
//! can be rebuilt after a power cut. A rate limiter divides the ring between host and GC.
//!
//! `docs/pblk.md` describes the mechanisms, which of them are pblk's, and the differences.

mod audit;
mod block_device;
mod collector;
mod config;
mod contents;
mod durable;
mod ended;
mod explained;
mod filling;
mod front;
mod laying;
mod layout;
mod limiter;
mod lines;
mod map;
mod metrics;
mod port;
mod recovery;
mod ring;
mod writer;

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Digest, Duration, Schedule, state};
use wordline_ssd::physical_device::Answer;
use wordline_ssd::{PhysicalDevice, SECTOR};

pub use collector::CollectorFile;
pub use config::{PblkConfig, PblkFile};
pub(crate) use config::{Sizes, check_host, check_places, command_time};
pub use layout::Layout;
pub use metrics::{Counts, Mark, all as metrics};
pub(crate) use writer::OPEN_LINES;

use collector::Collector;
use contents::Followed;
use durable::Durable;
use explained::Explainer;
use front::Front;
use limiter::Limiter;
use lines::Lines;
use map::Map;
use port::{Port, Sent, Work};
use recovery::{Power, Recovery};
use ring::Ring;
use writer::Writer;

use crate::recorded::Recorder;

/// Events of the FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of its device.
    Device(E),
    /// The host command with this number completes.
    Answer(u32),
}

/// A host FTL over a physical device.
pub struct Pblk<D> {
    layout: Layout,
    /// Host time per command, in addition to the device time.
    command_time: Duration,
    sectors_of_a_page: u64,
    port: Port<D>,
    map: Map,
    ring: Ring,
    limiter: Limiter,
    lines: Lines,
    writer: Writer,
    collector: Collector,
    front: Front,
    durable: Durable,
    recovery: Recovery,
    counts: Counts,
    digest: Digest,
    followed: Option<Box<Followed>>,
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
            map: Map::new(layout.pages),
            ring: Ring::new(&layout),
            limiter: Limiter::new(&layout),
            lines: Lines::new(layout, |chunk| device.report(chunk).state),
            writer: Writer::new(&layout),
            collector: Collector::new(collector),
            front: Front::new(),
            durable: Durable::new(device.geometry().capabilities.volatile_writes),
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

    /// Its layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The counters since it was made.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Over the closed lines that are not being collected, the candidates of GC: their valid logical blocks,
    /// their logical blocks for data, and their number.
    pub fn closed_lines(&self) -> [u64; 3] {
        self.lines.closed()
    }

    /// Valid logical blocks of each of these lines.
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

    /// Runs every activity that is possible now, until none makes progress: device completions, GC, host
    /// writes, flushes.
    fn go_on(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.note_time(calendar.now());
        loop {
            let mut any = self.take_answers(calendar);
            any |= self.collect(calendar);
            any |= self.admit(calendar);
            any |= self.write_out(calendar);
            any |= self.make_durable(calendar);
            any |= self.end_flushes(calendar);
            if !any && !self.break_stall(calendar) {
                return self.note_reasons();
            }
        }
    }

    /// Submits a command to the device. It keeps references on its lines until it completes.
    fn send(&mut self, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) {
        for place in &sent.places {
            self.lines.refer(self.layout.line_of(*place));
        }
        if let Err(sent) = self.port.send(sent, &self.layout, &mut calendar.within(Event::Device)) {
            for place in &sent.places {
                self.lines.release(self.layout.line_of(*place));
            }
            self.refused(sent, calendar);
        }
    }

    /// Processes notifications and completions of the device. Returns whether there were any.
    fn take_answers(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.port.has_news() {
            return false;
        }
        self.take_notifications();
        let answers = self.port.take_answers();
        for answer in &answers {
            let sent = self.port.take(answer);
            self.note_told(answer.tag);
            self.answered(answer, sent, calendar);
        }
        self.port.give_answers_back(answers);
        self.note_refusals();
        while let Some((answer, sent)) = self.port.take_failed() {
            self.answered(&answer, sent, calendar);
        }
        self.sync();
        true
    }

    /// Completes a device command.
    fn answered(&mut self, answer: &Answer, sent: Sent, calendar: &mut impl Schedule<Event<D::Event>>) {
        for place in &sent.places {
            self.lines.release(self.layout.line_of(*place));
        }
        match sent.work {
            Work::Data => self.data_written(answer, &sent),
            Work::Smeta(line) => self.smeta_written(line, answer, &sent),
            Work::Emeta(line) => self.emeta_written(line, answer, &sent),
            Work::Reset(line) => self.chunk_reset(line, answer, &sent),
            Work::Close(line) => self.reset_closed(line, &sent, calendar),
            Work::Read(number) => self.host_read(number, answer, &sent, calendar),
            Work::List(line) => self.list_read(line, answer),
            Work::Collect(line) => self.pages_read(line, answer, &sent),
            Work::Pad => {}
            Work::Scan => self.scanned(answer, &sent.places),
            Work::Flush => self.flushed(answer),
        }
        self.port.give_back(sent);
    }

    /// Breaks a stall: nothing is in flight, and requests wait. Writes units that waited for more data as
    /// they are, and evicts entries that are in flash from the ring. Returns whether anything was done.
    fn break_stall(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.port.is_idle() || !self.front.waits() {
            return false;
        }
        self.write_emeta(None, calendar)
            || self.make_durable(calendar)
            || self.ring.waiting() > 0 && self.writer.force(self.ring.head())
            || self.leave_ring()
    }
}
