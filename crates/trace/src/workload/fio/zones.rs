//! Zones that are written in order (`zonemode=zbd`): each zone has a write pointer, and a full zone is written
//! again from its start. On a zoned namespace a zone is reset before.

/// The zones of the device. All jobs share them.
#[derive(Clone, Debug)]
pub struct Zones {
    size: u64,
    /// Bytes of a zone that can be written.
    capacity: u64,
    /// Bytes written in each zone. At the beginning the zones of a conventional device are full, as the device is.
    written: Vec<u64>,
    /// Whether the device is a zoned namespace.
    has_commands: bool,
    open: Vec<OpenZone>,
    /// Most open zones; 0 for any number.
    max_open: u64,
}

#[derive(Clone, Copy, Debug)]
struct OpenZone {
    zone: u64,
    /// Job that opened it.
    lane: u16,
}

/// The part of a zone that a request accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InZone {
    pub address: u64,
    pub size: u64,
    /// Whether the zone begins anew, for which the job waits until its requests have completed.
    pub resets: bool,
}

/// A request before it is fitted to the zones.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub lane: u16,
    pub address: u64,
    pub size: u64,
    /// Smallest size of the job, to which sizes are rounded.
    pub unit: u64,
    /// First byte of the part that the job accesses, and the byte behind it.
    pub part: (u64, u64),
    pub is_random: bool,
    /// Most open zones of the job; 0 for any number.
    pub max_open: u64,
}

impl Zones {
    /// Creates the zones of a device of `device` bytes. `filled`: bytes already written to the zones of a zoned
    /// namespace, zone by zone from the first on; `None` for a conventional device.
    pub fn new(device: u64, size: u64, capacity: u64, max_open: u64, filled: Option<u64>) -> Self {
        let capacity = if capacity > 0 { capacity.min(size) } else { size };
        let of_zone =
            |zone: u64| filled.map_or(capacity, |bytes| bytes.saturating_sub(zone * capacity).min(capacity));
        let written = (0..device / size).map(of_zone).collect();
        Self { size, capacity, written, has_commands: filled.is_some(), open: Vec::new(), max_open }
    }

    /// Whether the device is a zoned namespace, which resets zones by commands.
    pub fn has_commands(&self) -> bool {
        self.has_commands
    }

    /// Fits a write: at the write pointer of its zone, or of an open zone.
    pub fn write(&mut self, wanted: Wanted) -> Option<InZone> {
        let zone = self.writable(wanted)?;
        let index = zone as usize;
        let mut resets = false;
        if self.capacity - self.written[index] < wanted.unit {
            (self.written[index], resets) = (0, true);
        }
        let room = self.capacity - self.written[index];
        let size = wanted.size.min(room) / wanted.unit * wanted.unit;
        let address = zone * self.size + self.written[index];
        self.written[index] += size;
        if self.capacity - self.written[index] < wanted.unit {
            self.open.retain(|open| open.zone != zone);
        }
        (size > 0).then_some(InZone { address, size, resets })
    }

    /// Returns the zone of an address, if it is or can be open, else an open one of the same part.
    fn writable(&mut self, wanted: Wanted) -> Option<u64> {
        // As in fio, a sequential job goes on in the next zone once it is at the capacity of one.
        let is_beyond = !wanted.is_random && wanted.address % self.size >= self.capacity;
        let zone = wanted.address / self.size + u64::from(is_beyond);
        if zone as usize >= self.written.len() || is_beyond && zone * self.size >= wanted.part.1 {
            return None;
        }
        if self.open.iter().any(|open| open.zone == zone) {
            return Some(zone);
        }
        let own = self.open.iter().filter(|open| open.lane == wanted.lane).count() as u64;
        let is_below = |most: u64, count: u64| most == 0 || count < most;
        if is_below(self.max_open, self.open.len() as u64) && is_below(wanted.max_open, own) {
            self.open.push(OpenZone { zone, lane: wanted.lane });
            return Some(zone);
        }
        // As in fio, the place in the part selects among the open zones.
        let (begin, end) = wanted.part;
        let count = self.open.len() as u64;
        let first = (wanted.address - begin) * count / (end - begin).max(1);
        let all = (0..count).map(|n| self.open[((first + n) % count) as usize].zone);
        let is_inside = |zone: &u64| zone * self.size >= begin && (zone + 1) * self.size <= end;
        all.into_iter().find(is_inside).or_else(|| {
            // All open zones are elsewhere: the oldest is closed.
            self.open.remove(0);
            self.open.push(OpenZone { zone, lane: wanted.lane });
            Some(zone)
        })
    }

    /// Fits a read: below the write pointer of a zone.
    pub fn read(&self, wanted: Wanted) -> Option<InZone> {
        let Wanted { address, size, unit, is_random, .. } = wanted;
        let mut zone = address / self.size;
        let mut inside = address % self.size;
        let has_data = |zone: u64| self.written.get(zone as usize).is_some_and(|written| *written >= unit);
        if !has_data(zone) || !is_random && inside + unit > self.written[zone as usize] {
            let (begin, end) = (wanted.part.0.div_ceil(self.size), wanted.part.1 / self.size);
            let before = if is_random { begin..zone } else { 0..0 };
            zone = (zone + 1..end).chain(before).find(|zone| has_data(*zone))?;
            inside = 0;
        }
        let written = self.written[zone as usize];
        if inside + unit > written {
            inside = inside % written / unit * unit;
        }
        let inside = inside.min(written - unit);
        Some(InZone { address: zone * self.size + inside, size: size.min(written - inside), resets: false })
    }

    /// Fits a trim: a whole zone that is not empty, which is empty afterwards.
    pub fn trim(&mut self, wanted: Wanted) -> Option<InZone> {
        let zone = wanted.address / self.size;
        let (begin, end) = (wanted.part.0.div_ceil(self.size), wanted.part.1 / self.size);
        let has_data = |zone: &u64| self.written.get(*zone as usize).is_some_and(|written| *written > 0);
        let zone = (zone..end).chain(begin..zone).find(has_data)?;
        self.written[zone as usize] = 0;
        self.open.retain(|open| open.zone != zone);
        Some(InZone { address: zone * self.size, size: self.size, resets: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: u64 = 1 << 20;

    fn wanted(address: u64) -> Wanted {
        let part = (0, 16 * ZONE);
        Wanted { lane: 0, address, size: 65_536, unit: 65_536, part, is_random: true, max_open: 0 }
    }

    #[test]
    fn a_zone_is_written_in_order_and_anew_once_it_is_full() {
        let mut zones = Zones::new(16 * ZONE, ZONE, 0, 0, None);
        let all: Vec<InZone> =
            (0..17).map(|_| zones.write(wanted(3 * ZONE + 123_456)).expect("room")).collect();
        for (n, write) in all.iter().enumerate() {
            let address = 3 * ZONE + n as u64 % 16 * 65_536;
            assert_eq!((write.address, write.size, write.resets), (address, 65_536, n % 16 == 0), "{n}");
        }
    }

    #[test]
    fn a_sequential_job_skips_what_is_behind_the_capacity_of_a_zone() {
        let mut zones = Zones::new(4 * ZONE, ZONE, ZONE / 2, 0, Some(0));
        let mut address = 0;
        let mut all = Vec::new();
        let part = (0, 2 * ZONE);
        while let Some(write) = zones.write(Wanted { is_random: false, part, ..wanted(address) }) {
            assert!(!write.resets, "empty zones need no reset");
            address = write.address + write.size;
            all.push(write.address / 65_536);
        }
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]);
    }

    #[test]
    fn no_more_zones_are_open_than_allowed() {
        let mut zones = Zones::new(16 * ZONE, ZONE, 0, 2, None);
        let zone = |write: InZone| write.address / ZONE;
        assert_eq!(zone(zones.write(wanted(0)).expect("room")), 0);
        assert_eq!(zone(zones.write(wanted(9 * ZONE)).expect("room")), 9);
        let others: Vec<u64> = (0..16).map(|n| zone(zones.write(wanted(n * ZONE)).expect("room"))).collect();
        assert!(others.iter().all(|zone| [0, 9].contains(zone)), "{others:?}");
    }

    #[test]
    fn reads_find_what_was_written_and_a_trim_empties_a_zone() {
        let mut zones = Zones::new(16 * ZONE, ZONE, 0, 0, None);
        zones.write(wanted(ZONE)).expect("room");
        let read = zones.read(wanted(ZONE + 10 * 65_536)).expect("data");
        assert_eq!((read.address, read.size), (ZONE, 65_536));
        let trim = zones.trim(wanted(2 * ZONE + 5)).expect("a full zone");
        assert_eq!((trim.address, trim.size), (2 * ZONE, ZONE));
        assert_eq!(zones.read(wanted(2 * ZONE)).expect("another zone").address, 3 * ZONE);
        assert_eq!(zones.trim(wanted(2 * ZONE)).expect("another zone").address, 3 * ZONE);
    }
}
