//! Program variants: the list of variants that occurred, and the variant of each word line.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};

use super::mode::StoredBits;
use super::rates::{ProgramVariant, same};
use crate::parameters::{MAX_PROGRAM_STATES, Parameters};

/// The program variants that occurred, and the variant of each word line.
#[derive(Clone, Debug)]
pub struct ProgramVariants {
    all: Vec<ProgramVariant>,
    /// The variant of each word line, as an index into `all`; empty while there is only one.
    written: Vec<u8>,
    blocks: usize,
    /// Word lines of a block.
    word_lines: usize,
}

impl State for ProgramVariants {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { all, written, blocks: _, word_lines: _ } = self;
        to.value("written", written)?;
        to.value("ways", all)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.written = from.value("written")?;
        self.all = from.value("ways")?;
        Ok(())
    }
}

impl ProgramVariants {
    /// All word lines with the default variant of the data sheet.
    pub fn new(blocks: usize, word_lines: u32) -> Self {
        Self {
            all: vec![ProgramVariant::default()],
            written: Vec::new(),
            blocks,
            word_lines: word_lines as usize,
        }
    }

    /// Number of variants.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The variant with this number.
    pub fn get(&self, number: u8) -> &ProgramVariant {
        &self.all[usize::from(number)]
    }

    /// The number of the variant of a command with these parameters, for this many programmed states, whose
    /// cells pass `early` loops earlier. Adds the variant if it is new.
    pub fn number(&mut self, parameters: &Parameters, states: usize, early: u8, held: StoredBits) -> u8 {
        let none = parameters.skipped_verifies == [0; MAX_PROGRAM_STATES];
        let skipped = if none { &[] } else { &parameters.skipped_verifies[..states] };
        let Parameters { start_margin, final_margin, .. } = *parameters;
        let is_it = |way: &ProgramVariant| {
            (way.start_margin, way.final_margin, way.early) == (start_margin, final_margin, early)
                && way.held == held
                && same(&way.skipped, skipped)
        };
        if let Some(known) = self.all.iter().position(is_it) {
            return known as u8;
        }
        if self.all.len() > usize::from(u8::MAX) {
            // There are more variants than a byte can number. The last variant that stores the same bits is
            // used instead.
            return self.all.iter().rposition(|way| way.held == held).unwrap_or(0) as u8;
        }
        self.all.push(ProgramVariant { start_margin, final_margin, skipped: skipped.to_vec(), early, held });
        (self.all.len() - 1) as u8
    }

    /// Records the variant of a programmed word line of a block.
    pub fn note(&mut self, block: usize, word_line: u32, way: u8) {
        if self.written.is_empty() {
            if way == 0 {
                return;
            }
            self.written = vec![0; self.blocks * self.word_lines];
        }
        self.written[block * self.word_lines + word_line as usize] = way;
    }

    /// The variant of a word line of a block.
    pub fn of(&self, block: usize, word_line: u32) -> u8 {
        if self.written.is_empty() { 0 } else { self.written[block * self.word_lines + word_line as usize] }
    }

    /// The bits stored in a word line of a block.
    pub fn held(&self, block: usize, word_line: u32) -> StoredBits {
        self.get(self.of(block, word_line)).held
    }

    /// Resets the word lines of an erased block.
    pub fn erase(&mut self, block: usize) {
        if !self.written.is_empty() {
            self.written[block * self.word_lines..(block + 1) * self.word_lines].fill(0);
        }
    }
}
