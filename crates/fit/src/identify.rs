//! Closed forms: a first guess at each parameter, and the parameters that a search can find at all.

use libm::{floor, log2, pow};

use crate::drive::Drive;
use crate::measurement::{Load, Quantity, Statistic};
use crate::twin::{Link, Parameter, SlcCache, Twin};

/// Time of a write of 4 KiB beside the firmware: link and buffer. As simulated.
const WRITE_PATH: f64 = 3.1;

/// Time of a read beside firmware, sensing and the transfer on the flash bus: the link. As simulated.
const READ_PATH: f64 = 1.95;

/// Modes of the flash bus that are tried, each with its rate in bytes a microsecond, the usual one first: 1200,
/// 800 and 1600 MT/s of NV-DDR3. Chosen: those of parts from 2018 on.
pub const BUSES: [(u8, f64); 3] = [(12, 1200.0), (10, 800.0), (15, 1600.0)];

/// Firmware time if no write was measured. Chosen, as in the preset `bench-tlc`.
const COMMAND: f64 = 3.0;

/// Read, program and suspend times if nothing identifies them (part `tlc-512g`; suspend: chosen, as in studies of
/// drives that suspend).
const READ: [f64; 3] = [40.0, 50.0, 50.0];
const PROGRAM: f64 = 1440.0;
const SUSPEND: f64 = 50.0;
const SLC_PROGRAM: f64 = 350.0;

/// Largest payload of a packet of the link, in bytes. Chosen: that of most hosts.
const PAYLOAD: u32 = 256;

/// Bytes of a die: 512 Gb.
const DIE: f64 = 68_719_476_736.0;

/// Numbers of units that are tried where reads by depth identify them. Chosen: steps of a quarter at most, as the
/// depth at which throughput bends differs by as much.
pub const UNITS: [u32; 16] = [4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128];

/// Least depth of reads that identifies the number of units. Chosen: few reads meet below it.
const DEEP: u64 = 16;

/// The twin by closed forms.
pub fn first_guess(drive: &Drive, scale: u32) -> Option<Twin> {
    let capacity = drive.property(Quantity::Capacity)? * 1e9;
    let space = drive.property(Quantity::Space).map_or_else(|| next_power_of_two(capacity), |gb| gb * 1e9);
    let link =
        [Quantity::LinkGeneration, Quantity::LinkLanes].map(|one| drive.property(one).unwrap_or(4.0) as u32);
    let mut twin = Twin {
        name: format!("twin-{}", drive.name),
        model: drive.model.clone(),
        capacity,
        space,
        units: dies(space),
        read: READ,
        program: PROGRAM,
        suspend: SUSPEND,
        command: COMMAND,
        link: Link { generation: link[0].clamp(1, 5), lanes: link[1].clamp(1, 16), payload: PAYLOAD },
        bus: BUSES[0].0,
        cache: None,
        scale,
    };
    if let Some(write) = write_latency(drive) {
        twin.command = (write - WRITE_PATH).max(0.5);
    }
    if let Some(read) = read_times(drive) {
        let path = twin.command + READ_PATH + 4096.0 / BUSES[0].1;
        twin.read = read.map(|time| (time - path).max(5.0));
        twin.read.sort_by(f64::total_cmp);
    }
    let write_load = [Load::FreshWrites, Load::NativeWrites].into_iter();
    let rate = write_load.filter_map(|load| drive.value(Quantity::Throughput, load)).next();
    if let Some(rate) = rate.or_else(|| fastest_writes(drive)) {
        twin.program = twin.program_of_rate(rate * 1e6);
    }
    if let Some(size) = drive.property(Quantity::SlcCache) {
        let rate = drive.value(Quantity::Throughput, Load::CacheWrites);
        let program = rate.map_or(SLC_PROGRAM, |rate| twin.slc_program_of_rate(rate * 1e6));
        twin.cache = Some(SlcCache { size: size * 1e9, program });
    }
    Some(twin)
}

/// Throughput of the fastest sequential writes in a closed loop, in MB/s.
fn fastest_writes(drive: &Drive) -> Option<f64> {
    let rates = drive.measured.iter().filter_map(|one| match (one.load, one.quantity) {
        (Load::Writes { size, .. }, Quantity::Iops) => Some(one.value * size as f64 / 1e6),
        _ => None,
    });
    rates.max_by(f64::total_cmp)
}

/// Dies of 512 Gb that hold this much flash: a multiple of eight, from sixteen on.
fn dies(space: f64) -> u32 {
    let dies = (space / DIE + 0.5) as u32;
    if dies < 16 { dies.max(1) } else { (dies + 3) / 8 * 8 }
}

/// The flash of a drive of this capacity: the next power of two of GiB, of which drives of 1.92 and of 2 TB
/// leave out 12.7 and 9.1 %.
fn next_power_of_two(capacity: f64) -> f64 {
    let gib = 1_073_741_824.0;
    pow(2.0, floor(log2(capacity / gib)) + 1.0) * gib
}

/// Latency of a write that nothing delays: the lowest median.
pub fn write_latency(drive: &Drive) -> Option<f64> {
    let medians =
        drive.measured.iter().filter(|one| one.quantity == Quantity::Write(Statistic::Percentile(50.0)));
    medians.map(|one| one.value).min_by(f64::total_cmp)
}

/// Latencies of reads of the three pages of a word line that nothing delays, from the load with the fewest
/// outstanding requests: its 10th, 50th and 90th percentile. Beside writes the 90th is one of delays.
fn read_times(drive: &Drive) -> Option<[f64; 3]> {
    let at = |load: Load, rank: f64| drive.value(Quantity::Read(Statistic::Percentile(rank)), load);
    let load = drive.loads().into_iter().find(|load| at(*load, 50.0).is_some())?;
    let middle = at(load, 50.0)?;
    let fast = at(load, 10.0).unwrap_or(0.9 * middle);
    let slow = match load {
        Load::RandomReads { .. } => at(load, 90.0).unwrap_or(middle),
        _ => 1.1 * middle,
    };
    Some([fast, middle, slow])
}

/// Whether the loads use the flash bus, so that its rate shows.
pub fn identifies_bus(drive: &Drive) -> bool {
    let shows = |load: &Load| matches!(load, Load::RandomReads { .. } | Load::Beside { .. });
    drive.loads().iter().any(shows)
}

/// Whether reads by depth identify the number of units.
pub fn identifies_units(drive: &Drive) -> bool {
    drive.loads().iter().any(|load| matches!(load, Load::RandomReads { .. }) && load.outstanding() >= DEEP)
}

/// The parameters that the measurements can identify.
pub fn free(drive: &Drive, twin: &Twin) -> Vec<Parameter> {
    let has =
        |is: &dyn Fn(Load, Quantity) -> bool| drive.measured.iter().any(|one| is(one.load, one.quantity));
    let is_read = |load: Load| matches!(load, Load::RandomReads { .. } | Load::Beside { .. });
    let mut free = Vec::new();
    let medians =
        has(&|load, quantity| is_read(load) && quantity == Quantity::Read(Statistic::Percentile(50.0)));
    let tails =
        has(&|load, quantity| is_read(load) && quantity == Quantity::Read(Statistic::Percentile(90.0)));
    if medians && tails {
        free.extend([Parameter::FastRead, Parameter::MiddleRead, Parameter::SlowRead]);
    } else if has(&|load, quantity| is_read(load) && matches!(quantity, Quantity::Read(_) | Quantity::Iops)) {
        free.push(Parameter::Read);
    }
    let programs = |load: Load| {
        matches!(load, Load::Writes { .. } | Load::FreshWrites | Load::SteadyWrites | Load::NativeWrites)
    };
    if has(&|load, quantity| programs(load) && matches!(quantity, Quantity::Throughput | Quantity::Iops)) {
        free.push(Parameter::Program);
    }
    if twin.cache.is_some() && has(&|load, _| load == Load::CacheWrites) {
        free.push(Parameter::SlcProgram);
    }
    if has(&|load, quantity| matches!(load, Load::Beside { .. }) && matches!(quantity, Quantity::Read(_))) {
        free.push(Parameter::Suspend);
    }
    free
}
