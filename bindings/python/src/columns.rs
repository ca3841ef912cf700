//! Columns of requests and completions, in the memory layout of NumPy.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wordline_device::SECTOR;
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_lab::CompletedRequest;
use wordline_lab::trace::{Op, Request};

use crate::errors::refused;

/// Creates a request from its arrival in picoseconds, the number of its operation, its first sector, and its
/// number of sectors.
pub fn request([time, op, sector, length]: [i64; 4]) -> PyResult<Request> {
    // The limit is far beyond any device, and products with it do not overflow.
    let most_sectors = u64::MAX / SECTOR.0 / 2;
    let op = within("ops", op, Op::COUNT as u64 - 1)?;
    let time = within("times", time, i64::MAX as u64)?;
    let (sector, length) =
        (within("sectors", sector, most_sectors)?, within("lengths", length, most_sectors)?);
    let request = Request::new(Op::ALL[op as usize], SECTOR * sector, SECTOR * length);
    Ok(Request { arrival: Instant::ZERO + Duration::from_ps(time), ..request })
}

fn within(name: &str, value: i64, most: u64) -> PyResult<u64> {
    let number = u64::try_from(value).ok().filter(|number| *number <= most);
    number.ok_or_else(|| refused(name, value, &format!("a whole number from 0 to {most}")))
}

/// Converts columns of 64-bit numbers, which have equal lengths, to rows.
pub fn rows(py: Python<'_>, columns: [PyBuffer<i64>; 4]) -> PyResult<Vec<[i64; 4]>> {
    let [times, ops, sectors, lengths] = columns;
    let read = |column: PyBuffer<i64>| column.to_vec(py);
    let (times, ops, sectors, lengths) = (read(times)?, read(ops)?, read(sectors)?, read(lengths)?);
    let rows = times.into_iter().zip(ops).zip(sectors.into_iter().zip(lengths));
    Ok(rows.map(|((time, op), (sector, length))| [time, op, sector, length]).collect())
}

/// Converts completions to the bytes of an array of records. A record has time, latency, first sector and
/// sectors in 64 bits each, the number in 32 bits, operation and failure flag in 8 bits each, and two bytes
/// of padding.
pub fn completions<'py>(py: Python<'py>, completions: &[CompletedRequest]) -> Bound<'py, PyBytes> {
    let mut bytes = Vec::with_capacity(completions.len() * 40);
    for CompletedRequest { number, operation, offset, size, time, latency, failed } in completions {
        for word in [time.ps(), latency.ps(), offset.0 / SECTOR.0, sectors(*size)] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&number.to_ne_bytes());
        bytes.extend_from_slice(&[*operation as u8, u8::from(*failed), 0, 0]);
    }
    PyBytes::new(py, &bytes)
}

fn sectors(size: Bytes) -> u64 {
    size.0 / SECTOR.0
}
