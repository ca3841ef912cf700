//! Operations of a host. Most are legal if they come at the right time.

use wordline_kernel::random::Stream;

use crate::checker::cycle::{Cycle, Setup};
use crate::checker::facts::Facts;

/// Records the cycles of a host.
pub struct Host<'a> {
    facts: Facts,
    setup: Setup,
    pub random: &'a mut Stream,
    pub cycles: Vec<Cycle>,
    /// The page of each block that a careful host programs next.
    next: Vec<u32>,
}

/// Every first and second byte, so that many random cycles are commands.
const CODES: [u8; 50] = [
    0x00, 0x05, 0x06, 0x10, 0x11, 0x13, 0x15, 0x1a, 0x30, 0x31, 0x32, 0x35, 0x3e, 0x3f, 0x60, 0x61, 0x70,
    0x78, 0x80, 0x81, 0x84, 0x85, 0x90, 0xa2, 0xa3, 0xa4, 0xd0, 0xd1, 0xd2, 0xd4, 0xd5, 0xd9, 0xe0, 0xe1,
    0xe2, 0xec, 0xed, 0xee, 0xef, 0xf2, 0xf3, 0xf4, 0xf5, 0xf9, 0xfa, 0xfc, 0xff, 0x70, 0xff, 0x00,
];

impl<'a> Host<'a> {
    pub fn new(setup: Setup, random: &'a mut Stream) -> Self {
        let facts = Facts::of(setup.part);
        let next = vec![0; facts.blocks as usize];
        Self { facts, setup, random, cycles: Vec::new(), next }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound.into()) as u32
    }

    /// True once in `n` times.
    fn once_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn push(&mut self, cycle: Cycle) {
        self.cycles.push(cycle);
    }

    fn command(&mut self, code: u8) {
        self.push(Cycle::Command(code));
    }

    fn addresses(&mut self, bytes: &[u8]) {
        self.cycles.extend(bytes.iter().copied().map(Cycle::Address));
    }

    fn row(&mut self, row: (u32, u32, u32)) {
        let bytes = self.facts.row(row);
        self.addresses(&bytes);
    }

    fn full(&mut self, column: u32, row: (u32, u32, u32)) {
        self.addresses(&[column as u8, (column >> 8) as u8]);
        self.row(row);
    }

    fn place(&mut self) -> (u32, u32, u32) {
        let lun = self.below(self.setup.luns.into());
        let block = self.below(self.facts.blocks);
        let page = if self.once_in(2) { self.below(self.facts.pages) } else { self.below(2) };
        (lun, block, page)
    }

    /// A page to program: usually the next page of a block.
    fn fresh(&mut self) -> (u32, u32, u32) {
        let (lun, block, page) = self.place();
        if self.once_in(10) {
            return (lun, block, page);
        }
        let next = self.next[block as usize];
        self.next[block as usize] = (next + 1) % self.facts.pages;
        (lun, block, next)
    }

    fn column(&mut self) -> u32 {
        let column = if self.once_in(3) { self.below(self.facts.page_bytes) } else { 0 };
        self.mostly_even(column)
    }

    /// Makes a number even in most cases, if the interface transfers two bytes per strobe cycle.
    fn mostly_even(&mut self, number: u32) -> u32 {
        let twos = self.facts.file.bus.interface.is_double_rate() && !self.once_in(24);
        if twos { number & !1 } else { number }
    }

    /// Sends the first reset to most targets.
    pub fn wake(&mut self) {
        for target in 0..self.setup.targets {
            if !self.once_in(10) {
                self.push(Cycle::Select(target));
                self.command(0xff);
                self.push(Cycle::WaitReady);
            }
        }
    }

    fn wait(&mut self) {
        match self.below(12) {
            0 => self.push(Cycle::WaitArray),
            1 => {
                let ns = self.below(400_000);
                self.push(Cycle::Wait(ns));
            }
            2 => {}
            _ => self.push(Cycle::WaitReady),
        }
        if self.once_in(6) {
            self.status();
        }
    }

    fn status(&mut self) {
        let place = self.place();
        match self.below(3) {
            0 => self.command(0x70),
            1 => self.command(0xf2 + place.0 as u8),
            _ => {
                self.command(0x78);
                self.row(place);
            }
        }
        let len = 1 + self.below(3) as u16;
        self.push(Cycle::DataOut(len));
        if self.once_in(2) {
            self.command(0x00);
        }
    }

    fn data(&mut self) {
        let most = if self.once_in(8) { 528 } else { 24 };
        let len = 1 + self.below(most);
        let len = self.mostly_even(len + 1) as u16;
        let first = self.below(256) as u8;
        self.push(Cycle::DataIn(len, first));
    }

    fn out(&mut self) {
        let most = if self.once_in(8) { 528 } else { 24 };
        let len = 1 + self.below(most);
        let len = self.mostly_even(len + 1) as u16;
        self.push(Cycle::DataOut(len));
    }

    /// Blocks of other planes with the same page.
    fn planes(&mut self, (lun, block, page): (u32, u32, u32)) -> Vec<(u32, u32, u32)> {
        let planes = self.facts.planes as u32;
        let group = block - block % planes;
        let count = 1 + self.below(planes);
        (0..count).map(|n| (lun, group + (block + n) % planes, page)).collect()
    }

    pub fn operation(&mut self) {
        if self.once_in(6) {
            let target = self.below(u32::from(self.setup.targets)) as u8;
            self.push(Cycle::Select(target));
        }
        if self.facts.slc.is_some() && self.once_in(12) {
            self.command(0xa2);
        }
        match self.below(22) {
            0..=3 => self.read(),
            4 => self.cache_read(),
            5..=8 => self.program(),
            9 => self.cache_program(),
            10 | 11 => self.erase(),
            12 | 13 => self.copyback(),
            14 | 15 => self.suspend(),
            16 => self.feature(),
            17 => self.identity(),
            18 => self.change_column(),
            19 => self.status(),
            20 => self.reset(),
            _ => self.rare(),
        }
    }

    fn read(&mut self) {
        let place = self.place();
        let rows = if self.once_in(3) { self.planes(place) } else { vec![place] };
        for (n, row) in rows.iter().enumerate() {
            let column = self.column();
            self.command(0x00);
            self.full(column, *row);
            self.command(if n + 1 < rows.len() { 0x32 } else { 0x30 });
            self.wait();
        }
        if rows.len() == 1 || self.once_in(8) {
            self.out();
        }
        if rows.len() > 1 || self.once_in(2) {
            let column = self.column();
            self.command(0x06);
            self.full(column, rows[0]);
            self.command(0xe0);
            self.out();
        }
    }

    fn cache_read(&mut self) {
        self.read();
        for _ in 0..=self.below(3) {
            if self.once_in(3) {
                let place = self.place();
                self.command(0x00);
                self.full(0, place);
            }
            self.command(0x31);
            self.wait();
            self.out();
        }
        self.command(0x3f);
        self.wait();
        self.out();
    }

    fn load(&mut self, first: u8, row: (u32, u32, u32)) {
        let column = self.column();
        self.command(first);
        self.full(column, row);
        for _ in 0..self.below(3) {
            self.data();
            if self.once_in(2) {
                let column = self.column();
                self.command(0x85);
                if self.once_in(6) {
                    self.full(column, row);
                } else {
                    self.addresses(&[column as u8, (column >> 8) as u8]);
                }
            }
        }
    }

    /// Loads a page, or all pages of a word line, of each plane, with the confirm command `last`.
    fn programs(&mut self, first: u8, last: u8) {
        let fresh = self.fresh();
        let rows = if self.once_in(3) { self.planes(fresh) } else { vec![fresh] };
        let together = if self.once_in(12) { 1 } else { self.facts.together(false) };
        for (n, (lun, block, page)) in rows.iter().copied().enumerate() {
            let line = page / together * together;
            if together > 1 {
                self.next[block as usize] = (line + together) % self.facts.pages;
            }
            for page in line..line + together {
                self.load(first, (lun, block, page));
                let over = page + 1 == line + together;
                let between = if together > 1 && !over { 0x1a } else { 0x11 };
                self.command(if over && n + 1 == rows.len() { last } else { between });
                self.wait();
            }
        }
    }

    fn program(&mut self) {
        self.programs(0x80, 0x10);
    }

    fn cache_program(&mut self) {
        for _ in 0..=self.below(3) {
            self.programs(0x80, 0x15);
        }
        self.programs(0x80, 0x10);
    }

    fn erase(&mut self) {
        let place = self.place();
        let rows = if self.once_in(3) { self.planes(place) } else { vec![place] };
        for (n, row) in rows.iter().enumerate() {
            self.command(0x60);
            self.row(*row);
            self.command(if n + 1 < rows.len() { 0xd1 } else { 0xd0 });
            self.next[row.1 as usize] = 0;
            self.wait();
        }
    }

    fn copyback(&mut self) {
        let place = self.place();
        let rows = if self.once_in(3) { self.planes(place) } else { vec![place] };
        for (n, row) in rows.iter().enumerate() {
            self.command(0x00);
            self.full(0, *row);
            self.command(if n + 1 < rows.len() { 0x32 } else { 0x35 });
            self.wait();
        }
        let planes = self.facts.planes as u32;
        let group = self.below(self.facts.blocks / planes) * planes;
        let page = self.next[(group + rows[0].1 % planes) as usize];
        for (n, row) in rows.iter().enumerate() {
            let to = (row.0, group + row.1 % planes, page);
            self.next[to.1 as usize] = (page + 1) % self.facts.pages;
            self.load(0x85, to);
            self.command(if n + 1 < rows.len() { 0x11 } else { 0x10 });
            self.wait();
        }
    }

    fn suspend(&mut self) {
        let erase = self.once_in(2);
        let row = if erase { self.place() } else { self.fresh() };
        if erase {
            self.command(0x60);
            self.row(row);
            self.command(0xd0);
        } else {
            self.load(0x80, row);
            let second = if self.once_in(3) { 0x15 } else { 0x10 };
            self.command(second);
        }
        let ns = self.below(200_000);
        self.push(Cycle::Wait(ns));
        self.command(if erase { 0x61 } else { 0x84 });
        self.row(row);
        self.wait();
        for _ in 0..self.below(3) {
            match self.below(4) {
                0 => self.read(),
                1 => self.program(),
                2 => self.status(),
                _ => self.cache_read(),
            }
        }
        self.command(if erase { 0xd2 } else { 0x13 });
        self.row(row);
        self.wait();
    }

    fn feature(&mut self) {
        let lun = self.below(self.setup.luns.into()) as u8;
        let features = [
            (0x01, 6),
            (0x02, 8),
            (0x10, 4),
            (0x30, 2),
            (0x58, 2),
            (0x89, 8),
            (0x90, 9),
            (0x91, 2),
            (0x33, 2),
        ];
        let (address, bound) = features[self.below(9) as usize];
        let high = if address == 0x01 && self.once_in(3) { 0x20 } else { 0 };
        let value = self.below(bound) as u8 | high;
        let own = self.once_in(3);
        self.command(if own { 0xd5 } else { 0xef });
        self.addresses(&[lun, address][usize::from(!own)..]);
        // The bytes of a burst increase by seven, so the zeros after the first byte are sent one by one.
        self.cycles.extend([value, 0, 0, 0].map(|byte| Cycle::DataIn(1, byte)));
        self.wait();
        self.command(if own { 0xd4 } else { 0xee });
        self.addresses(&[lun, address][usize::from(!own)..]);
        self.wait();
        self.push(Cycle::DataOut(4));
    }

    fn identity(&mut self) {
        match self.below(3) {
            0 => {
                let address = [0x00, 0x20, 0x40, 0x21][self.below(4) as usize];
                self.command(0x90);
                self.addresses(&[address]);
            }
            n => {
                self.command(if n == 1 { 0xec } else { 0xed });
                self.addresses(&[0]);
                self.wait();
            }
        }
        self.out();
    }

    fn change_column(&mut self) {
        let column = self.column();
        match self.below(3) {
            0 => {
                let place = self.place();
                self.command(0x06);
                self.full(column, place);
            }
            1 => {
                let place = self.place();
                self.command(0x00);
                self.full(0, place);
                self.command(0x05);
                self.addresses(&[column as u8, (column >> 8) as u8]);
            }
            _ => {
                self.command(0x05);
                self.addresses(&[column as u8, (column >> 8) as u8]);
            }
        }
        self.command(0xe0);
        self.out();
    }

    fn reset(&mut self) {
        match self.below(4) {
            0 => {
                let place = self.place();
                self.command(0xfa);
                self.row(place);
            }
            1 => self.command(0xfc),
            _ => self.command(0xff),
        }
        self.wait();
    }

    fn rare(&mut self) {
        let lun = self.below(self.setup.luns.into()) as u8;
        match self.below(5) {
            0 => {
                let on = self.once_in(2);
                self.push(Cycle::Protect(on));
            }
            1 => {
                self.command(0xe1);
                self.addresses(&[0]);
            }
            2 => {
                self.command(0xe2);
                self.addresses(&[lun]);
                self.push(Cycle::DataIn(4, 1));
            }
            3 => {
                self.command(0xf9);
                self.addresses(&[lun]);
                self.wait();
            }
            _ => {
                self.command(0xd9);
                self.addresses(&[lun]);
                self.wait();
            }
        }
    }

    /// An operation with one wrong cycle.
    pub fn wrong(&mut self) {
        let from = self.cycles.len();
        self.operation();
        let added = self.cycles.len() - from;
        if added == 0 {
            return;
        }
        let at = from + self.below(added as u32) as usize;
        match self.below(7) {
            0 => self.cycles.truncate(at),
            1 => {
                self.cycles.remove(at);
            }
            2 => self.cycles.insert(at, Cycle::Early),
            6 => {
                let which = self.below(16) as u8;
                self.cycles.insert(at, Cycle::Short(which));
            }
            3 => {
                let cycle = self.cycles[at];
                self.cycles.insert(at, cycle);
            }
            4 => {
                let cycle = self.any();
                self.cycles[at] = cycle;
            }
            _ => {
                let cycle = self.any();
                self.cycles.insert(at, cycle);
            }
        }
        if !self.once_in(4) {
            self.status();
            self.reset();
        }
    }

    fn any(&mut self) -> Cycle {
        let code = self.below(50) as usize;
        match self.below(8) {
            0..=2 => Cycle::Command(CODES[code]),
            3 => Cycle::Command(self.below(256) as u8),
            4 => Cycle::Address(self.below(if code < 25 { 4 } else { 256 }) as u8),
            5 => Cycle::DataIn(self.below(8) as u16, code as u8),
            6 => Cycle::DataOut(self.below(8) as u16),
            _ => Cycle::WaitReady,
        }
    }

    /// Random cycles.
    pub fn raw(&mut self) {
        for _ in 0..self.below(20) {
            let cycle = self.any();
            self.push(cycle);
        }
    }
}
