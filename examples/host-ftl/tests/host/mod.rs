//! A host for the tests, which models its writes and checks every completion.

#![allow(missing_docs)]

use std::collections::BTreeMap;

use host_ftl::{Event, HostFtl, HostFtlType};
use wordline_device::content::{Content, FILLED, ZEROES};
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::{Calendar, Instant, Schedule, Seed};
use wordline_lab::devices::{DeviceType, Registry};
use wordline_lab::{Device, Selection};
use wordline_open_channel::{OpenChannel, device as open_channel};

pub const SECTORS: u64 = 8;

/// A host FTL over a few small SLC chips, with these settings on top.
pub fn device(set: &[&str]) -> HostFtlType {
    let small = [
        "open_channel.part=femu-slc",
        "open_channel.part.geometry.blocks_per_plane=12",
        "open_channel.part.geometry.pages_per_block=8",
        "open_channel.part.geometry.page_size=4KiB",
        "over_provisioning=0.5",
        "buffer=32KiB",
    ];
    preset(&[&small[..], set].concat())
}

/// The host FTL of the preset, with these settings on top.
pub fn preset(set: &[&str]) -> HostFtlType {
    let set = set.iter().map(|set| (*set).to_owned()).collect();
    let selection = Selection { preset: Some("host-ftl".into()), file: None, set };
    let registry = Registry::default().with::<HostFtlType>();
    let device = Device::load_of(&registry, &selection).unwrap_or_else(|wrong| panic!("{wrong}"));
    device.configured.as_any().downcast_ref::<HostFtlType>().expect("it is one").clone()
}

/// Possible contents of a page: the content of the last completed write, and the tags of writes in flight.
#[derive(Clone)]
struct Known {
    settled: Vec<Content>,
    pending: Vec<u32>,
    /// Possible contents after a power cut: those at the last flush, and those written since.
    since_flush: Vec<Content>,
}

pub struct Host {
    pub device: HostFtl<OpenChannel>,
    pub calendar: Calendar<Event<open_channel::Event>>,
    pages: Vec<Known>,
    sent: BTreeMap<u32, (Command, Vec<Vec<Content>>)>,
    tag: u32,
    pub may_fail: bool,
    pub failed: u32,
}

impl Host {
    pub fn new(device: &HostFtlType) -> Self {
        let mut device = device.build(Seed(1));
        device.follow_contents();
        let pages = (device.shape().namespaces[0] / SECTORS) as usize;
        let known = Known { settled: vec![ZEROES], pending: Vec::new(), since_flush: vec![ZEROES] };
        Self {
            device,
            calendar: Calendar::new(),
            pages: vec![known; pages],
            sent: BTreeMap::new(),
            tag: 0,
            may_fail: false,
            failed: 0,
        }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Fills all pages before the run.
    pub fn fill(&mut self) {
        assert!(self.device.fill_while(1.0, &mut |_| true));
        for known in &mut self.pages {
            *known = Known { settled: vec![FILLED], pending: Vec::new(), since_flush: vec![FILLED] };
        }
    }

    /// Contents of a page that are possible now.
    fn allowed(&self, page: usize) -> Vec<Content> {
        let Known { settled, pending, .. } = &self.pages[page];
        settled.iter().copied().chain(pending.iter().map(|tag| Content::of(*tag))).collect()
    }

    pub fn submit(&mut self, operation: Operation, fua: bool, page: u32, pages: u32) {
        self.tag += 1;
        let page = page % self.pages();
        let pages = pages.min(self.pages() - page);
        let (sector, sectors) = match operation {
            Operation::Flush => (0, 0),
            _ => (u64::from(page) * SECTORS, u64::from(pages) * SECTORS),
        };
        let command = Command { operation, fua, sector, sectors, tag: self.tag, ..Command::default() };
        let covered = page as usize..(page + pages) as usize;
        let allowed = match operation {
            Operation::Read => covered.clone().map(|page| self.allowed(page)).collect(),
            _ => Vec::new(),
        };
        for page in covered {
            let known = &mut self.pages[page];
            match operation {
                Operation::Write => {
                    known.pending.push(self.tag);
                    known.since_flush.push(Content::of(self.tag));
                }
                // A discard completes at once if no other command is outstanding.
                Operation::Discard => known.settled = vec![ZEROES],
                _ => {}
            }
        }
        self.sent.insert(self.tag, (command, allowed));
        self.device.submit(command, &mut self.calendar);
        self.take_completions();
    }

    fn take_completions(&mut self) {
        let completions = self.device.completions().to_vec();
        self.device.clear_completions();
        for completion in completions {
            let (command, allowed) = self.sent.remove(&completion.command.tag).expect("it was sent");
            assert!(!completion.failed || self.may_fail, "{command:?} failed");
            self.failed += u32::from(completion.failed);
            let first = (command.sector / SECTORS) as usize;
            let covered = first..first + (command.sectors / SECTORS) as usize;
            match command.operation {
                Operation::Read if !completion.failed => {
                    let found = self.device.take_contents(command.tag).expect("contents are followed");
                    for (n, page) in covered.enumerate() {
                        let found = &found[n * SECTORS as usize..][..SECTORS as usize];
                        let is_right = found.iter().all(|content| allowed[n].contains(content));
                        assert!(is_right, "page {page} holds {found:?}, wanted one of {:?}", allowed[n]);
                    }
                }
                Operation::Write => {
                    for page in covered {
                        let known = &mut self.pages[page];
                        known.pending.retain(|tag| *tag != command.tag);
                        let content = Content::of(command.tag);
                        match completion.failed {
                            true => known.settled.push(content),
                            false => known.settled = vec![content],
                        }
                    }
                }
                Operation::Flush if !completion.failed && self.sent.is_empty() => {
                    for known in &mut self.pages {
                        known.since_flush.clone_from(&known.settled);
                    }
                }
                _ => {}
            }
        }
    }

    pub fn run_down_to(&mut self, outstanding: usize) {
        while self.device.outstanding() > outstanding {
            match self.calendar.advance() {
                Some(event) => self.device.handle(event, &mut self.calendar),
                None => {
                    let gave_up = self.device.give_up(&mut self.calendar);
                    assert!(
                        gave_up && self.may_fail,
                        "{}",
                        self.device.describe_outstanding(self.calendar.now())
                    );
                }
            }
            self.take_completions();
        }
    }

    pub fn go_on(&mut self, events: usize) {
        for _ in 0..events {
            let Some(event) = self.calendar.advance() else { return };
            self.device.handle(event, &mut self.calendar);
            self.take_completions();
        }
    }

    /// Cuts the power. A page then has its content at the last flush, or one written since.
    pub fn cut_power(&mut self) {
        self.device.power_cut(self.calendar.now());
        self.sent.clear();
        self.calendar.clear();
        self.device.recover(&mut self.calendar);
        while !self.device.is_ready() {
            let event = self.calendar.advance().expect("a recovery is under way");
            self.device.handle(event, &mut self.calendar);
        }
        for known in &mut self.pages {
            known.pending.clear();
            known.settled.clone_from(&known.since_flush);
        }
    }

    /// Reads every page.
    pub fn read_all(&mut self) {
        self.run_down_to(0);
        for page in (0..self.pages()).step_by(32) {
            self.submit(Operation::Read, false, page, 32);
        }
        self.run_down_to(0);
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }
}
