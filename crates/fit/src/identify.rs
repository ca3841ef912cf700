//! Closed forms: a first guess at each parameter, and the parameters that a search can find at all.

use libm::{floor, log2, pow};
use wordline_lab::Error;

use crate::drive::Drive;
use crate::load::Load;
use crate::measurement::{MIB, Measurement, Quantity, Statistic};
use crate::twin::{BUSES, Link, Parameter, SlcCache, Twin};
use crate::zones::Zones;

/// Time of a write of 4 KiB beside the firmware: link and buffer. As simulated.
const WRITE_PATH: f64 = 3.1;

/// Time of a read beside firmware, sensing and the transfer on the flash bus: the link. As simulated.
const READ_PATH: f64 = 1.95;

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

/// Bytes of a die: 512 Gb, and 1 Tb with four bits a cell.
const DIE: f64 = 68_719_476_736.0;
const DIE_OF_FOUR_BITS: f64 = 2.0 * DIE;

/// Time of the link and the host for a command of 4 KiB over SATA, in place of `WRITE_PATH` and `READ_PATH`. As
/// simulated.
const SATA_PATH: f64 = 9.0;

/// Bytes after an idle time, as a part of the space behind the capacity, from which the drive has worked meanwhile.
/// Chosen: what is below is a pause of garbage collection, whose debt is paid.
const LEAST_GAIN: f64 = 0.01;

/// Time of the finish of a zone with few blocks from which it writes the rest, in microseconds. Chosen: no zone of
/// 10 MiB or more is written in less, and closing blocks takes a few programs.
const LEAST_PADDING: f64 = 50_000.0;

/// Numbers of units that are tried where reads by depth identify them. Chosen: steps of a quarter at most, as the
/// depth at which throughput bends differs by as much.
pub const UNITS: [u32; 16] = [4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128];

/// Least depth of reads that identifies the number of units. Chosen: few reads meet below it.
const DEEP: u64 = 16;

/// Rank of a percentile of reads of the fastest page of three.
const FASTEST: f64 = 33.0;

/// Space behind the capacity, as a factor of it. Chosen: garbage collection needs some of it, and drives have less
/// than twice as much.
const LEAST_SPACE: f64 = 1.01;
const MOST_SPACE: f64 = 4.0;

/// Smallest capacity, in GB: below it a plane has hardly a block.
const SMALLEST: f64 = 1.0;

/// Largest capacity, in GB. Chosen: ten times the largest drive of 2026.
const LARGEST: f64 = 2.5e6;

/// Checks that the properties of a drive make a device.
///
/// # Errors
/// [`Error::Argument`] for the property, with its origin.
pub fn check(drive: &Drive) -> Result<(), Error> {
    let capacity = drive.property(Quantity::Capacity).unwrap_or(0.0);
    let wrong = |quantity: Quantity, wanted: String| {
        let one = drive.measured.iter().find(|one| one.quantity == quantity && one.load == Load::Drive);
        let (found, what) = one.map_or((0.0, drive.name.clone()), |one| (one.value, one.source.clone()));
        Err(Error::Argument { what, found: format!("{quantity} = {found}"), wanted })
    };
    if !(SMALLEST..=LARGEST).contains(&capacity) {
        return wrong(Quantity::Capacity, format!("{SMALLEST} to {LARGEST} GB"));
    }
    let is_beyond = |space: f64| !(LEAST_SPACE * capacity..=MOST_SPACE * capacity).contains(&space);
    if drive.property(Quantity::Space).is_some_and(is_beyond) {
        let wanted = format!(
            "{LEAST_SPACE} to {MOST_SPACE} times the capacity of {capacity} GB, which the drive needs for garbage \
             collection: is it the bytes in use plus those before the first fall?"
        );
        return wrong(Quantity::Space, wanted);
    }
    let bits = drive.property(Quantity::BitsPerCell).unwrap_or(3.0);
    if ![1.0, 2.0, 3.0, 4.0].contains(&bits) {
        return wrong(Quantity::BitsPerCell, "1, 2, 3 or 4".into());
    }
    Ok(())
}

/// The twin by closed forms.
pub fn first_guess(drive: &Drive, scale: u32) -> Option<Twin> {
    let capacity = drive.property(Quantity::Capacity)? * 1e9;
    let space = drive.property(Quantity::Space).map_or_else(|| next_power_of_two(capacity), |gb| gb * 1e9);
    let bits = drive.property(Quantity::BitsPerCell).map_or(3, |bits| (bits as u32).clamp(1, 4));
    let link = link(drive);
    let is_sata = matches!(link, Link::Sata { .. });
    let [write_path, read_path] = if is_sata { [SATA_PATH; 2] } else { [WRITE_PATH, READ_PATH] };
    let mut twin = Twin {
        name: format!("twin-{}", drive.name),
        model: drive.model.clone(),
        capacity,
        space,
        units: dies(space, if bits == 4 { DIE_OF_FOUR_BITS } else { DIE }),
        read: READ,
        tied: false,
        program: PROGRAM,
        suspend: SUSPEND,
        command: COMMAND,
        interval: None,
        link,
        bus: BUSES[0].0,
        bits,
        split: 1,
        suspends: true,
        buffer: drive.property(Quantity::Buffer).map(|megabytes| megabytes * 1e6),
        cache: None,
        idle_gain: None,
        zones: zones(drive),
        scale,
    };
    if let Some(write) = write_latency(drive) {
        twin.command = (write - write_path).max(0.5);
    }
    if let Some(read) = read_times(drive) {
        let path = twin.command + read_path + 4096.0 / BUSES[0].1;
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
    let least = twin.cache.map_or(space - capacity, |cache| cache.size) * LEAST_GAIN;
    twin.idle_gain = drive.property(Quantity::IdleGain).map(|gain| gain * 1e9).filter(|gain| *gain > least);
    while !twin.holds_zones() {
        twin = twin.with_units(2 * twin.units);
    }
    while !twin.fits_zones() && twin.planes() > 1 {
        twin = twin.with_split(2 * twin.split);
    }
    Some(twin)
}

/// The link as the drive is described.
fn link(drive: &Drive) -> Link {
    if let Some(generation) = drive.property(Quantity::SataGeneration) {
        return Link::Sata { generation: (generation as u32).clamp(1, 3) };
    }
    let [generation, lanes] =
        [Quantity::LinkGeneration, Quantity::LinkLanes].map(|one| drive.property(one).unwrap_or(4.0) as u32);
    Link::Express { generation: generation.clamp(1, 5), lanes: lanes.clamp(1, 16), payload: PAYLOAD }
}

/// The zones of a drive, whose times are those of two resets: of the one with the fewest blocks written, and of the
/// one with the most. `None` if the drive is not described as zoned, and no time of a zone command was measured.
pub fn zones(drive: &Drive) -> Option<Zones> {
    let times = |of: fn(Load) -> Option<u32>| {
        let mut times: Vec<(f64, f64)> = drive
            .measured
            .iter()
            .filter(|one| one.quantity == Quantity::Mean)
            .filter_map(|one| Some((f64::from(of(one.load)?) * 4096.0, one.value)))
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        times
    };
    let resets = times(|load| match load {
        Load::ZoneReset { blocks } => Some(blocks),
        _ => None,
    });
    let finishes = times(|load| match load {
        Load::ZoneFinish { blocks } => Some(blocks),
        _ => None,
    });
    let described = drive.property(Quantity::ZoneCapacity).map(|mib| mib * MIB);
    let size = drive.property(Quantity::ZoneSize).map(|mib| mib * MIB);
    let written = resets.iter().chain(&finishes).map(|(bytes, _)| *bytes).fold(0.0, f64::max);
    let capacity = described.or(size).or((written > 0.0).then_some(written))?;
    // Lines through the two resets that are farthest apart.
    let reset = resets.first().zip(resets.last()).map(|((least, first), (most, last))| {
        let slope = if most > least { (last - first) / (most - least) } else { 0.0 };
        [first - slope * least, first + slope * (capacity - least)].map(|time| time.max(1.0))
    });
    let padded = finishes.first().map(|(_, time)| *time > LEAST_PADDING);
    Some(Zones {
        count: drive
            .property(Quantity::Zones)
            .or_else(|| drive.property(Quantity::Capacity).map(|gb| gb * 1e9 / capacity))?,
        size: size.unwrap_or_else(|| pow(2.0, libm::ceil(log2(capacity)))),
        capacity,
        open: drive.property(Quantity::OpenZones).map(|open| open as u32),
        reset,
        finish_pads: padded.unwrap_or(true),
    })
}

/// Throughput of the fastest sequential writes in a closed loop, in MB/s.
fn fastest_writes(drive: &Drive) -> Option<f64> {
    let rates = drive.measured.iter().filter_map(|one| match (one.load, one.quantity) {
        (Load::Writes { size, .. }, Quantity::Iops) => Some(one.value * size as f64 / 1e6),
        _ => None,
    });
    rates.max_by(f64::total_cmp)
}

/// Time between two commands at the greatest rate of reads, in microseconds. A limit of commands is no longer than
/// this. `None` if no rate of reads was measured.
pub fn shortest_interval(drive: &Drive) -> Option<f64> {
    let rates = drive.measured.iter().filter_map(|one| match (one.load, one.quantity) {
        (Load::RandomReads { .. }, Quantity::Iops) => Some(one.value),
        (Load::RandomReads { .. }, Quantity::Read(Statistic::Mean)) => {
            Some(one.load.outstanding() as f64 / one.value * 1e6)
        }
        _ => None,
    });
    rates.max_by(f64::total_cmp).map(|rate| 1e6 / rate)
}

/// Dies of `die` bytes that hold this much flash: a multiple of eight, from sixteen on.
fn dies(space: f64, die: f64) -> u32 {
    let dies = (space / die + 0.5) as u32;
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
    let is_of_flash = |load: &Load| !matches!(load, Load::TrimmedReads { .. });
    let load = drive.loads().into_iter().find(|load| is_of_flash(load) && at(*load, 50.0).is_some())?;
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
    let shows = |load: &Load| is_read(*load);
    drive.loads().iter().any(shows)
}

/// Whether flash is read under a load.
const fn is_read(load: Load) -> bool {
    matches!(
        load,
        Load::RandomReads { .. } | Load::Beside { .. } | Load::Mixed { .. } | Load::BesideSequential { .. }
    )
}

/// Whether reads meet programs under a load.
const fn is_beside_writes(load: Load) -> bool {
    matches!(load, Load::Beside { .. } | Load::Mixed { .. } | Load::BesideSequential { .. })
}

/// Whether reads beside writes were measured.
pub fn identifies_suspend(drive: &Drive) -> bool {
    drive.measured.iter().any(|one| is_beside_writes(one.load) && matches!(one.quantity, Quantity::Read(_)))
}

/// Whether the split of the program rate into the bytes and the time of a program shows: in the tail of reads beside
/// sequential writes at a rate. Beside random writes garbage collection delays reads as well, and its cost depends on
/// the space, which is known too coarsely to tell the split by it.
pub fn identifies_split(drive: &Drive) -> bool {
    let is_tail = |quantity| matches!(quantity, Quantity::Read(Statistic::Percentile(rank)) if rank > 90.0);
    let is_beside = |load| matches!(load, Load::BesideSequential { .. });
    let tails = drive.measured.iter().any(|one| is_beside(one.load) && is_tail(one.quantity));
    let rates = [Load::NativeWrites, Load::FreshWrites];
    tails
        && (fastest_writes(drive).is_some()
            || rates.into_iter().any(|load| drive.value(Quantity::Throughput, load).is_some()))
}

/// Whether reads by depth identify the number of units.
pub fn identifies_units(drive: &Drive) -> bool {
    drive.loads().iter().any(|load| matches!(load, Load::RandomReads { .. }) && load.outstanding() >= DEEP)
}

/// Whether reads have a percentile of a rank.
fn has_rank(drive: &Drive, is: fn(f64) -> bool) -> bool {
    let shows = |one: &Measurement| {
        is_read(one.load) && matches!(one.quantity, Quantity::Read(Statistic::Percentile(rank)) if is(rank))
    };
    drive.measured.iter().any(shows)
}

/// Whether percentiles of reads identify the pages of a word line one by one.
fn identifies_pages(drive: &Drive) -> bool {
    has_rank(drive, |rank| rank == 50.0) && has_rank(drive, |rank| rank == 90.0)
}

/// Whether only means of reads tell the fastest page, in which delays are as well: no low percentile was measured.
pub fn is_fastest_in_means(drive: &Drive) -> bool {
    identifies_pages(drive) && !has_rank(drive, |rank| rank <= FASTEST)
}

/// The parameters that the measurements can identify.
pub fn free(drive: &Drive, twin: &Twin) -> Vec<Parameter> {
    let has =
        |is: &dyn Fn(Load, Quantity) -> bool| drive.measured.iter().any(|one| is(one.load, one.quantity));
    let mut free = Vec::new();
    if identifies_pages(drive) {
        free.extend((!twin.tied).then_some(Parameter::FastRead));
        free.extend([Parameter::MiddleRead, Parameter::SlowRead]);
    } else if has(&|load, quantity| is_read(load) && matches!(quantity, Quantity::Read(_) | Quantity::Iops)) {
        free.push(Parameter::Read);
    }
    let programs = |load: Load| {
        matches!(
            load,
            Load::Writes { .. }
                | Load::FreshWrites
                | Load::SteadyWrites
                | Load::SteadyPart { .. }
                | Load::NativeWrites
                | Load::Mixed { .. }
        )
    };
    if has(&|load, quantity| programs(load) && matches!(quantity, Quantity::Throughput | Quantity::Iops)) {
        free.push(Parameter::Program);
    }
    if twin.cache.is_some() && has(&|load, _| load == Load::CacheWrites) {
        free.push(Parameter::SlcProgram);
    }
    if twin.suspends && identifies_suspend(drive) {
        free.push(Parameter::Suspend);
    }
    free.extend(twin.interval.map(|_| Parameter::Interval));
    free
}
