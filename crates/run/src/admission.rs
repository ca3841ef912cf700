//! Converts requests to device commands and detects requests that the device cannot take.

use wordline_device::block_device::Shape;
use wordline_device::{Command, Operation, SECTOR};
use wordline_host::{Arrival, Pace};
use wordline_kernel::{Bytes, Instant};

use wordline_trace::{Op, Request};

/// The limits of a device on requests: addresses, alignment, default stream and pace.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    namespace: u16,
    /// Size of the namespace in 512-byte sectors.
    sectors: u64,
    /// Logical block size of the device.
    sector_size: Bytes,
    /// The stream of writes that do not name a stream.
    stream: u8,
    pace: Pace,
    /// The operations that the device executes: one bit for each.
    executes: u16,
}

/// Operation of the command for a request.
#[inline]
const fn operation_of(op: Op) -> Operation {
    match op {
        Op::Read => Operation::Read,
        Op::Write => Operation::Write,
        Op::Discard => Operation::Discard,
        Op::Flush => Operation::Flush,
        Op::WriteZeroes => Operation::WriteZeroes,
        Op::Compare => Operation::Compare,
        Op::ZoneAppend => Operation::ZoneAppend,
        Op::ZoneReset => Operation::ZoneReset,
        Op::ZoneFinish => Operation::ZoneFinish,
        Op::ZoneOpen => Operation::ZoneOpen,
        Op::ZoneClose => Operation::ZoneClose,
    }
}

/// Operation of the request that a command stands for.
pub const fn op_of(operation: Operation) -> Op {
    Op::ALL[operation as usize]
}

impl Admission {
    /// The limits of a device on requests to one of its namespaces; `namespace` counts from 0.
    pub fn new(shape: &Shape, namespace: u16, stream: u8, pace: Pace) -> Self {
        let sectors = shape.namespaces[usize::from(namespace)];
        let executed = Operation::ALL.into_iter().filter(|operation| shape.executes(*operation));
        let executes = executed.map(|operation| 1 << operation as u16).sum();
        Self { namespace, sectors, sector_size: shape.sector_size, stream, pace, executes }
    }

    /// Converts a request to a command for the 512-byte sectors that contain its bytes. A flush has no
    /// sectors: it covers the whole device. Zone management has none either: it covers the zone at its offset.
    #[inline]
    pub fn arrival(&self, request: &Request, tag: u32) -> Arrival {
        let operation = operation_of(request.op);
        let (sector, end) = match request.op {
            Op::Flush => (0, 0),
            op if op.is_zone_management() => (request.offset.0 / SECTOR.0, request.offset.0 / SECTOR.0),
            _ => (request.offset.0 / SECTOR.0, (request.offset.0 + request.size.0).div_ceil(SECTOR.0)),
        };
        let command = Command {
            operation,
            fua: request.fua,
            stream: if request.stream > 0 { request.stream } else { self.stream },
            namespace: self.namespace,
            queue: request.cpu.unwrap_or(0),
            sector,
            sectors: end - sector,
            tag,
            expected: 0,
        };
        Arrival { time: request.arrival, command }
    }

    /// Whether the device can take an arrival.
    #[inline]
    pub fn accepts(&self, arrival: &Arrival) -> bool {
        let Command { sector, sectors, operation, .. } = arrival.command;
        let in_sector = self.sector_size.0 / SECTOR.0;
        // `in_sector` is a power of two, so one OR tests the alignment of both numbers.
        sector + sectors <= self.sectors
            && (sector | sectors) & (in_sector - 1) == 0
            && self.executes >> operation as u16 & 1 != 0
            && self.pace.is_due_by(arrival, Instant::LIMIT)
    }

    /// Whether the arrival time of a request lies before `now`; both count from the beginning of the run.
    pub fn is_late(&self, arrival: &Arrival, now: Instant) -> bool {
        self.pace.is_due_before(arrival, now)
    }

    /// Whether a request arrives before `time`; false for paces that ignore arrival times.
    pub fn is_before(&self, arrival: &Arrival, time: Instant) -> bool {
        matches!(self.pace, Pace::Open { .. } | Pace::Bounded { .. }) && arrival.time < time
    }

    /// The error of a request that the device cannot take, with the value found and the value wanted.
    #[cold]
    #[inline(never)]
    pub fn rejection(&self, request: &Request, arrival: &Arrival) -> (String, String) {
        let Command { sector, sectors, operation, .. } = arrival.command;
        if self.executes >> operation as u16 & 1 == 0 {
            let skipped = match operation {
                Operation::Discard => " (--trace-option discards=skip leaves the others of a trace out)",
                Operation::WriteZeroes => {
                    " (--trace-option write_zeroes=skip leaves the others of a trace out)"
                }
                _ => "",
            };
            let wanted = if operation.is_of_zones() {
                "an operation of conventional devices, or a device with `device = \"zoned-namespace\"`".into()
            } else {
                format!(
                    "an operation of zoned namespaces: read, write, flush, append, or reset, finish, open and close of \
                     zones{skipped}"
                )
            };
            return (operation.name().replace('_', " "), wanted);
        }
        let bytes = format!("bytes {} to {}", request.offset.0, request.offset.0 + request.size.0);
        let size = self.sector_size;
        if sector + sectors > self.sectors {
            (bytes, format!("an address within the device's {} bytes", self.sectors * SECTOR.0))
        } else if !(SECTOR * sector).0.is_multiple_of(size.0) || !(SECTOR * sectors).0.is_multiple_of(size.0)
        {
            (bytes, format!("whole sectors of the device, whose size is {size}"))
        } else {
            (
                format!("an arrival after {:.0} s of the trace's time", request.arrival.seconds()),
                format!("one within {:.0} s, 106 days, of simulated time", Instant::LIMIT.seconds()),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_for_the_request_that_it_came_from() {
        for op in Op::ALL {
            assert_eq!(op_of(operation_of(op)), op);
        }
    }
}
