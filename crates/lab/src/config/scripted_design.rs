//! A test design that takes part in configured decisions, and always decides as the default does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_ftl::design::{ExtensionPoint, Needs, WriteStream};
use wordline_ftl::{Config, Design};
use wordline_kernel::state;
use wordline_nand::CellMode;

/// The decisions that it takes part in.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    decisions: Vec<ExtensionPoint>,
    /// The pool in which its host stream is in SLC mode.
    slc: Option<u8>,
    /// The pool in which its host stream is in MLC mode.
    two_bit: Option<u8>,
    /// Reprograms of a word line in that pool.
    again: u8,
}

/// The test design.
pub(super) struct ScriptedDesign {
    settings: File,
}

state!(ScriptedDesign { fixed { settings } });

impl Design for ScriptedDesign {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let File { decisions, slc, two_bit, again } = &self.settings;
        let of_two_bits = if *again > 0 { CellMode::Reprogrammed(*again) } else { CellMode::Mlc };
        let in_modes = [(slc, CellMode::Slc), (two_bit, of_two_bits)];
        let in_mode = |(pool, mode): (&Option<u8>, CellMode)| {
            Some(WriteStream { mode, ..WriteStream::native("host", (*pool)?) })
        };
        let mut streams: Vec<WriteStream> = in_modes.into_iter().filter_map(in_mode).collect();
        if decisions.contains(&ExtensionPoint::Stream) && streams.iter().all(|stream| stream.pool != 0) {
            streams.insert(0, WriteStream::native("host", 0));
        }
        Needs { streams, gc_streams: vec![WriteStream::native("moved", 0)], ..Needs::of(decisions) }
    }
}

impl DesignType for ScriptedDesign {
    const NAME: &'static str = "scripted";
    const DESCRIPTION: &'static str = "Takes part in the decisions that its settings name.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { settings: file.clone() })
    }
}
