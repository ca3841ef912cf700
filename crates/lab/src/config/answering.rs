//! A design for tests that answers the questions it is told to, each as a design does that says nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_kernel::state;
use wordline_nand::CellMode;
use wordline_ssd::design::{Needs, Seam, WriteStream};
use wordline_ssd::{Config, Design};

/// The questions that it answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    seams: Vec<Seam>,
    /// The pool in which its stream of the host is in SLC mode.
    slc: Option<u8>,
}

/// The design.
pub(super) struct Answering {
    seams: Vec<Seam>,
    slc: Option<u8>,
}

state!(Answering { fixed { seams, slc } });

impl Design for Answering {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let stream = |pool| WriteStream::native("host", pool);
        let mut streams = if self.seams.contains(&Seam::Stream) { vec![stream(0)] } else { Vec::new() };
        streams.extend(self.slc.map(|pool| WriteStream { mode: CellMode::Slc, ..stream(pool) }));
        Needs { streams, collector_streams: vec![WriteStream::native("moved", 0)], ..Needs::of(&self.seams) }
    }
}

impl DesignType for Answering {
    const NAME: &'static str = "answering";
    const DESCRIPTION: &'static str = "Answers what it is told to.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { seams: file.seams.clone(), slc: file.slc })
    }
}
