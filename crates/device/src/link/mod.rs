//! Link between host and device: what each step of a command transfers, and which steps wait for it.
//!
//! Each direction of the link carries one transfer at a time. Data are transferred in turns of limited size,
//! so that a long transfer does not delay a short one. Waiting transfers are served in the order of requests.

mod config;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Factor, Instant, state};

pub use config::{PcieFile, SataFile};

/// A direction of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the host to the device: written data.
    ToDevice,
    /// From the device to the host: read data.
    ToHost,
}

/// Overhead of a PCI Express packet in bytes: four for framing and sequence number, and four for the check
/// sum, in every generation (PCI Express Base Specification, sections 3.6 and 4.2).
const PCIE_PACKET: u64 = 8;

/// Header of a memory request with an address of 64 bits (PCI Express Base Specification, section 2.2.4.1).
const PCIE_REQUEST: u64 = PCIE_PACKET + 16;

/// Header of the completion that returns the data of a read request (PCI Express Base Specification, section
/// 2.2.9).
const PCIE_COMPLETION: u64 = PCIE_PACKET + 12;

/// Bytes of a submission queue entry, a completion queue entry, a doorbell and an interrupt message (NVM
/// Express Base Specification, sections on queue entries, doorbell registers and MSI-X).
const NVME: NvmeSizes = NvmeSizes { entry: 64, completion: 16, doorbell: 4, interrupt: 4 };

struct NvmeSizes {
    entry: u64,
    completion: u64,
    doorbell: u64,
    interrupt: u64,
}

/// Start, check sum and end of a Serial ATA frame, four bytes each (Serial ATA specification, link layer).
const SATA_FRAME: u64 = 12;

/// Bytes of the frames of native command queuing, with their overhead (Serial ATA specification, transport
/// layer).
const SATA: SataSizes = SataSizes {
    command: SATA_FRAME + 20,
    release: SATA_FRAME + 20,
    setup: SATA_FRAME + 28,
    activate: SATA_FRAME + 4,
    data: SATA_FRAME + 4,
    done: SATA_FRAME + 8,
};

struct SataSizes {
    /// Register FIS, host to device.
    command: u64,
    /// Register FIS, device to host: frees the bus for other commands.
    release: u64,
    /// First-party DMA setup.
    setup: u64,
    /// DMA activate, for each data frame to the device except the first.
    activate: u64,
    /// Header of a data frame.
    data: u64,
    /// Set device bits: reports the command as done.
    done: u64,
}

/// Most data in a Serial ATA frame (Serial ATA specification, data frame).
const SATA_PAYLOAD: u64 = 8192;

/// Most data transferred in one turn on a PCI Express link. Chosen: about a flash page, which is much more
/// than a packet and much less than a long request.
const PCIE_TURN: u64 = 16_384;

/// Rate of a wire: picoseconds for each byte, as a fraction.
#[derive(Clone, Copy, Debug)]
struct Wire {
    ps: u64,
    bytes: u64,
}

impl Wire {
    /// Generations 1 and 2 encode eight bits in ten. Later ones encode 128 bits in 130 (PCI Express Base
    /// Specification, chapter 4).
    fn pcie(link: &PcieFile) -> Self {
        let lanes = u64::from(link.lanes);
        if let Some(bandwidth) = link.lane_bandwidth {
            // In units of 1,000 bytes a second, so that products with long transfers fit into 64 bits.
            return Self { ps: 1_000_000_000, bytes: (bandwidth.0 / 1_000).max(1) * lanes };
        }
        match link.generation {
            generation @ (1 | 2) => Self { ps: 10 * 1_000_000, bytes: 2_500 * u64::from(generation) * lanes },
            later => Self { ps: 1_040 * 1_000_000, bytes: 128 * (1_000 << later) * lanes },
        }
    }

    /// Rates of 1.5, 3 or 6 Gb/s, with eight bits encoded in ten (Serial ATA specification, physical layer).
    fn sata(link: &SataFile) -> Self {
        Self { ps: 10 * 1_000_000, bytes: 1_500 << (link.generation - 1) }
    }

    /// The wire with its times multiplied by a factor, exact to a thousandth.
    fn with(self, factor: Factor) -> Self {
        const EXACT: u64 = 1_000;
        Self { ps: factor.of(Duration::from_ps(self.ps * EXACT)).ps(), bytes: self.bytes * EXACT }
    }

    fn time(self, bytes: u64) -> Duration {
        Duration::from_ps((bytes * self.ps).div_ceil(self.bytes))
    }
}

/// Link cost of a step of a command that carries no data.
#[derive(Clone, Copy, Debug, Default)]
struct MessageCost {
    /// Time on the wire in each direction: to the device, and to the host.
    on_wire: [Duration; 2],
    /// Delays during which the wire is free.
    delay: Duration,
}

/// Link cost of data in one direction.
#[derive(Clone, Copy, Debug)]
struct DataCost {
    /// Most data in a packet.
    payload: u64,
    /// Overhead bytes of a packet, and time of a packet in addition to its bytes.
    overhead_bytes: u64,
    overhead_time: Duration,
    /// Data requested by one packet in the other direction, and time of that packet.
    bytes_per_request: u64,
    request_time: Duration,
    /// Time before the first data of a transfer.
    first: Duration,
    /// Delays during which the wire is free.
    delay: Duration,
}

/// The link, with the time until which it is busy.
#[derive(Clone, Debug)]
pub struct Link {
    wire: Wire,
    /// Whether only one direction is used at a time. Short messages then wait like data.
    half_duplex: bool,
    turn: u64,
    submission: MessageCost,
    fetch: MessageCost,
    completion: MessageCost,
    data: [DataCost; 2],
    taken_until: [Instant; 2],
    busy: [Duration; 2],
}

state!(Link {
    values { taken_until, busy }
    fixed { wire, half_duplex, turn, submission, fetch, completion, data }
});

impl Link {
    /// A PCI Express link.
    pub fn pcie(link: &PcieFile) -> Self {
        let wire = Wire::pcie(link);
        let to_device = |bytes| [wire.time(bytes), Duration::ZERO];
        let to_host = |bytes| [Duration::ZERO, wire.time(bytes)];
        let fetched = [wire.time(PCIE_COMPLETION + NVME.entry), wire.time(PCIE_REQUEST)];
        let reported = 2 * PCIE_REQUEST + NVME.completion + NVME.interrupt;
        let written = DataCost {
            payload: link.max_payload.0,
            overhead_bytes: PCIE_COMPLETION,
            overhead_time: Duration::ZERO,
            bytes_per_request: link.max_read_request.0,
            request_time: wire.time(PCIE_REQUEST),
            first: wire.time(PCIE_REQUEST),
            delay: link.latency * 2,
        };
        let read = DataCost {
            overhead_bytes: PCIE_REQUEST,
            request_time: Duration::ZERO,
            first: Duration::ZERO,
            delay: Duration::ZERO,
            ..written
        };
        Self {
            wire,
            half_duplex: false,
            turn: PCIE_TURN,
            submission: MessageCost { on_wire: to_device(PCIE_REQUEST + NVME.doorbell), delay: link.latency },
            fetch: MessageCost { on_wire: fetched, delay: link.latency * 2 },
            completion: MessageCost { on_wire: to_host(reported), delay: link.latency },
            data: [written, read],
            taken_until: [Instant::ZERO; 2],
            busy: [Duration::ZERO; 2],
        }
    }

    /// A Serial ATA link.
    pub fn sata(link: &SataFile) -> Self {
        let wire = Wire::sata(link);
        let frame = |bytes| wire.time(bytes) + link.handshake;
        let message = |time| MessageCost { on_wire: [time, Duration::ZERO], delay: Duration::ZERO };
        let read = DataCost {
            payload: SATA_PAYLOAD,
            overhead_bytes: SATA.data,
            overhead_time: link.handshake,
            bytes_per_request: SATA_PAYLOAD,
            request_time: Duration::ZERO,
            first: frame(SATA.setup),
            delay: Duration::ZERO,
        };
        // The DMA setup activates the first data frame to the device.
        let activate = frame(SATA.activate);
        let written =
            DataCost { request_time: activate, first: frame(SATA.setup).saturating_sub(activate), ..read };
        Self {
            wire,
            half_duplex: true,
            turn: SATA_PAYLOAD,
            submission: message(frame(SATA.command) + frame(SATA.release)),
            fetch: MessageCost::default(),
            completion: message(frame(SATA.done)),
            data: [written, read],
            taken_until: [Instant::ZERO; 2],
            busy: [Duration::ZERO; 2],
        }
    }

    /// Multiplies all times by this factor from now on.
    pub fn change_times(&mut self, factor: Factor) {
        self.wire = self.wire.with(factor);
        for message in [&mut self.submission, &mut self.fetch, &mut self.completion] {
            message.on_wire = message.on_wire.map(|time| factor.of(time));
            message.delay = factor.of(message.delay);
        }
        for data in &mut self.data {
            for time in [&mut data.overhead_time, &mut data.request_time, &mut data.first, &mut data.delay] {
                *time = factor.of(*time);
            }
        }
    }

    /// Sends the submission of a command to the device. Returns the time of arrival.
    #[inline]
    pub fn submit(&mut self, now: Instant) -> Instant {
        self.send(self.submission, now)
    }

    /// Fetches a command. Returns the time when the device has it.
    #[inline]
    pub fn fetch(&mut self, now: Instant) -> Instant {
        self.send(self.fetch, now)
    }

    /// Sends the completion of a command to the host. Returns the time of arrival.
    #[inline]
    pub fn complete(&mut self, now: Instant) -> Instant {
        self.send(self.completion, now)
    }

    /// Sends a message. On PCI Express it goes between the packets of other transfers: it does not wait for
    /// data, and data wait for it. On Serial ATA it waits like any frame.
    fn send(&mut self, message: MessageCost, now: Instant) -> Instant {
        let [to_device, to_host] = message.on_wire;
        let ends = if self.half_duplex {
            self.take(Direction::ToDevice, now, to_device)
        } else {
            self.interleave(Direction::ToDevice, now, to_device);
            self.interleave(Direction::ToHost, now, to_host);
            now + to_device + to_host
        };
        ends + message.delay
    }

    /// Performs the next turn of a transfer, which reduces `left`. Returns the time when the wire is free for
    /// the next turn. After the last turn, returns the time when the data have arrived.
    pub fn transfer(&mut self, way: Direction, left: &mut u64, is_first: bool, now: Instant) -> Instant {
        let data = self.data[way as usize];
        let size = self.turn.min(*left);
        *left -= size;
        let packets = size.div_ceil(data.payload);
        let mut on_wire = self.wire.time(size + packets * data.overhead_bytes) + data.overhead_time * packets;
        let request_time = data.request_time * size.div_ceil(data.bytes_per_request);
        let begins = if is_first { data.first } else { Duration::ZERO };
        let ends = if self.half_duplex {
            on_wire += request_time + begins;
            self.take(way, now, on_wire)
        } else {
            let other = if way == Direction::ToDevice { Direction::ToHost } else { Direction::ToDevice };
            self.interleave(other, now, request_time);
            self.take(way, now + begins, on_wire)
        };
        if *left == 0 { ends + data.delay } else { ends }
    }

    fn lane(&self, way: Direction) -> usize {
        if self.half_duplex { 0 } else { way as usize }
    }

    /// Occupies a direction for `time` as soon as it is free. Returns the time when it is free again.
    fn take(&mut self, way: Direction, now: Instant, time: Duration) -> Instant {
        let lane = self.lane(way);
        let ends = self.taken_until[lane].max(now) + time;
        self.taken_until[lane] = ends;
        self.busy[lane] += time;
        ends
    }

    /// Occupies a direction for `time` between the packets of other transfers, which are delayed by this
    /// time.
    fn interleave(&mut self, way: Direction, now: Instant, time: Duration) {
        if time > Duration::ZERO {
            self.take(way, now, time);
        }
    }

    /// The link after a power cut at `now`: idle, with its busy time so far.
    #[must_use]
    pub fn cut(&self, now: Instant) -> Self {
        let mut busy = [Duration::ZERO; 2];
        busy.iter_mut().zip(self.busy(now)).for_each(|(kept, so_far)| *kept = so_far);
        Self { taken_until: [Instant::ZERO; 2], busy, ..self.clone() }
    }

    /// Busy time until `end` of each direction, to the device and to the host. A half-duplex link has one
    /// busy time.
    pub fn busy(&self, end: Instant) -> impl Iterator<Item = Duration> + '_ {
        let lanes = if self.half_duplex { 1 } else { 2 };
        // Busy time after `end` is contiguous and begins at `end`.
        let so_far = move |lane: usize| {
            let beyond = self.taken_until[lane].max(end) - end;
            self.busy[lane].saturating_sub(beyond)
        };
        (0..lanes).map(so_far)
    }

    /// Peak bandwidth of one direction in bytes per second, without commands: full turns, one after another.
    pub fn peak(&self, way: Direction) -> f64 {
        let mut idle = Self { taken_until: [Instant::ZERO; 2], ..self.clone() };
        // Another turn follows, so the delay at the end of a transfer does not count.
        let mut left = 3 * self.turn;
        let first = idle.transfer(way, &mut left, false, Instant::ZERO);
        let second = idle.transfer(way, &mut left, false, first);
        self.turn as f64 / (second - first).seconds()
    }

    /// Link time of a command with `bytes` of data in one direction, on an idle link.
    pub fn unloaded(&self, way: Direction, bytes: u64) -> Duration {
        let mut idle = Self { taken_until: [Instant::ZERO; 2], ..self.clone() };
        let mut now = idle.submit(Instant::ZERO);
        now = idle.fetch(now);
        let mut left = bytes;
        let mut is_first = true;
        while left > 0 {
            now = idle.transfer(way, &mut left, is_first, now);
            is_first = false;
        }
        idle.complete(now) - Instant::ZERO
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Bytes;

    use super::*;

    fn pcie(generation: u32, lanes: u32) -> Link {
        Link::pcie(&PcieFile { generation, lanes, ..PcieFile::default() })
    }

    fn sata() -> Link {
        Link::sata(&SataFile::default())
    }

    #[test]
    fn a_lane_with_a_bandwidth_carries_just_that() {
        let link = PcieFile { lane_bandwidth: Some(Bytes(400_000_000)), lanes: 4, ..PcieFile::default() };
        // 1.6 GB a second.
        assert_eq!(Wire::pcie(&link).time(16_000), Duration::from_us(10));
    }

    /// Time of bytes on four lanes of generation 3: 32 bits a nanosecond, of which 128 in 130 are data.
    fn on_four_lanes(bytes: u64) -> Duration {
        Duration::from_ps((bytes * 8 * 130 * 1_000).div_ceil(128 * 32))
    }

    #[test]
    fn a_lane_carries_what_its_generation_is_known_for() {
        // Megabytes per second of one lane, without packet overhead: 250, 500, 985, 1969 and 3938.
        for (generation, wanted) in [(1, 250.0), (2, 500.0), (3, 984.6), (4, 1969.2), (5, 3938.5)] {
            let wire = Wire::pcie(&PcieFile { generation, lanes: 1, ..PcieFile::default() });
            let rate = 1e6 / wire.time(1_000_000).us();
            assert!((rate - wanted).abs() < 0.1, "generation {generation}: {rate} MB/s");
        }
        assert_eq!(Wire::sata(&SataFile::default()).time(600), Duration::from_us(1));
    }

    #[test]
    fn a_packet_of_256_bytes_takes_280_on_the_wire() {
        let peak = pcie(3, 4).peak(Direction::ToHost);
        let wanted = 256.0 / 280.0 * 32e9 / 8.0 * 128.0 / 130.0;
        assert!((peak / wanted - 1.0).abs() < 1e-6, "{peak} of {wanted}");
    }

    #[test]
    fn data_wait_for_their_direction_and_not_for_the_other() {
        let mut link = pcie(3, 4);
        let time = on_four_lanes(4096 + 16 * 24) - Duration::ZERO;
        let now = Instant::ZERO;
        let first = link.transfer(Direction::ToHost, &mut 4096, true, now);
        assert_eq!(first - now, time);
        assert_eq!(link.transfer(Direction::ToHost, &mut 4096, true, now) - first, time);
        let request = on_four_lanes(24);
        let written = request + on_four_lanes(4096 + 16 * 20) + Duration::from_ns(500);
        assert_eq!(link.transfer(Direction::ToDevice, &mut 4096, true, now) - now, written);
    }

    #[test]
    fn a_message_passes_data_which_pay_for_it() {
        let mut link = pcie(3, 4);
        let mut left = 16_384;
        let now = Instant::ZERO;
        let first = link.transfer(Direction::ToHost, &mut left, true, now);
        let message = on_four_lanes(2 * 24 + 20);
        assert_eq!(link.complete(now) - now, message + Duration::from_ns(250));
        let second = link.transfer(Direction::ToHost, &mut 4096, true, now);
        assert_eq!(second - first, message + on_four_lanes(4096 + 16 * 24));
    }

    #[test]
    fn serial_ata_does_one_thing_at_a_time() {
        let mut link = sata();
        let now = Instant::ZERO;
        let handshake = Duration::from_ns(100);
        let frame = |bytes: u64| Duration::from_ps((bytes * 10_000).div_ceil(6)) + handshake;
        let read = link.transfer(Direction::ToHost, &mut 4096, true, now);
        assert_eq!(read - now, frame(12 + 28) + frame(4096 + 16));
        let written = link.transfer(Direction::ToDevice, &mut 8192, true, now);
        assert_eq!(written - read, frame(12 + 28) + frame(8192 + 16));
        assert_eq!(link.complete(now) - written, frame(12 + 8));
    }

    #[test]
    fn a_long_transfer_to_a_serial_ata_device_is_activated_frame_by_frame() {
        let mut link = sata();
        let mut left = 16_384;
        let first = link.transfer(Direction::ToDevice, &mut left, true, Instant::ZERO);
        assert_eq!(left, 8192);
        let frame = |bytes: u64| Duration::from_ps((bytes * 10_000).div_ceil(6)) + Duration::from_ns(100);
        let second = link.transfer(Direction::ToDevice, &mut left, false, first);
        assert_eq!(second - first, frame(12 + 4) + frame(8192 + 16));
    }

    #[test]
    fn the_busy_time_is_that_of_the_wire() {
        let mut link = pcie(3, 4);
        let end = link.transfer(Direction::ToHost, &mut 4096, true, Instant::ZERO);
        let half = Instant::from_ps(end.ps() / 2);
        assert_eq!(link.busy(end).collect::<Vec<_>>(), [Duration::ZERO, end - Instant::ZERO]);
        assert_eq!(link.busy(half).nth(1), Some(half - Instant::ZERO));
    }
}
