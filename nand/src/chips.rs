//! All chips of a device: dies that work, buses that are shared, pages that remember what was written.
//!
//! A die carries out one [`Command`] at a time: its opening (CLE, ALE and, for a program, TIR) holds the channel's
//! bus, then the array works (TON, TIN or BER), and a read ends with data out (TOR) on the bus again. Of the
//! dies that wait for a busy bus, those that only latch a command go first, so that their arrays work while the bus
//! moves data; else it is first come, first served. A die latches one command and is then busy for long, so nobody
//! starves.
//! Contents are stamps: which logical page, which version.

use std::collections::VecDeque;

use wordline_kernel::{Bytes, Column, Duration, Instant, Schedule, Seed};

use crate::energy::{Stage, StageTimes};
use crate::geometry::{ChannelId, DieId, Geometry, PageId, RowBlockId};
use crate::timing::{self, Opening};
use crate::{EnergyReport, Latency, LatencyModel, Part};

/// What was written into a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The logical page, or one of the marks below.
    pub logical: u32,
    /// Which of its versions, counted from 1.
    pub version: u32,
}

impl Stamp {
    /// A page that was not programmed since its block was erased.
    pub const ERASED: Self = Self { logical: u32::MAX, version: 0 };
    /// A page that was programmed with nothing in it.
    pub const PADDING: Self = Self { logical: u32::MAX - 1, version: 0 };

    /// Whether a logical page was written here.
    pub fn is_data(self) -> bool {
        self.logical < Self::PADDING.logical
    }
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sense pages and move data out.
    Read,
    /// Move data in and program a program unit.
    Program,
    /// Erase a row block.
    Erase,
}

/// A transaction for one die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub operation: Operation,
    /// The first page: of those to read, of the program unit, or of the block to erase.
    pub page: PageId,
    /// Pages to read, from `page` on: all with the same page number, one in each of neighbouring planes.
    pub pages: u32,
    /// Bytes to move out, over all planes, for a read.
    pub bytes: Bytes,
}

/// What a command took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The die, which is idle again.
    pub die: DieId,
    /// The command.
    pub command: Command,
    /// Time that its stages held the bus.
    pub bus: Duration,
    /// Time that it waited for the bus.
    pub bus_wait: Duration,
    /// Time that the array worked.
    pub array: Duration,
    /// Whether the status register says FAIL: an erase beyond the part's endurance.
    pub failed: bool,
}

/// What happens in chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The bus is free and somebody waits for it.
    BusFree(ChannelId),
    /// The array has finished.
    ArrayDone(DieId),
    /// The last data are out.
    DataOut(DieId),
}

const _: () = assert!(size_of::<Event>() <= 8, "an event is copied on every push and pop");

/// A channel's bus.
#[derive(Clone, Debug)]
struct Bus {
    busy_until: Instant,
    /// Dies that want it to latch a command, and dies that want it to move data; a die waits at most once.
    commands: VecDeque<DieId>,
    transfers: VecDeque<DieId>,
    busy: u64,
}

impl Bus {
    fn is_wanted(&self) -> bool {
        !self.commands.is_empty() || !self.transfers.is_empty()
    }

    fn next(&mut self) -> Option<DieId> {
        self.commands.pop_front().or_else(|| self.transfers.pop_front())
    }
}

/// What a die is doing.
#[derive(Clone, Copy, Debug)]
struct Work {
    command: Command,
    /// Whether the array is done and data out is next.
    sensed: bool,
    idle: bool,
    asked: Instant,
    bus: Duration,
    bus_wait: Duration,
    array: Duration,
    data_out: Duration,
    /// Time that the stage counters have of this command.
    counted: Duration,
}

/// Stage times that do not depend on the page, worked out once.
#[derive(Clone, Debug)]
struct Times {
    read: Vec<Opening>,
    /// Data out without the burst, for 1, 2, ... planes.
    data_out: Vec<Duration>,
    program: Opening,
    erase: Opening,
}

impl Times {
    fn of(part: &Part, geometry: &Geometry) -> Self {
        let planes = geometry.planes_per_row;
        let unit = geometry.page_size * u64::from(geometry.pages_per_program);
        Self {
            read: (1..=planes).map(|n| timing::read_command(part, n)).collect(),
            data_out: (1..=planes).map(|n| timing::data_out(part, n, Bytes(0))).collect(),
            program: timing::program_command(part, planes, unit),
            erase: timing::erase_command(part, planes),
        }
    }
}

/// All chips of a device.
#[derive(Clone, Debug)]
pub struct Chips {
    part: Part,
    geometry: Geometry,
    times: Times,
    latency: Latency,
    buses: Column<ChannelId, Bus>,
    work: Column<DieId, Work>,
    array_busy: Column<DieId, u64>,
    /// Data registers of the dies: what the next program will write.
    registers: Vec<Stamp>,
    stamps: Column<PageId, Stamp>,
    erases: Column<RowBlockId, u32>,
    /// Pages of each block that are programmed; they are programmed in order.
    programmed: Column<RowBlockId, u32>,
    stages: StageTimes,
    counts: Counts,
}

/// What the chips did, in pages and row blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Read commands.
    pub read_commands: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Program commands.
    pub program_commands: u64,
    /// Pages programmed.
    pub pages_programmed: u64,
    /// Row blocks erased.
    pub row_blocks_erased: u64,
}

impl Chips {
    /// Chips with nothing written, whose array times vary as the part says; see [`Chips::set_latency`].
    pub fn new(part: Part, geometry: Geometry) -> Self {
        let dies = geometry.dies() as usize;
        let most = geometry.dies_per_channel as usize;
        let bus = Bus {
            busy_until: Instant::ZERO,
            commands: VecDeque::with_capacity(most),
            transfers: VecDeque::with_capacity(most),
            busy: 0,
        };
        let nothing = Command { operation: Operation::Erase, page: PageId(0), pages: 0, bytes: Bytes(0) };
        let idle = Work {
            command: nothing,
            sensed: false,
            idle: true,
            asked: Instant::ZERO,
            bus: Duration::ZERO,
            bus_wait: Duration::ZERO,
            array: Duration::ZERO,
            data_out: Duration::ZERO,
            counted: Duration::ZERO,
        };
        let blocks = geometry.row_blocks() as usize;
        Self {
            times: Times::of(&part, &geometry),
            latency: Latency::new(&part, LatencyModel::default(), Seed(0)),
            buses: Column::filled(geometry.channels as usize, bus),
            work: Column::filled(dies, idle),
            array_busy: Column::filled(dies, 0),
            registers: vec![Stamp::PADDING; dies * geometry.pages_per_program as usize],
            stamps: Column::filled(geometry.pages() as usize, Stamp::ERASED),
            erases: Column::filled(blocks, 0),
            programmed: Column::filled(blocks, 0),
            stages: StageTimes::default(),
            counts: Counts::default(),
            part,
            geometry,
        }
    }

    /// Changes where array times come from. Without it, ranges of the part are drawn from seed 0.
    pub fn set_latency(&mut self, model: LatencyModel, seed: Seed) {
        self.latency = Latency::new(&self.part, model, seed);
    }

    /// Whether `die` can take a command.
    #[inline]
    pub fn is_idle(&self, die: DieId) -> bool {
        self.work[die].idle
    }

    /// The data registers of `die`, to be filled before a program.
    #[inline]
    pub fn registers(&mut self, die: DieId) -> &mut [Stamp] {
        let unit = self.geometry.pages_per_program as usize;
        &mut self.registers[die.0 as usize * unit..][..unit]
    }

    /// Starts a command on an idle die.
    pub fn start(&mut self, die: DieId, command: Command, calendar: &mut impl Schedule<Event>) {
        let work = &mut self.work[die];
        assert!(work.idle, "die {die:?} takes one command at a time");
        *work = Work {
            command,
            sensed: false,
            idle: false,
            asked: calendar.now(),
            bus: Duration::ZERO,
            bus_wait: Duration::ZERO,
            array: Duration::ZERO,
            data_out: Duration::ZERO,
            counted: Duration::ZERO,
        };
        self.ask_for_bus(die, calendar);
    }

    /// Lets time go on to `event`; `Some` when that ends a command.
    #[inline]
    pub fn handle(&mut self, event: Event, calendar: &mut impl Schedule<Event>) -> Option<Done> {
        match event {
            Event::BusFree(channel) => {
                let next = self.buses[channel].next().expect("the bus was woken for somebody");
                self.hold_bus(next, channel, calendar);
                let bus = &self.buses[channel];
                if bus.is_wanted() {
                    calendar.at(bus.busy_until, Event::BusFree(channel));
                }
                None
            }
            Event::ArrayDone(die) => {
                self.count_array(die);
                if self.work[die].command.operation == Operation::Read {
                    self.work[die].sensed = true;
                    self.work[die].asked = calendar.now();
                    self.ask_for_bus(die, calendar);
                    return None;
                }
                Some(self.finish(die))
            }
            Event::DataOut(die) => {
                self.stages.add(Stage::Tor, self.work[die].data_out);
                Some(self.finish(die))
            }
        }
    }

    #[inline]
    fn ask_for_bus(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let channel = self.geometry.channel_of(die);
        let bus = &mut self.buses[channel];
        let wanted = bus.is_wanted();
        if bus.busy_until <= calendar.now() && !wanted {
            self.hold_bus(die, channel, calendar);
            return;
        }
        let work = &self.work[die];
        let latches_only = !work.sensed && work.command.operation != Operation::Program;
        if latches_only {
            bus.commands.push_back(die);
        } else {
            bus.transfers.push_back(die);
        }
        if !wanted {
            calendar.at(bus.busy_until, Event::BusFree(channel));
        }
    }

    /// The die gets the bus for its next stages.
    #[inline]
    fn hold_bus(&mut self, die: DieId, channel: ChannelId, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        let work = self.work[die];
        let hold = if work.sensed { self.data_out(work.command) } else { self.opening(work.command).total() };
        let bus = &mut self.buses[channel];
        bus.busy_until = now + hold;
        bus.busy += hold.ps();
        let waited = now - work.asked;
        if work.sensed {
            calendar.at(now + hold, Event::DataOut(die));
        } else {
            let array = self.array_time(work.command);
            self.work[die].array = array;
            calendar.at(now + hold + array, Event::ArrayDone(die));
        }
        let work = &mut self.work[die];
        work.bus += hold;
        work.bus_wait += waited;
        if work.sensed {
            work.data_out = hold;
        }
    }

    #[inline]
    fn opening(&self, command: Command) -> Opening {
        match command.operation {
            Operation::Read => self.times.read[command.pages as usize - 1],
            Operation::Program => self.times.program,
            Operation::Erase => self.times.erase,
        }
    }

    /// Counts the opening and the array's work of a command once they are over.
    #[inline]
    fn count_array(&mut self, die: DieId) {
        let Work { command, array, .. } = self.work[die];
        let opening = self.opening(command);
        self.stages.add(Stage::Cle, opening.cle);
        self.stages.add(Stage::Ale, opening.ale);
        self.stages.add(Stage::Tir, opening.tir);
        let stage = match command.operation {
            Operation::Read => Stage::Ton,
            Operation::Program => Stage::Tin,
            Operation::Erase => Stage::Ber,
        };
        self.stages.add(stage, array);
        self.array_busy[die] += array.ps();
        self.work[die].counted = opening.total() + array;
    }

    #[inline]
    fn data_out(&self, command: Command) -> Duration {
        self.times.data_out[command.pages as usize - 1] + self.part.bus.rate.burst(command.bytes)
    }

    #[inline]
    fn array_time(&self, command: Command) -> Duration {
        let (block, offset) = self.geometry.split(command.page);
        let page = self.geometry.page_in_block(offset);
        let planes = self.geometry.planes_per_row;
        let first = offset - page * planes;
        match command.operation {
            Operation::Read => {
                let planes = first..first + command.pages;
                self.latency.read(page, self.geometry.plane_blocks(block, planes))
            }
            Operation::Program => self.latency.program(page, self.geometry.plane_blocks(block, 0..planes)),
            Operation::Erase => self.part.timing.erase,
        }
    }

    #[inline]
    fn finish(&mut self, die: DieId) -> Done {
        let work = &mut self.work[die];
        work.idle = true;
        work.counted = Duration::ZERO;
        let Work { command, bus, bus_wait, array, .. } = *work;
        let mut failed = false;
        match command.operation {
            Operation::Read => {
                self.counts.read_commands += 1;
                self.counts.pages_read += u64::from(command.pages);
            }
            Operation::Program => {
                self.counts.program_commands += 1;
                let unit = self.geometry.pages_per_program;
                let from = (die.0 * unit) as usize;
                for n in 0..unit {
                    let stamp = self.registers[from + n as usize];
                    self.put(PageId(command.page.0 + n), stamp);
                }
                self.counts.pages_programmed += u64::from(unit);
            }
            Operation::Erase => {
                self.counts.row_blocks_erased += 1;
                failed = !self.wipe(self.geometry.block_of(command.page));
            }
        }
        Done { die, command, bus, bus_wait, array, failed }
    }

    /// What `page` holds.
    #[inline]
    pub fn stamp(&self, page: PageId) -> Stamp {
        self.stamps[page]
    }

    /// Programs `page` in no time: the effect of a program, and how a device is filled before a run.
    /// A bug if the page is not the next of its block.
    #[inline]
    pub fn put(&mut self, page: PageId, stamp: Stamp) {
        let (block, offset) = self.geometry.split(page);
        assert_eq!(self.programmed[block], offset, "pages of a block are programmed in order");
        self.programmed[block] = offset + 1;
        self.stamps[page] = stamp;
    }

    /// Erases `block` in no time: the effect of an erase. False if the block stood its last erase before.
    pub fn wipe(&mut self, block: RowBlockId) -> bool {
        let first = self.geometry.page(block, 0);
        for n in 0..self.programmed[block] {
            self.stamps[PageId(first.0 + n)] = Stamp::ERASED;
        }
        self.programmed[block] = 0;
        self.erases[block] += 1;
        self.erases[block] <= self.part.endurance
    }

    /// Sets how often `block` was erased before the run.
    pub fn set_erases(&mut self, block: RowBlockId, erases: u32) {
        self.erases[block] = erases;
    }

    /// How often each row block was erased.
    pub fn erases(&self) -> &Column<RowBlockId, u32> {
        &self.erases
    }

    /// Pages of `block` that are programmed.
    pub fn programmed(&self, block: RowBlockId) -> u32 {
        self.programmed[block]
    }

    /// The part.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What the chips did.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Energy by stage after `elapsed` time, idle included.
    pub fn energy(&self, elapsed: Duration) -> EnergyReport {
        self.stages(elapsed).price(&self.part.power)
    }

    /// Time in each stage, summed over dies, after `elapsed` time; what is not over is idle still.
    pub fn stages(&self, elapsed: Duration) -> StageTimes {
        let mut stages = self.stages;
        stages.set_idle(self.geometry.dies(), elapsed);
        stages
    }

    /// Time in stages of commands that are not finished, in picoseconds.
    pub fn unfinished_ps(&self) -> u128 {
        self.work.iter().map(|work| u128::from(work.counted.ps())).sum()
    }

    /// Time that each channel's bus was held until `now`, in picoseconds.
    pub fn bus_busy(&self, now: Instant) -> impl Iterator<Item = u64> + '_ {
        self.buses.iter().map(move |bus| bus.busy - bus.busy_until.since(now).ps())
    }

    /// Time that each die's array worked in stages that are over, in picoseconds.
    pub fn array_busy(&self) -> impl Iterator<Item = u64> + '_ {
        self.array_busy.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Layout;
    use crate::part::tests::mqsim;
    use wordline_kernel::Calendar;

    fn chips(dies: u32) -> Chips {
        let part = mqsim();
        let layout =
            Layout { channels: 1, packages_per_channel: 1, dies_per_package: dies, planes_per_row: Some(1) };
        let geometry = layout.check(&part).expect("the layout is sound");
        Chips::new(part, geometry)
    }

    fn run(chips: &mut Chips, commands: &[(DieId, Command)]) -> Vec<(Instant, Done)> {
        let mut calendar = Calendar::new();
        commands.iter().for_each(|(die, command)| chips.start(*die, *command, &mut calendar));
        let mut done = Vec::new();
        while let Some(event) = calendar.advance() {
            done.extend(chips.handle(event, &mut calendar).map(|d| (calendar.now(), d)));
        }
        done
    }

    fn read(chips: &Chips, die: u32, bytes: Bytes) -> (DieId, Command) {
        let geometry = chips.geometry();
        let block = geometry.first_block(die * geometry.rows_per_die);
        (DieId(die), Command { operation: Operation::Read, page: geometry.page(block, 0), pages: 1, bytes })
    }

    #[test]
    fn an_unloaded_read_takes_command_sensing_and_transfer() {
        let mut chips = chips(1);
        let command = read(&chips, 0, Bytes::kib(4));
        let done = run(&mut chips, &[command]);
        // 290 ns + 75 us + 30 ns + 4096 B at 333 MT/s = 12.300301 us, rounded up to a picosecond.
        assert_eq!(done[0].0, Instant::from_ps(290_000 + 75_000_000 + 30_000 + 12_300_301));
        assert_eq!(done[0].1.bus_wait, Duration::ZERO);
    }

    #[test]
    fn reads_of_n_dies_overlap_but_for_the_bus() {
        for dies in 1..=8 {
            let mut chips = chips(dies);
            let commands: Vec<_> = (0..dies).map(|die| read(&chips, die, Bytes::kib(8))).collect();
            let done = run(&mut chips, &commands);
            let (command, sense) = (Duration::from_ns(290), Duration::from_us(75));
            let transfer = Duration::from_ns(30) + chips.part.bus.rate.burst(Bytes::kib(8));
            // The transfers follow each other from when the first die has sensed: each takes longer than the next
            // die's command, so the bus never falls idle in between.
            let end = Instant::ZERO + command + sense + transfer * u64::from(dies);
            assert_eq!(done.last().map(|d| d.0), Some(end), "{dies} dies");
        }
    }

    #[test]
    fn a_program_writes_what_the_registers_hold() {
        let mut chips = chips(1);
        let stamp = Stamp { logical: 7, version: 3 };
        chips.registers(DieId(0))[0] = stamp;
        let page = PageId(0);
        let command = Command { operation: Operation::Program, page, pages: 1, bytes: Bytes(0) };
        let done = run(&mut chips, &[(DieId(0), command)]);
        assert_eq!(chips.stamp(page), stamp);
        let transfer = chips.part.bus.rate.burst(Bytes::kib(8));
        assert_eq!(done[0].0, Instant::ZERO + Duration::from_ns(361) + transfer + Duration::from_us(750));
    }

    #[test]
    fn energy_is_the_sum_of_the_stages() {
        let mut chips = chips(2);
        let commands: Vec<_> = (0..2).map(|die| read(&chips, die, Bytes::kib(8))).collect();
        let done = run(&mut chips, &commands);
        let elapsed = done[1].0 - Instant::ZERO;
        let report = chips.energy(elapsed);
        let sensing = Power(82_500).over(Duration::from_us(150));
        assert_eq!(report.of(Stage::Ton), sensing);
        assert_eq!(report.total(), Stage::ALL.into_iter().map(|s| report.of(s)).sum());
        let busy: u128 = done.iter().map(|(_, d)| u128::from((d.bus + d.array).ps())).sum();
        assert_eq!(chips.stages(elapsed).active_ps(), busy);
    }
    use wordline_kernel::Power;

    #[test]
    #[should_panic(expected = "programmed in order")]
    fn a_page_out_of_order_is_refused() {
        chips(1).put(PageId(1), Stamp::PADDING);
    }
}
