//! Cell modes: the number of bits that the cells of a block store, and the properties of a part in each mode.
//!
//! A block has a mode while it is open, and each command is issued in a mode. The mode of a reprogram
//! includes the number of reprogram passes.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

use crate::Part;
use crate::onfi::LunTimes;
use crate::pairing::Pairing;
use crate::time_range::TimeRange;

/// The number of bits that the cells of a block store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CellMode {
    /// The number in the part's data sheet.
    #[default]
    Native,
    /// One bit: faster, with one page for each word line.
    Slc,
    /// Two bits (MLC mode), in a one-shot part with three or more bits per cell. A word line can be
    /// reprogrammed without an erase (ReSSD, section 3).
    Mlc,
    /// In a block: a word line in MLC mode after this many reprogram passes. In a program command: the pass
    /// with this number. A pass replaces one of the two pages; the other keeps its bits.
    Reprogrammed(u8),
}

impl CellMode {
    /// The modes that a block can be in.
    pub const OF_BLOCKS: [Self; 3] = [Self::Native, Self::Slc, Self::Mlc];

    /// Name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "the native mode",
            Self::Slc => "SLC mode",
            Self::Mlc => "MLC mode",
            Self::Reprogrammed(_) => "a reprogram",
        }
    }

    /// The mode of the block that contains the word line.
    #[inline]
    pub fn of_block(self) -> Self {
        match self {
            Self::Reprogrammed(_) => Self::Mlc,
            mode => mode,
        }
    }

    /// Whether this is the mode of a reprogram, or of a word line that was reprogrammed.
    #[inline]
    pub fn is_reprogram(self) -> bool {
        matches!(self, Self::Reprogrammed(_))
    }

    /// Pages of a word line in this mode, for a part with `native` bits per cell.
    pub fn bits(self, native: u32) -> u32 {
        match self {
            Self::Native => native,
            Self::Slc => 1,
            Self::Mlc | Self::Reprogrammed(_) => 2,
        }
    }

    /// The prefix command that puts one operation into this mode: A2h for SLC mode, A3h for MLC mode, A4h for
    /// a reprogram, no prefix for the native mode. See [`COMMANDS`](crate::onfi::command::COMMANDS).
    /// `programs` is true for program commands.
    pub fn prefix(self, programs: bool) -> Option<u8> {
        match self {
            Self::Native => None,
            Self::Slc => Some(0xA2),
            Self::Reprogrammed(_) if programs => Some(0xA4),
            Self::Mlc | Self::Reprogrammed(_) => Some(0xA3),
        }
    }
}

impl fmt::Display for CellMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reprogrammed(times) => write!(out, "MLC mode, reprogrammed {times} times"),
            mode => out.write_str(mode.name()),
        }
    }
}

impl Part {
    /// Whether the part supports `mode`: its file must give the times of SLC mode, or of reprograms.
    pub fn has_mode(&self, mode: CellMode) -> bool {
        let (g, timing) = (&self.geometry, &self.timing);
        match mode {
            CellMode::Native => true,
            CellMode::Slc => timing.slc.is_some(),
            CellMode::Mlc | CellMode::Reprogrammed(_) => {
                timing.reprogram.is_some() && g.one_shot && g.bits_per_cell >= 3
            }
        }
    }

    /// Erase time of a block in `mode`, by the data sheet.
    pub fn erase_time(&self, mode: CellMode) -> Duration {
        let slc = self.timing.slc.filter(|_| mode == CellMode::Slc);
        slc.map_or(self.timing.erase, |slc| slc.erase)
    }

    /// The part with its blocks in `mode`: pages per word line and times. `None` if the part does not support
    /// the mode.
    pub fn in_mode(&self, mode: CellMode) -> Option<Self> {
        match mode {
            CellMode::Native => Some(self.clone()),
            CellMode::Slc => self.in_slc_mode(),
            CellMode::Mlc | CellMode::Reprogrammed(_) => self.in_mlc_mode(mode.is_reprogram()),
        }
    }

    /// The part with its blocks in SLC mode: one page on each word line, and the times of SLC mode. `None` if
    /// the part has no SLC mode.
    pub fn in_slc_mode(&self) -> Option<Self> {
        let slc = self.timing.slc?;
        let mut file = self.file().clone();
        file.geometry.pages_per_block /= file.geometry.bits_per_cell;
        (file.geometry.bits_per_cell, file.geometry.one_shot) = (1, false);
        file.geometry.pairing = Pairing::WordLine;
        (file.timing.read, file.timing.program) = (vec![slc.read.into()], vec![slc.program.into()]);
        (file.timing.erase, file.timing.program_typical) = (slc.erase, None);
        (file.timing.slc, file.timing.reprogram, file.timing.two_bit) = (None, None, None);
        file.cells = None;
        Some(file.check().expect("a part of one bit a cell asks less of its numbers"))
    }

    /// The part with its blocks in MLC mode. It has the two lowest pages of a word line with their sensing
    /// times, and the program times of the file or of [`LunTimes`]. A program writes both pages or, with
    /// `again`, replaces one.
    fn in_mlc_mode(&self, again: bool) -> Option<Self> {
        let reprogram = self.timing.reprogram.filter(|_| self.has_mode(CellMode::Mlc))?;
        let mut file = self.file().clone();
        file.geometry.pages_per_block = self.pages().word_lines() * 2;
        (file.geometry.bits_per_cell, file.geometry.one_shot) = (2, !again);
        let program = if again { reprogram } else { LunTimes::of(self).mlc_program };
        file.timing.read = match self.timing.two_bit {
            Some(two_bit) => vec![two_bit.read.into()],
            None => self.read_times()[..2].iter().map(|time| TimeRange::from(*time)).collect(),
        };
        (file.timing.program, file.timing.program_typical) = (vec![program.into()], None);
        (file.timing.slc, file.timing.reprogram, file.timing.two_bit) = (None, None, None);
        file.cells = None;
        Some(file.check().expect("a part of two bits a cell asks less of its numbers"))
    }

    /// The super layer of a word line of a block in MLC mode. A super layer is a group of `layers` layers
    /// within which word lines may be reprogrammed in any order (ReSSD, section 3.3).
    pub fn super_layer(&self, word_line: u32, layers: u32) -> u32 {
        word_line / self.word_lines_per_layer() / layers.max(1)
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Duration;

    use super::*;
    use crate::part::TwoBitTiming;
    use crate::part::tests::mqsim_file;

    #[test]
    fn a_part_with_two_bits_a_cell_has_two_pages_a_word_line_and_times_of_its_own() {
        let us = Duration::from_us;
        let mut file = mqsim_file();
        (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
        file.timing.read = [50, 60, 70].map(|time| us(time).into()).to_vec();
        assert!(!file.clone().check().expect("sound").has_mode(CellMode::Mlc), "no time of a reprogram");
        file.timing.reprogram = Some(us(800));
        let part = file.check().expect("the part is sound");
        assert!(
            part.in_mode(CellMode::Slc).is_none() && part.in_mode(CellMode::Native).as_ref() == Some(&part)
        );
        let [two, again] =
            [CellMode::Mlc, CellMode::Reprogrammed(1)].map(|mode| part.in_mode(mode).expect("it has it"));
        for view in [&two, &again] {
            assert_eq!((view.pages().word_lines(), view.geometry.pages_per_block), (4, 8));
            assert_eq!(view.read_times(), [us(50), us(60)]);
        }
        assert_eq!((two.pages_per_program(), two.program_time(0)), (2, us(750)));
        assert_eq!((again.pages_per_program(), again.program_time(0)), (1, us(800)));

        let mut file = part.file().clone();
        file.timing.two_bit = Some(TwoBitTiming { read: us(40), program: us(500) });
        let part = file.check().expect("the part is sound");
        let two = part.in_mode(CellMode::Mlc).expect("it has it");
        assert_eq!((two.read_times(), two.program_time(0)), (&[us(40), us(40)][..], us(500)));
    }
}
