//! A design that requests random blocks and pages to be collected and relocated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_ftl::blocks::State;
use wordline_ftl::design::{EventMask, ExtensionPoint, Maintenance, Needs, View};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::state;
use wordline_nand::BlockSetId;

use crate::draw::Case;
use crate::guesses::add_beside;

/// Settings: one query in `every` is answered with a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    every: u64,
}

impl Default for File {
    fn default() -> Self {
        Self { every: 50 }
    }
}

/// A design with random requests.
pub struct RandomMaintainer {
    settings: File,
    pages: u64,
    blocks: u64,
}

state!(RandomMaintainer { fixed { settings, pages, blocks } });

impl Design for RandomMaintainer {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        // Of the host alone: requests that follow from other requests would never end.
        let observes = EventMask::READ | EventMask::WRITTEN | EventMask::POWER_LOST;
        Needs { observes, ..Needs::of(&[ExtensionPoint::Maintain]) }
    }

    fn maintenance(&mut self, view: &mut View<'_>) -> Option<Maintenance> {
        if view.random().below(self.settings.every) > 0 {
            return None;
        }
        if view.random().below(2) == 0 {
            let block = BlockSetId(view.random().below(self.blocks) as u32);
            return (view.block(block).state == State::Closed).then_some(Maintenance::Block(block));
        }
        let first = view.random().below(self.pages);
        let last = (first + 1 + view.random().below(30)).min(self.pages);
        Some(Maintenance::Pages((first..last).map(|page| LogicalPage(page as u32)).collect()))
    }
}

impl DesignType for RandomMaintainer {
    const NAME: &'static str = "maintains";
    const DESCRIPTION: &'static str = "Random blocks and pages are moved now.";

    type File = File;

    fn build(file: &File, config: &Config) -> Box<dyn Design> {
        let (pages, blocks) = (config.logical_pages.into(), config.pools.block_sets().into());
        Box::new(Self { settings: file.clone(), pages, blocks })
    }
}

/// Adds the design to a third of the devices without block-level mapping.
pub fn add_to(mut case: Case) -> Case {
    let settings = &mut case.settings;
    if case.number.is_multiple_of(3)
        && !settings.iter().any(|setting| setting.starts_with("ftl.mapping.block"))
    {
        let every = [5, 50, 500][case.number as usize / 3 % 3];
        add_beside(settings, "maintains", &format!("{{ every = {every} }}"), "maintain");
    }
    case
}
