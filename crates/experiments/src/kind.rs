//! The kinds of experiments, by what they run.

use std::borrow::Cow;

use crate::cells::CellsSweep;
use crate::judge::column;
use crate::nand::{NandSummary, NandSweep};
use crate::sweep::Sweep;
use crate::sweep::axes::Axis;
use crate::write_sizes::{Volumes, WriteSizes};
use wordline_lab::cells::Evaluation;

/// Runs of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Statistics of the volumes in a paper's trace table. The published values are stored with the profiles.
    TraceStatistics {
        /// Paper whose profiles are measured.
        paper: String,
        /// ID of the claim in the validation ledger to which the rows belong.
        claim: Option<String>,
        /// Greatest deviation of a statistic from the published one, as a fraction.
        within: f64,
        /// Reason for that deviation.
        derivation: String,
    },
    /// Write sizes of volumes. The names of the volumes are the values of the key `volume`.
    WriteSizes(Volumes),
    /// One run for each combination of varied keys.
    Sweep(Box<Sweep>),
    /// One run of a logical unit for each combination of varied keys.
    Nand(Box<NandSweep>),
    /// One query to a parameter set of flash cells for each combination of varied keys.
    Cells(Box<CellsSweep>),
}

impl Kind {
    /// Varied keys.
    pub fn axes(&self) -> Cow<'_, [Axis]> {
        match self {
            Self::TraceStatistics { .. } => Cow::default(),
            Self::WriteSizes(volumes) => vec![volumes.axis()].into(),
            Self::Sweep(sweep) => sweep.vary.as_slice().into(),
            Self::Nand(sweep) => sweep.vary.as_slice().into(),
            Self::Cells(sweep) => sweep.vary.as_slice().into(),
        }
    }

    /// Returns the valid names, if the results do not have `column` as a number (as a text if `is_text`).
    /// Returns `None` if they have it.
    pub(crate) fn unknown_column(&self, column: &str, is_text: bool) -> Option<String> {
        match self {
            Self::TraceStatistics { .. } => Some("nothing: the profiles hold what is expected".to_owned()),
            Self::Sweep(_) if is_text => {
                Some("a number: the summary of a device is compared by numbers".to_owned())
            }
            Self::Sweep(sweep) => sweep.unknown_column(column),
            Self::WriteSizes(_) => column::unknown_column(&WriteSizes::default(), column, is_text),
            Self::Nand(_) => column::unknown_column(&NandSummary::default(), column, is_text),
            Self::Cells(_) => column::unknown_column(&Evaluation::shape(), column, is_text),
        }
    }

    /// Description of the scaled-down experiment. `None` if the experiment has no smaller size.
    pub fn quick_description(&self) -> Option<&str> {
        match self {
            Self::TraceStatistics { .. } | Self::WriteSizes(_) => Some(
                "a profile whose counts the paper prints is shrunk to a million requests, and its counts and volumes are divided by the scale; other profiles and real traces are whole",
            ),
            Self::Sweep(sweep) => sweep.quick.as_ref().map(|quick| quick.says.as_str()),
            Self::Nand(sweep) => sweep.quick.as_ref().map(|quick| quick.says.as_str()),
            Self::Cells(_) => None,
        }
    }
}
