//! A target: the legal order of cycles, and the LUN that they address. The cycles latched since the last
//! complete command form a phrase. They are legal while the phrase is a prefix of a line of the grammar.

use std::rc::Rc;

use wordline_nand::interface::{BusTiming, Interface};

use super::facts::Facts;
use super::lun::{Activity, Lun, Page, Refused, UNKNOWN};
use super::pins::Edges;

/// Commands as lines: bytes in hexadecimal, `.` for an address cycle, `#` for a byte of a feature. The second
/// word is the state in which a command may be sent:
///
/// * `idle`: the LUN is idle;
/// * `reads`, `writes`: the LUN is idle, or its array reads or programs behind the cache register;
/// * `ready`: the LUN accepts a command;
/// * `all`: every LUN is idle;
/// * `any`: always.
///
/// The sequences follow barebox `nand_base.c` and the ONFI headers of Xilinx. The states follow the data
/// sheets of Hynix H27(U_S)4G8_6F2D and Micron M40A and, from memory, ONFI.
#[rustfmt::skip]
const GRAMMAR: [(&str, &str); 45] = [
    ("00.....30", "idle"), ("00.....32", "reads"), ("00.....35", "idle"), ("00.....31", "reads"),
    ("00.....3e", "reads"), ("00.....05..e0", "reads"), ("05..e0", "reads"), ("06.....e0", "reads"),
    ("31", "reads"), ("3f", "reads"), ("60...d0", "idle"), ("60...d1", "idle"), ("70", "any"),
    ("78...", "any"), ("80.....10", "writes"), ("80.....11", "writes"), ("80.....15", "writes"),
    ("80.....1a", "writes"), ("85.....10", "idle"), ("85.....11", "idle"), ("90.", "all"), ("ec.", "all"),
    ("ed.", "all"), ("ee.", "all"), ("ef.####", "all"), ("d4..", "idle"), ("d5..####", "idle"),
    ("fa...", "any"), ("fc", "any"), ("ff", "any"), ("e1.", "any"), ("e2.####", "all"), ("f9.", "idle"),
    ("d9.", "idle"), ("f2", "any"), ("f3", "any"), ("f4", "any"), ("f5", "any"), ("84...", "any"),
    ("13...", "idle"), ("61...", "any"), ("d2...", "idle"), ("a2", "ready"), ("a3", "ready"),
    ("a4", "ready"),
];

#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    Nothing,
    Register,
    Status,
    PlaneStatus(usize, usize),
    LunStatus(usize),
    Identity(u8),
    Bytes(Rc<Page>),
}

impl Output {
    pub fn is_status(&self) -> bool {
        matches!(self, Self::Status | Self::PlaneStatus(..) | Self::LunStatus(_))
    }
}

/// Begin and end of a cycle, and the time at which a command that it confirms makes the LUN busy.
#[derive(Clone, Copy, Debug)]
pub struct When {
    pub begin: u64,
    pub end: u64,
    pub busy_at: u64,
    pub protected: bool,
}

/// A program whose data are loaded.
#[derive(Clone, Copy, Debug)]
struct Loading {
    copyback: bool,
    lun: usize,
    place: (u32, u32),
    column: u32,
}

#[derive(Clone, Debug)]
pub struct Target {
    facts: Rc<Facts>,
    pub luns: Vec<Lun>,
    pub phrase: String,
    address: Vec<u8>,
    feature: Vec<u8>,
    prefix: Option<u8>,
    loading: Option<Loading>,
    /// The row of the sequence 00h, five addresses, 05h.
    row: Option<u32>,
    pub refused: bool,
    /// The LUN that the current cycle concerns.
    concerned: usize,
    /// The LUN that a rejected cycle concerned.
    blamed: usize,
    /// Whether targets begin in the power-on state.
    power_on: bool,
    /// Whether this target has had no reset since power-on.
    asleep: bool,
    pub selected: usize,
    pub output: Output,
    before: Output,
    /// Time until which the whole target is busy.
    pub held: u64,
    lost_status: bool,
    lost_data: bool,
    pub edges: Edges,
    /// Whether the last address cycle selected the volume.
    pub took_volume: bool,
    pub timing: BusTiming,
    /// The bytes that ECh and EDh return.
    pages: [Rc<Page>; 2],
}

type Done<T> = Result<T, Refused>;

fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    GRAMMAR.into_iter()
}

impl Target {
    pub fn new(
        facts: &Rc<Facts>,
        luns: Vec<Lun>,
        timing: BusTiming,
        pages: [Rc<Page>; 2],
        power_on: bool,
    ) -> Self {
        let mut target = Self {
            facts: Rc::clone(facts),
            luns,
            phrase: String::new(),
            address: Vec::new(),
            feature: Vec::new(),
            prefix: None,
            loading: None,
            row: None,
            refused: false,
            concerned: 0,
            blamed: 0,
            power_on,
            asleep: power_on,
            selected: 0,
            output: Output::Nothing,
            before: Output::Nothing,
            held: 0,
            lost_status: false,
            lost_data: false,
            edges: Edges::default(),
            took_volume: false,
            timing,
            pages,
        };
        target.wake();
        target
    }

    pub fn ready_at(&self) -> u64 {
        self.luns.iter().map(Lun::ready_at).fold(self.held, u64::max)
    }

    pub fn array_ready_at(&self) -> u64 {
        self.luns.iter().map(Lun::array_ready_at).fold(self.held, u64::max)
    }

    /// Begins a cycle. Within a command it concerns the LUN in the address.
    pub fn begin(&mut self) {
        if self.phrase.is_empty() || self.phrase == "00" {
            self.concerned = self.selected;
        }
    }

    pub fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// Records the rejection of a cycle.
    pub fn refuse(&mut self) {
        (self.refused, self.blamed) = (true, self.concerned);
        self.close();
    }

    fn close(&mut self) {
        self.phrase.clear();
        self.address.clear();
        self.feature.clear();
        (self.prefix, self.loading, self.row) = (None, None, None);
    }

    /// Whether LUN `lun` accepts a command of this class at `at`.
    fn takes(&self, lun: usize, class: &str, at: u64) -> bool {
        let activity = |lun: &Lun| if at < self.held { Activity::Busy } else { lun.activity(at) };
        let own = activity(&self.luns[lun]);
        match class {
            "any" => true,
            "all" => self.luns.iter().all(|lun| activity(lun) == Activity::Idle),
            "reads" => matches!(own, Activity::Idle | Activity::Reading),
            "ready" => own != Activity::Busy,
            "writes" => matches!(own, Activity::Idle | Activity::Programming),
            _ => own == Activity::Idle,
        }
    }

    /// Checks that the LUN accepts a command whose line begins with `begins`.
    fn require(&self, lun: usize, begins: &str, at: u64) -> Done<()> {
        let taken = lines().any(|(line, class)| line.starts_with(begins) && self.takes(lun, class, at));
        if taken { Ok(()) } else { Err("the LUN is busy") }
    }

    fn require_lun(&mut self, lun: usize) -> Done<usize> {
        if lun >= self.luns.len() {
            return Err("no such LUN");
        }
        self.concerned = lun;
        Ok(lun)
    }

    /// Checks that a number is even on an interface that transfers two bytes per strobe cycle.
    fn require_even(&self, number: u32) -> Done<()> {
        let odd = self.timing.interface.is_double_rate() && number % 2 == 1;
        if odd { Err("an odd number of bytes") } else { Ok(()) }
    }

    /// Whether the interface, or the number of LUNs, allows the optional command `code`.
    fn offers(&self, code: u8) -> bool {
        let own = self.facts.file.bus.interface;
        match code {
            0xe2 => own != Interface::Sdr && own != Interface::NvDdr,
            0xf9 | 0xd9 => matches!(own, Interface::NvDdr3 | Interface::NvLpddr4),
            0xfa => self.luns.len() > 1,
            _ => true,
        }
    }

    /// LUN, block and page of a row. With `any_page`, a page beyond the block counts as page 0.
    fn place(&mut self, row: u32, any_page: bool) -> Done<(usize, (u32, u32))> {
        let (lun, block, page) = self.facts.split(row);
        let lun = self.require_lun(lun as usize)?;
        if block >= self.facts.blocks {
            return Err("no such block");
        }
        match page < self.facts.pages {
            true => Ok((lun, (block, page))),
            false if any_page => Ok((lun, (block, 0))),
            false => Err("hole"),
        }
    }

    fn latched_row(&self) -> u32 {
        let from = self.address.len() - 3;
        self.address[from..].iter().rev().fold(0, |row, byte| row << 8 | u32::from(*byte))
    }

    fn latched_column(&self) -> u32 {
        u32::from(self.address[0]) | u32::from(self.address[1]) << 8
    }

    fn require_column(&self, column: u32) -> Done<u32> {
        self.require_even(column)?;
        if column < self.facts.page_bytes { Ok(column) } else { Err("no such column") }
    }

    /// Handles a command latch. Returns whether a LUN or the target becomes busy.
    pub fn command(&mut self, code: u8, when: When) -> Done<bool> {
        if self.asleep && code != 0xff {
            return Err("no reset came since the power");
        }
        if !self.offers(code) {
            return Err("the part does not have it");
        }
        if matches!(code, 0xff | 0xfc | 0xfa) {
            self.close();
            self.phrase = format!("{code:02x}");
            return if code == 0xfa { Ok(false) } else { self.complete(when) };
        }
        let answers = matches!(code, 0x70 | 0x78 | 0xe1 | 0xf2..=0xf5);
        if self.refused && !answers {
            return Err("refused before");
        }
        if self.loading.is_some() {
            self.settle_column(true)?;
            if code == 0x85 && !self.phrase.contains('+') {
                self.phrase.push_str("+85");
                self.address.clear();
                return Ok(false);
            }
        } else if self.phrase.is_empty() || self.phrase == "00" {
            let outputs = (self.output.clone(), self.before.clone());
            if self.phrase == "00" {
                self.back();
            }
            let opened = self.open(code, when);
            if opened.is_err() {
                (self.output, self.before) = outputs;
            }
            return opened;
        }
        self.phrase.push_str(&format!("{code:02x}"));
        if !lines().any(|(line, _)| line.starts_with(&self.phrase)) {
            return Err("no such second byte");
        }
        if self.phrase.ends_with("05") {
            self.row = Some(self.latched_row());
            self.address.clear();
            return Ok(false);
        }
        self.complete(when)
    }

    fn open(&mut self, code: u8, when: When) -> Done<bool> {
        let begins = format!("{code:02x}");
        let moded = matches!(code, 0x00 | 0x60 | 0x80 | 0x85);
        if self.prefix.is_some() && !moded {
            return Err("prefix alone");
        }
        if !lines().any(|(line, _)| line.starts_with(&begins)) {
            return Err("no such command");
        }
        // For these commands the LUN is known only after the address.
        let named = moded || matches!(code, 0xa2..=0xa4 | 0x06 | 0xd4 | 0xd5 | 0xd9 | 0xf9 | 0x13 | 0xd2);
        if named {
            let refused = (0..self.luns.len()).map(|lun| self.require(lun, &begins, when.begin));
            refused.reduce(Result::or).expect("there is a LUN")?;
        } else {
            self.require(self.selected, &begins, when.begin)?;
        }
        self.phrase = begins;
        self.address.clear();
        self.feature.clear();
        if lines().any(|(line, _)| line == self.phrase) { self.complete(when) } else { Ok(false) }
    }

    /// Handles a lone 00h: data out return to the data before a status.
    fn back(&mut self) {
        if self.output.is_status() {
            self.output = std::mem::replace(&mut self.before, Output::Nothing);
        }
        self.phrase.clear();
    }

    /// Handles 85h with two address cycles, once the next cycle shows that there are no more.
    fn settle_column(&mut self, command: bool) -> Done<()> {
        let Some(at) = self.phrase.find('+') else { return Ok(()) };
        match &self.phrase[at..] {
            "+85.." => {}
            _ if command => return Err("command amid an address"),
            _ => return Err("data amid an address"),
        }
        let column = self.require_column(self.latched_column())?;
        self.phrase.truncate(at);
        self.loading.as_mut().expect("data are loaded").column = column;
        Ok(())
    }

    /// Handles an address latch.
    pub fn address(&mut self, byte: u8, when: When) -> Done<bool> {
        let phrase = format!("{}.", self.phrase);
        let busy = self.latch(byte, when)?;
        self.took_volume = phrase == "e1.";
        let inner = phrase.split_once('+').map_or("", |(_, inner)| inner);
        if ["80.....", "ef.", "e2.", "d5.."].contains(&phrase.as_str()) {
            self.edges.note("load", when.end);
        } else if ["85..", "85....."].contains(&inner) || phrase == "85....." {
            self.edges.note("write column", when.end);
        }
        Ok(busy)
    }

    fn latch(&mut self, byte: u8, when: When) -> Done<bool> {
        if self.refused && self.phrase.is_empty() {
            return Err("refused before");
        }
        self.phrase.push('.');
        self.address.push(byte);
        if let Some((_, inner)) = self.phrase.split_once('+') {
            if inner == "85....." {
                return self.change_row(when);
            }
            return if inner.len() > 7 { Err("too many address cycles") } else { Ok(false) };
        }
        // 85h with two address cycles needs a program that is being loaded. Otherwise it needs five.
        if !lines().any(|(line, _)| line.starts_with(&self.phrase)) {
            return Err("no address wanted");
        }
        if lines().any(|(line, _)| line == self.phrase) {
            return self.complete(when);
        }
        match self.phrase.as_str() {
            "00....." | "06....." | "60..." => {
                let (lun, _) = self.place(self.latched_row(), self.phrase.starts_with('6'))?;
                self.require(lun, &self.phrase, when.begin)?;
                self.selected = lun;
            }
            "80....." | "85....." => self.begin_load(when)?,
            _ => {}
        }
        Ok(false)
    }

    fn begin_load(&mut self, when: When) -> Done<()> {
        let copyback = self.phrase.starts_with("85");
        let (lun, place) = self.place(self.latched_row(), false)?;
        let column = self.require_column(self.latched_column())?;
        self.require(lun, &self.phrase, when.begin)?;
        if copyback {
            self.luns[lun].admits_copyback(place.0)?;
        } else {
            self.luns[lun].admits_program()?;
        }
        self.selected = lun;
        for other in &mut self.luns {
            other.catch_up(when.begin);
            if !copyback {
                other.clear();
            }
        }
        self.luns[lun].begin_load(place.0, when.begin);
        self.loading = Some(Loading { copyback, lun, place, column });
        Ok(())
    }

    fn change_row(&mut self, when: When) -> Done<bool> {
        let (lun, place) = self.place(self.latched_row(), false)?;
        let column = self.require_column(self.latched_column())?;
        let loading = self.loading.as_mut().expect("data are loaded");
        if lun != loading.lun {
            return Err("another LUN");
        }
        (loading.place, loading.column) = (place, column);
        self.luns[lun].begin_load(place.0, when.begin);
        let at = self.phrase.find('+').expect("a change of the row is open");
        self.phrase.truncate(at);
        Ok(false)
    }

    /// Handles data in.
    pub fn data_in(&mut self, data: &[u8], when: When) -> Done<bool> {
        if self.refused && self.phrase.is_empty() {
            return Err("refused before");
        }
        if self.loading.is_some() {
            self.settle_column(false)?;
            self.require_even(data.len() as u32)?;
            let loading = self.loading.as_mut().expect("data are loaded");
            let (from, to) = (loading.column as usize, loading.column as usize + data.len());
            if to > self.facts.page_bytes as usize {
                return Err("data past the register");
            }
            loading.column = to as u32;
            let lun = &mut self.luns[loading.lun];
            let plane = lun.load_plane;
            for (cell, byte) in lun.cache[plane][from..to].iter_mut().zip(data) {
                *cell = u16::from(*byte);
            }
            return Ok(false);
        }
        data.iter().for_each(|_| self.phrase.push('#'));
        self.feature.extend(data);
        if !lines().any(|(line, _)| line.starts_with(&self.phrase)) {
            return Err("no data wanted");
        }
        if lines().any(|(line, _)| line == self.phrase) { self.complete(when) } else { Ok(false) }
    }

    /// The source of data out.
    pub fn source(&self) -> &Output {
        if self.phrase == "00" && self.output.is_status() { &self.before } else { &self.output }
    }

    /// The time at which the LUN or target that data out come from is ready.
    pub fn source_ready(&self) -> u64 {
        match self.output {
            Output::Bytes(_) => self.held.max(self.luns[self.selected].held),
            _ => self.luns[self.selected].ready_at(),
        }
    }

    /// Returns the bytes of data out, which end at `end`, with [`UNKNOWN`] for unknown bytes. `byte_at` gives
    /// the instant of each byte.
    pub fn data_out(
        &mut self,
        len: u16,
        begin: u64,
        byte_at: impl Fn(u16) -> u64,
        protected: bool,
    ) -> Done<Page> {
        if self.refused && !self.output.is_status() {
            return Err("refused before");
        }
        if !(self.phrase.is_empty() || self.phrase == "00") {
            return Err("data out amid a command");
        }
        let source = self.source().clone();
        let column = self.luns[self.selected].column;
        let last = column + u32::from(len);
        let held = begin < self.held;
        let busy = begin < self.luns[self.selected].ready_at();
        match &source {
            Output::Nothing => return Err("nothing was read"),
            Output::Register if self.lost_data => return Err("no LUN is selected"),
            Output::Register if self.luns[self.selected].plane_lost => return Err("no plane is selected"),
            Output::Register if self.require_even(len.into()).is_err() => {
                return Err("an odd number of bytes");
            }
            Output::Register if last > self.facts.page_bytes => return Err("data past the register"),
            Output::Bytes(bytes) if last as usize > bytes.len() => return Err("data past their end"),
            Output::Register | Output::Bytes(_) if busy => return Err("the LUN is busy"),
            Output::Register | Output::Bytes(_) | Output::Identity(_) if held => return Err("busy"),
            _ => {}
        }
        if self.phrase == "00" {
            self.back();
        }
        let (from, to) = (column as usize, last as usize);
        if source.is_status() {
            return Ok((0..len).map(|n| u16::from(self.status(&source, byte_at(n), protected))).collect());
        }
        if let Output::Identity(address) = source {
            return Ok(self.identity(address, len));
        }
        self.luns[self.selected].column = last;
        if let Output::Bytes(bytes) = source {
            return Ok(bytes[from..to].to_vec());
        }
        let lun = &mut self.luns[self.selected];
        lun.catch_up(byte_at(0));
        Ok(lun.cache[lun.out_plane][from..to].to_vec())
    }

    fn status(&mut self, source: &Output, at: u64, protected: bool) -> u8 {
        let (lun, mask) = match source {
            Output::PlaneStatus(lun, plane) => (*lun, 1 << plane),
            Output::LunStatus(lun) => (*lun, u16::MAX),
            _ => (self.selected, u16::MAX),
        };
        let unprotected = if protected { 0 } else { 0x80 };
        let status = if at < self.held { 0 } else { self.luns[lun].status(mask, at) };
        let refused = u8::from(self.refused && self.blamed == lun && status & 0x40 != 0);
        unprotected | status | refused
    }

    fn identity(&self, address: u8, len: u16) -> Page {
        let known: Vec<u16> = match address {
            0x20 => b"ONFI".map(u16::from).to_vec(),
            0x40 => b"JEDEC".map(u16::from).to_vec(),
            _ => vec![0x53, UNKNOWN, (self.facts.bits as u16 - 1) << 2],
        };
        known.into_iter().chain(std::iter::repeat(0)).take(len.into()).collect()
    }
}

mod orders;
