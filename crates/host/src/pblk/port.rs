//! The commands to the device that are in flight, and what each is for.

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Schedule, state};
use wordline_nand::Stamp;
use wordline_ssd::PhysicalDevice;
use wordline_ssd::physical_device::{Answer, Command, LogicalBlock};

use super::layout::{Layout, LineId, Place};

/// The position, in a write, of a logical block of padding.
pub(super) const PADDING: u64 = u64::MAX;

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Work {
    /// Writes entries of the ring.
    Data,
    Smeta(LineId),
    Emeta(LineId),
    /// Resets a chunk of the line that is made ready.
    Reset(LineId),
    /// Reads for a request.
    Read(u32),
    /// Reads the emeta of a line that is collected.
    List(LineId),
    /// Reads valid pages of a line that is collected.
    Collect(LineId),
    /// Pads a chunk after a power cut.
    Pad,
    /// Reads after a power cut.
    Scan,
}

/// A command in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) work: Work,
    pub(super) places: Vec<Place>,
    /// The positions in the ring of what a write of data writes.
    pub(super) positions: Vec<u64>,
    /// Stamps to write, or that a read has to find, at each place.
    pub(super) stamps: Vec<Stamp>,
}

/// The device, and the commands that it has.
pub(super) struct Port<D> {
    pub(super) device: D,
    /// By tag.
    slots: Vec<Option<Sent>>,
    free: Vec<u32>,
    spare: Vec<Sent>,
    blocks: Vec<LogicalBlock>,
}

state!(Port<D: State> {
    values { slots, free }
    parts { device }
    fixed { spare, blocks }
});

impl<D: PhysicalDevice> Port<D> {
    pub(super) fn new(device: D) -> Self {
        Self { device, slots: Vec::new(), free: Vec::new(), spare: Vec::new(), blocks: Vec::new() }
    }

    /// A command without places.
    pub(super) fn blank(&mut self, work: Work) -> Sent {
        let empty = || Sent { work, places: Vec::new(), positions: Vec::new(), stamps: Vec::new() };
        let mut sent = self.spare.pop().unwrap_or_else(empty);
        sent.work = work;
        sent.places.clear();
        sent.positions.clear();
        sent.stamps.clear();
        sent
    }

    /// A command is done with: its memory is used again.
    pub(super) fn give_back(&mut self, sent: Sent) {
        self.spare.push(sent);
    }

    /// Sends a command that breaks no rule: a reset, a write where it has stamps, a read else.
    pub(super) fn send(&mut self, sent: Sent, layout: &Layout, calendar: &mut impl Schedule<D::Event>) {
        self.locate(&sent.places, layout);
        let tag = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        let command = match sent.work {
            Work::Data | Work::Smeta(_) | Work::Emeta(_) | Work::Pad => {
                Command::write(tag, &self.blocks, &sent.stamps)
            }
            Work::Reset(_) => Command::reset(tag, &self.blocks),
            Work::Read(_) | Work::List(_) | Work::Collect(_) | Work::Scan => Command::read(tag, &self.blocks),
        };
        self.device
            .submit(&command, calendar)
            .unwrap_or_else(|refusal| panic!("pblk broke a rule of its device: {refusal}"));
        self.slots[tag as usize] = Some(sent);
    }

    /// The logical blocks of places, into a list that is used again. Places side by side in a strip are so in their chunk.
    fn locate(&mut self, places: &[Place], layout: &Layout) {
        self.blocks.clear();
        let mut before: Option<(Place, LogicalBlock)> = None;
        for place in places {
            let block = match before {
                Some((last, at)) if place.0 == last.0 + 1 && !place.0.is_multiple_of(layout.strip) => {
                    at.chunk.at(at.block + 1)
                }
                _ => layout.block(*place),
            };
            before = Some((*place, block));
            self.blocks.push(block);
        }
    }

    /// How many answers there are.
    pub(super) fn answers(&self) -> usize {
        self.device.answers().len()
    }

    /// An answer, and what it is an answer to.
    pub(super) fn take(&mut self, at: usize) -> (Answer, Sent) {
        let answer = self.device.answers()[at].clone();
        self.free.push(answer.tag);
        let sent = self.slots[answer.tag as usize].take().expect("a command is answered once");
        (answer, sent)
    }

    /// All answers were taken.
    pub(super) fn forget_answers(&mut self) {
        self.device.forget_answers();
        self.device.forget_notifications();
    }

    /// Whether no command is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// The commands in flight.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Sent> {
        self.slots.iter().flatten()
    }

    /// Nothing is in flight any more.
    pub(super) fn forget(&mut self) {
        self.slots.clear();
        self.free.clear();
    }

    /// Whether the free tags are those of no command.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_free = |tag: &u32| matches!(self.slots.get(*tag as usize), Some(None));
        let free = self.slots.iter().filter(|slot| slot.is_none()).count();
        let mut tags = self.free.clone();
        tags.sort_unstable();
        tags.dedup();
        if tags.len() != free || self.free.len() != free || !tags.iter().all(is_free) {
            return Err("tags of commands that are free and in use".into());
        }
        Ok(())
    }
}
