//! Where requests come from in the end, so that generated requests are not taken for a recording.

use serde::Serialize;

/// Where the requests came from.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Source {
    /// Name of the trace file, the workload or the profile.
    pub name: String,
    /// Whether it is a trace that was recorded, one of which nothing says so, a synthetic pattern, a profile fitted to a published trace, or given by a program.
    pub kind: SourceKind,
}

impl Source {
    /// The same where it is known that a trace was recorded, unless the trace itself says that it was generated.
    #[must_use]
    pub fn recorded(self) -> Self {
        let kind = if self.kind == SourceKind::Trace { SourceKind::RealTrace } else { self.kind };
        Self { kind, ..self }
    }
}

/// How real a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Recorded from a real system.
    RealTrace,
    /// Read from a trace of which nothing says whether it was recorded.
    Trace,
    /// A generated pattern.
    Synthetic,
    /// Generated to the statistics that a paper gives of a trace.
    Profile,
    /// Given by a program, one by one or as a list.
    Given,
}

impl SourceKind {
    /// It in words.
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
