//! The formats of traces, one file each: how a line or record becomes a row, and how the format is known.

mod ascii;
mod biotracer;
mod blkparse;
mod blktrace;
mod csv;
mod detect;
mod events;
mod fio;
mod fiu;
mod hfplayer;
mod most;
mod msr;
mod spc;
mod vscsi;
mod wiscsee;

pub(super) use blktrace::{Part, read_parts};
pub(super) use csv::{COLUMNS as CSV_COLUMNS, MORE_COLUMNS as MORE_CSV_COLUMNS};
pub(super) use detect::{Content, detect};
pub(super) use msr::TICK_PS as MSR_TICK_PS;

use wordline_kernel::Bytes;

use super::input::{Bad, Input, Lines};
use super::options::{Format, Options, Units};
use super::row::{Found, Row};
use crate::error::Result;

/// Reads all requests of a file in `format`, which is not the binary of the block tracer.
pub(super) fn read(format: Format, input: Input<'_>, options: &Options, units: Units) -> Result<Found> {
    if format == Format::Vscsi {
        return vscsi::read(input);
    }
    let mut lines = input.lines();
    let mut found = match format {
        Format::Csv => csv::read(&mut lines, options, units),
        Format::Msr => msr::read(&mut lines, units),
        Format::Spc => by_line(&mut lines, |line| spc::row(line, units)),
        Format::Disksim | Format::Mqsim => by_line(&mut lines, |line| ascii::row(line, units, false)),
        Format::Ssdsim => by_line(&mut lines, |line| ascii::row(line, units, true)),
        Format::Blkparse => blkparse::read(&mut lines, options, units),
        Format::Most => most::read(&mut lines, options, units),
        Format::Fiu => fiu::read(&mut lines, units),
        Format::FioIolog => fio::read(&mut lines, units),
        Format::Biotracer => by_line(&mut lines, |line| biotracer::row(line, units)),
        Format::Hfplayer => hfplayer::read(&mut lines, units),
        Format::Wiscsee => wiscsee::read(&mut lines, options, units),
        Format::Blktrace | Format::Vscsi => unreachable!("binary formats are read by record"),
    }?;
    if matches!(format, Format::Disksim | Format::Mqsim | Format::Ssdsim) {
        found.notes.extend(bytes_note(&found.rows, options));
    }
    if let Some(note) = lines.unended_note() {
        check_last(&lines, &found.rows)?;
        found.notes.push(note);
    }
    Ok(found)
}

/// The largest request that is believed where it may be in another unit. Chosen: above what hosts send at once (Linux
/// at most 1280 KiB unless told otherwise), below the 32 MiB that 64 KiB read as sectors give.
const LARGEST_BELIEVED: u64 = 16 << 20;

/// What to tell where numbers taken for sectors look like bytes: all of them whole sectors of bytes, and some requests
/// far too large otherwise. Whoever named a unit knows.
fn bytes_note(rows: &[Row], options: &Options) -> Option<String> {
    const SECTOR_OF_SECTORS: u64 = 512 * 512;
    let named = options.address_unit.or(options.size_unit).or(options.sector).is_some();
    let largest = rows.iter().map(|row| row.size).max()?;
    let whole = |row: &Row| {
        row.offset.is_multiple_of(SECTOR_OF_SECTORS) && row.size.is_multiple_of(SECTOR_OF_SECTORS)
    };
    (!named && largest > LARGEST_BELIEVED && rows.iter().all(whole)).then(|| {
        format!(
            "addresses and sizes were read as sectors, the largest request as {}, but all are multiples of 512: if \
             the file counts bytes, set the options address_unit=1B and size_unit=1B",
            Bytes(largest)
        )
    })
}

/// A last line without line end may be cut inside its last number and still parse. Then the request most likely ends
/// inside a sector, which none before it does.
fn check_last(lines: &Lines<'_>, rows: &[Row]) -> Result<()> {
    let in_sectors = |row: &Row| row.offset.is_multiple_of(512) && row.size.is_multiple_of(512);
    match rows.split_last() {
        Some((last, before)) if !in_sectors(last) && !before.is_empty() && before.iter().all(in_sectors) => {
            Err(lines.wrong(Bad {
                found: format!("{} bytes at offset {}", last.size, last.offset),
                wanted: "multiples of 512 bytes, as in all requests before".into(),
            }))
        }
        _ => Ok(()),
    }
}

/// Reads a format that has one request on each line.
fn by_line(lines: &mut Lines<'_>, row: impl Fn(&str) -> std::result::Result<Row, Bad>) -> Result<Found> {
    let mut found = Found::default();
    lines.each(|line| {
        found.rows.push(row(line)?);
        Ok(())
    })?;
    Ok(found)
}
