//! Logs of fio and of the drive: throughput by time, latencies one by one, and the counter of written flash.

use std::fs;
use std::path::Path;

use wordline_lab::{Error, input};

/// Share of the first rate below which throughput has fallen. Chosen: above the dips of a buffer, and below
/// the fall of any drive with less than three times its capacity.
const FALL: f64 = 0.7;

/// Seconds of a bin of the logs.
const BIN: f64 = 1.0;

/// Writes over which a median of latencies is taken. Chosen: 1 MiB, less than any buffer.
const WINDOW: usize = 256;

/// Factor by which the median latency of writes jumps when the buffer is full. Chosen: above steps of the firmware,
/// and below the ten and more by which a program is longer than a write into the buffer.
const JUMP: f64 = 3.0;

/// Bytes of a write of the burst.
const BURST_WRITE: f64 = 4096.0;

/// Length of the OCP log page C0, and the GUID in its last bytes (OCP Data center NVMe SSD specification 2.0,
/// section 4.8.6).
const COUNTERS: usize = 512;
const GUID: [u8; 16] =
    [0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF];

/// The first fall of throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fall {
    /// Bytes a second before it.
    pub(crate) first: f64,
    /// Bytes before it.
    pub(crate) bytes: f64,
    /// Bytes a second at the end; `None` if there was no fall.
    pub(crate) after: Option<f64>,
}

impl Fall {
    /// The fall in a series of bytes a second, one value for each second.
    pub(crate) fn of(bins: &[f64]) -> Self {
        let head = (bins.len() / 50).clamp(3, 60).min(bins.len());
        let first = median(&bins[..head]);
        let is_low = |window: &[f64]| window.iter().sum::<f64>() < FALL * first * window.len() as f64;
        match bins.windows(3).position(is_low) {
            None => Self { first: median(bins), bytes: bins.iter().sum::<f64>() * BIN, after: None },
            Some(at) => {
                // The window is low from its first bin that is.
                let at = at + bins[at..at + 3].iter().position(|rate| *rate < FALL * first).unwrap_or(0);
                let tail = &bins[bins.len() - (bins.len() - at).div_ceil(3)..];
                Self {
                    first: median(&bins[..at.max(1)]),
                    bytes: bins[..at].iter().sum::<f64>() * BIN,
                    after: Some(tail.iter().sum::<f64>() / tail.len() as f64),
                }
            }
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// The lines of a log of fio: a time in seconds, and the value behind it.
fn lines(path: &Path, value: &str) -> Result<Vec<(f64, f64)>, Error> {
    let of_line = |(line, text): (u64, &str)| {
        let mut cells = text.split(',').map(|cell| cell.trim().parse::<f64>());
        let (Some(Ok(at)), Some(Ok(value))) = (cells.next(), cells.next()) else {
            let wanted = format!("a time in milliseconds, {value}, and more");
            return Err(Error::Line { path: path.to_owned(), line, found: text.to_owned(), wanted });
        };
        Ok((at / 1000.0, value))
    };
    (1..).zip(input::text(path, "a log of fio")?.lines()).map(of_line).collect()
}

/// Bytes a second in each second of all logs of a job; `None` if there are none.
pub(crate) fn log(folder: &Path, name: &str) -> Result<Option<Vec<f64>>, Error> {
    let mut samples: Vec<(f64, f64)> = Vec::new();
    let mut logs = 0;
    for number in 1.. {
        let path = folder.join(format!("{name}_bw.{number}.log"));
        if !path.exists() {
            break;
        }
        logs += 1;
        let mut last = 0.0;
        for (at, rate) in lines(&path, "a rate in KiB a second")? {
            // A sample is the mean of the time since the last one.
            samples.push((at, rate * 1024.0 * (at - last).max(0.0)));
            last = at;
        }
    }
    let end = samples.iter().map(|(at, _)| *at).fold(0.0, f64::max);
    let mut bins = vec![0.0; (end / BIN) as usize];
    for (at, bytes) in samples {
        // The time of a sample is its end; the last bin may be partial and is left out.
        if let Some(bin) = bins.get_mut((at / BIN - 0.01).max(0.0) as usize) {
            *bin += bytes / BIN;
        }
    }
    Ok((logs > 0 && !bins.is_empty()).then_some(bins))
}

/// Bytes of a burst of writes that a buffer takes: those until the median latency jumps, less those that were
/// programmed meanwhile, at the rate of the writes after the jump. `None` if there is no log, or no jump.
///
/// # Errors
/// [`Error::File`], and [`Error::Line`] for a line that is none of a log of latencies.
pub(crate) fn burst(folder: &Path, name: &str) -> Result<Option<f64>, Error> {
    let path = folder.join(format!("{name}_clat.1.log"));
    if !path.exists() {
        return Ok(None);
    }
    Ok(buffered(&lines(&path, "a latency in nanoseconds")?))
}

/// As [`burst`], of writes as times of completion in seconds and latencies.
fn buffered(writes: &[(f64, f64)]) -> Option<f64> {
    let latencies: Vec<f64> = writes.iter().map(|(_, latency)| *latency).collect();
    let usual = median(latencies.get(..WINDOW)?);
    let jump =
        WINDOW + latencies[WINDOW..].windows(WINDOW).position(|window| median(window) > JUMP * usual)?;
    // The window has jumped when half of its writes have.
    let jump = jump + WINDOW / 2;
    let (begin, full, end) = (writes[0].0, writes[jump].0, writes.last()?.0);
    let after = (writes.len() - jump) as f64 * BURST_WRITE / (end - full).max(1e-3);
    let programmed = after * (full - begin);
    Some((jump as f64 * BURST_WRITE - programmed).max(WINDOW as f64 * BURST_WRITE))
}

/// Bytes that were written to the flash during a job, by the OCP log before and after it; `None` if one of them is
/// missing or is none of OCP.
///
/// # Errors
/// [`Error::File`] if a log cannot be read.
pub(crate) fn media_bytes(folder: &Path, name: &str) -> Result<Option<f64>, Error> {
    let counter = |when: &str| -> Result<Option<u128>, Error> {
        let path = folder.join(format!("C0.{name}.{when}.bin"));
        if !path.exists() {
            return Ok(None);
        }
        let bytes = fs::read(&path).map_err(|reason| Error::File { path, action: "read", reason })?;
        let is_of_ocp = bytes.len() == COUNTERS && bytes[COUNTERS - GUID.len()..] == GUID;
        let low = bytes.first_chunk().copied().map(u128::from_le_bytes);
        Ok(low.filter(|_| is_of_ocp))
    };
    let (before, after) = (counter("before")?, counter("after")?);
    Ok(before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_never_fall_have_one_rate() {
        let fall = Fall::of(&[100.0; 50]);
        assert_eq!((fall.first, fall.after), (100.0, None));
    }

    #[test]
    fn a_burst_ends_at_the_jump_of_latency() {
        // 8,192 writes of 10 us each, of which the drive programs a quarter meanwhile; then four times as slow.
        let mut now = 0.0;
        let writes: Vec<(f64, f64)> = (0..20_000)
            .map(|n| {
                let time = if n < 8192 { 10e-6 } else { 40e-6 };
                now += time;
                (now, time * 32e9)
            })
            .collect();
        let buffer = buffered(&writes).expect("a jump");
        let wanted = 8192.0 * 4096.0 * 0.75;
        assert!((buffer / wanted - 1.0).abs() < 0.03, "{buffer} for {wanted}");
        assert_eq!(buffered(&writes[..8000]), None);
    }

    #[test]
    fn counters_that_are_not_of_ocp_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = |bytes: u128, guid: [u8; 16]| {
            let mut page = vec![0; COUNTERS];
            page[..16].copy_from_slice(&bytes.to_le_bytes());
            page[COUNTERS - 16..].copy_from_slice(&guid);
            page
        };
        let write = |when: &str, page: Vec<u8>| {
            fs::write(folder.path().join(format!("C0.S1.{when}.bin")), page).expect("a file");
        };
        write("before", log(1_000, GUID));
        assert_eq!(media_bytes(folder.path(), "S1").expect("files"), None);
        write("after", log(5_000, GUID));
        assert_eq!(media_bytes(folder.path(), "S1").expect("files"), Some(4_000.0));
        write("after", log(5_000, [0; 16]));
        assert_eq!(media_bytes(folder.path(), "S1").expect("files"), None);
    }
}
