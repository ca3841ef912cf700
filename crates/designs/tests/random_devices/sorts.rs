//! A design that sends some pages to blocks in SLC mode, when they are written and when they are moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_kernel::state;
use wordline_nand::CellMode;
use wordline_ssd::design::{Needs, Seam, View, WriteStream};
use wordline_ssd::policy::relocator::Leaving;
use wordline_ssd::policy::router::Outgoing;
use wordline_ssd::{Config, Design};

/// Every so manieth page goes there.
pub struct Sorts {
    settings: File,
}

/// Its settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    every: u32,
    /// Whether what the host writes goes there, too.
    written: bool,
}

impl Default for File {
    fn default() -> Self {
        Self { every: 3, written: true }
    }
}

state!(Sorts { fixed { settings } });

impl Sorts {
    fn stream_of(&self, page: u32) -> u8 {
        u8::from(page.is_multiple_of(self.settings.every))
    }
}

impl Design for Sorts {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let named = [("usual", CellMode::Native), ("some", CellMode::Slc)];
        let both = named.map(|(name, mode)| WriteStream { name, pool: 0, mode }).to_vec();
        let answers: &[Seam] =
            if self.settings.written { &[Seam::Stream, Seam::Relocate] } else { &[Seam::Relocate] };
        let streams = if self.settings.written { both.clone() } else { Vec::new() };
        Needs { streams, collector_streams: both, ..Needs::of(answers) }
    }

    fn stream(&mut self, written: &Outgoing<'_>, _: u8, _: &mut View<'_>) -> u8 {
        self.stream_of(written.logical)
    }

    fn relocate(&mut self, page: &Leaving, _: &mut View<'_>) -> u8 {
        self.stream_of(page.logical)
    }
}

impl DesignType for Sorts {
    const NAME: &'static str = "sorts";
    const DESCRIPTION: &'static str = "Some pages go to blocks in SLC mode.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { settings: file.clone() })
    }
}
