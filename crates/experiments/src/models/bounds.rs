//! Closed forms for queueing and throughput, from the data-sheet timing of a part. `docs/VALIDATION.md` has
//! the derivations.

use wordline_kernel::{Bytes, Duration};
use wordline_nand::Part;

use crate::sweep::Point;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::arrival::Arrival;

/// Bus time and array time of one page command.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Service {
    bus: Duration,
    array: Duration,
}

impl Service {
    /// Time of bus and array in series, in seconds.
    fn whole(self) -> f64 {
        (self.bus + self.array).seconds()
    }

    /// Upper bound on commands per second with `channels` buses of `dies` arrays each. The kind of part that
    /// saturates first determines it.
    fn bound(self, channels: u32, dies: u32) -> f64 {
        let buses = f64::from(channels) / self.bus.seconds();
        let arrays = f64::from(channels) * f64::from(dies) / self.whole();
        buses.min(arrays)
    }
}

/// Latch cycles of a page command: the command, five addresses, and the second command. Data in come before
/// the second command, data out after it.
const CYCLES: u64 = 7;

/// Read of `size` from one page: tCS + 7 tWC + tWB, tR, tCS + tRPRE + tDQSRE, and the data transfer.
fn read(part: &Part, size: Bytes) -> Service {
    let bus = &part.bus;
    let latches = bus.t_cs + bus.t_wc * CYCLES + bus.t_wb;
    let data = bus.t_cs + bus.t_rpre + bus.t_dqsre + bus.burst_out(size);
    Service { bus: latches + data, array: part.read_time(0) }
}

/// Latency of a read of `size` without queueing, in seconds.
pub(crate) fn read_time(part: &Part, size: Bytes) -> f64 {
    read(part, size).whole()
}

/// Program of one page: tCS + 7 tWC + tADL + tWPST + tWPSTH + tWB, the data transfer, and tPROG.
fn program(part: &Part) -> Service {
    let bus = &part.bus;
    let latches = bus.t_cs + bus.t_wc * CYCLES + bus.t_adl + bus.t_wpst + bus.t_wpsth + bus.t_wb;
    Service { bus: latches + bus.burst_in(part.geometry.page_size), array: part.program_time(0) }
}

fn dies_of(point: &Point) -> (u32, u32) {
    let layout = &point.config().file.layout;
    (layout.channels, layout.packages_per_channel * layout.dies_per_package)
}

/// Mean response time of reads in microseconds, with Poisson arrivals. Each read occupies one die for the
/// same time `s`. The mean is `s + rho s / (2 (1 - rho))`, where `rho` is the utilisation of a die (Pollaczek
/// and Khinchine, for a constant service time). With one bus per die and uniform addresses, arrivals at each
/// die are Poisson too, with an equal share of the rate.
pub fn m_d_1(point: &Point) -> Result<f64> {
    let refuse = |found: String| {
        Err(Error::Argument {
            what: "model m-d-1".into(),
            found,
            wanted: "one die a channel, reads of one size with exponential times between them, fewer than the dies can serve"
                .into(),
        })
    };
    let (channels, dies) = dies_of(point);
    let Some(workload) = point.generated() else { return refuse("no generated workload".into()) };
    let (Arrival::Exponential { interval }, [one]) = (&workload.arrival, &workload.sizes[..]) else {
        return refuse("other arrivals, or several sizes".into());
    };
    let service = read(point.config().ftl.part(), one.size).whole();
    let busy = service / (interval.seconds() * f64::from(channels));
    if dies != 1 || busy >= 1.0 {
        return refuse(format!("{dies} dies a channel, busy for {busy} of the time"));
    }
    Ok(1e6 * (service + busy * service / (2.0 * (1.0 - busy))))
}

/// Upper bound on reads per second for a generated workload with one request size. A read occupies a bus for
/// command and data, and its die for these and tR.
pub fn reads(point: &Point) -> f64 {
    let (channels, dies) = dies_of(point);
    let size = point.generated().and_then(|workload| workload.sizes.first()).map(|share| share.size);
    read(point.config().ftl.part(), size.unwrap_or(point.config().ftl.geometry().page_size))
        .bound(channels, dies)
}

/// Upper bound on pages written per second. A write occupies a bus for command and data, and its die for
/// these and tPROG.
pub fn writes(point: &Point) -> f64 {
    let (channels, dies) = dies_of(point);
    program(point.config().ftl.part()).bound(channels, dies)
}
