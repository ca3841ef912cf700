//! Original sources of requests, so that generated requests are not mistaken for a recording.

use serde::{Deserialize, Serialize};

/// Source of the requests.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Source {
    /// Name of the trace file, the workload or the profile.
    pub name: String,
    /// Whether the source is a recorded trace, a trace of unknown origin, a synthetic pattern, a profile
    /// fitted to a published trace, or requests given by a program.
    pub kind: SourceKind,
}

impl Source {
    /// Marks a trace as recorded, unless the trace itself says that it was generated.
    #[must_use]
    pub fn recorded(self) -> Self {
        let kind = if self.kind == SourceKind::Trace { SourceKind::RealTrace } else { self.kind };
        Self { kind, ..self }
    }
}

/// Kind of a workload, from real to synthetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Recorded from a real system.
    RealTrace,
    /// Read from a trace of unknown origin.
    Trace,
    /// A generated pattern.
    Synthetic,
    /// Generated from published statistics of a trace.
    Profile,
    /// Given by a program, one by one or as a list.
    Given,
}

impl SourceKind {
    /// Returns the kind in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::RealTrace => "real trace",
            Self::Trace => "trace",
            Self::Synthetic => "synthetic",
            Self::Profile => "generated from a profile",
            Self::Given => "given by a program",
        }
    }
}
