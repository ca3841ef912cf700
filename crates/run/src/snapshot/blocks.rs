//! A section of a file as blocks with checksums, so that damage is detected before the data are used.
//!
//! A block is its length, a checksum and its bytes. Length and checksum have four bytes each, in
//! little-endian order. The checksum (CRC-32, as in zip) covers the section's letter, the number of the block
//! and its bytes. An empty block ends the section. A 32-bit checksum detects any change within four
//! consecutive bytes. The numbers detect missing and misplaced blocks.

use std::io::{self, BufRead, Read, Write};

/// Greatest number of bytes in a block. Chosen: small compared with any device, and checked in a fraction of
/// a millisecond.
const MOST: usize = 1 << 18;

/// A fault of a file. An [`io::Error`] carries it through the reader.
#[derive(Debug)]
pub(super) struct Damage {
    pub(super) found: String,
    pub(super) wanted: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "found {}, wanted {}", self.found, self.wanted)
    }
}

impl std::error::Error for Damage {}

/// An I/O error that carries the fault.
pub(super) fn damage(found: impl Into<String>, wanted: impl Into<String>) -> io::Error {
    io::Error::other(Damage { found: found.into(), wanted: wanted.into() })
}

/// Fills `bytes`. A file that ends earlier is an error.
pub(super) fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<()> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damage("an end in the middle", "a complete snapshot"),
        _ => error,
    })
}

fn checksum(section: u8, number: u32, bytes: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&[section]);
    sum.update(&number.to_le_bytes());
    sum.update(bytes);
    sum.finalize()
}

/// Writes a section.
pub struct Writer<W> {
    to: W,
    section: u8,
    number: u32,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins the section with this letter.
    pub fn new(to: W, section: u8) -> Self {
        Self { to, section, number: 0, block: Vec::with_capacity(MOST) }
    }

    fn put(&mut self) -> io::Result<()> {
        self.to.write_all(&(self.block.len() as u32).to_le_bytes())?;
        self.to.write_all(&checksum(self.section, self.number, &self.block).to_le_bytes())?;
        self.to.write_all(&self.block)?;
        self.number += 1;
        self.block.clear();
        Ok(())
    }

    /// Ends the section.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.block.is_empty() {
            self.put()?;
        }
        self.put()?;
        Ok(self.to)
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(MOST - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == MOST {
            self.put()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a section to its end.
pub(super) struct Reader<R> {
    from: R,
    section: u8,
    number: u32,
    block: Vec<u8>,
    /// Position in the current block.
    at: usize,
    ended: bool,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R, section: u8) -> Self {
        Self { from, section, number: 0, block: Vec::new(), at: 0, ended: false }
    }

    fn next_block(&mut self) -> io::Result<()> {
        let mut head = [0; 8];
        fill(&mut self.from, &mut head)?;
        let [length, sum] = [0, 4].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|n| head[at + n])));
        if length as usize > MOST {
            return Err(damage(format!("a block of {length} bytes"), format!("at most {MOST}")));
        }
        self.block.resize(length as usize, 0);
        fill(&mut self.from, &mut self.block)?;
        let found = checksum(self.section, self.number, &self.block);
        if found != sum {
            let place = format!("block {} of section `{}`", self.number, char::from(self.section));
            return Err(damage(
                format!("{place} with the checksum {found:08x}"),
                format!("{sum:08x}: the file is damaged"),
            ));
        }
        self.number += 1;
        self.at = 0;
        self.ended = length == 0;
        Ok(())
    }

    /// Checks that the section ends here. Returns the underlying reader.
    pub(super) fn finish(mut self) -> io::Result<R> {
        match self.fill_buf()? {
            [] => Ok(self.from),
            rest => Err(damage(format!("at least {} bytes too many", rest.len()), "the end of the section")),
        }
    }
}

impl<R: Read> BufRead for Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.len() && !self.ended {
            self.next_block()?;
        }
        Ok(&self.block[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(into.len());
        into[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}
