//! A design whose map guesses: right, at a neighbour, at an old location, or anywhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_ftl::design::{ExtensionPoint, Needs};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::mapper::{Dftl, Guess, Guesser, Guessing, Mapper};
use wordline_ftl::{Config, Design};
use wordline_kernel::state;
use wordline_nand::Location;

use crate::draw::Case;
use crate::gathers::add_design;

/// Settings: the error bound of all guesses.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    error: u32,
}

/// A design whose map guesses.
pub struct GuessingMap {
    settings: File,
}

state!(GuessingMap { fixed { settings } });

impl Design for GuessingMap {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Map])
    }

    fn mapper(&self, config: &Config) -> Box<dyn Mapper> {
        let size = config.map_cache().expect("the device has a map cache");
        let nowhere = vec![[None; 2]; config.logical_pages as usize];
        let locations = config.pools.locations();
        let guesser = Wild { known: nowhere, guesses: 0, error: self.settings.error, locations };
        Box::new(Guessing::new(Dftl::new(&size), guesser))
    }
}

impl DesignType for GuessingMap {
    const NAME: &'static str = "guesses";
    const DESCRIPTION: &'static str = "The map guesses, sometimes right.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { settings: file.clone() })
    }
}

/// Knows the last and the first location of each page.
struct Wild {
    known: Vec<[Option<u32>; 2]>,
    guesses: u32,
    error: u32,
    locations: u32,
}

state!(Wild { values { known, guesses } fixed { error, locations } });

impl Guesser for Wild {
    fn guess(&mut self, page: LogicalPage) -> Option<Guess> {
        self.guesses = self.guesses.wrapping_add(1);
        let [last, first] = self.known[page.0 as usize];
        let location = match self.guesses % 8 {
            0..=2 => last?,
            3 => last?.saturating_sub(1),
            4 => last? + 1,
            5 => first?,
            6 => self.guesses.wrapping_mul(7_919) % (self.locations + 9),
            _ => return None,
        };
        Some(Guess { location: Location(location), error: self.error })
    }

    fn located(&mut self, page: LogicalPage, at: Location) {
        let [last, first] = &mut self.known[page.0 as usize];
        *last = Some(at.0);
        first.get_or_insert(at.0);
    }

    fn forget(&mut self) {}
}

/// Adds the design to half of the devices with a map cache.
pub fn add_to(mut case: Case) -> Case {
    let settings = &mut case.settings;
    if case.number % 4 > 1 || !settings.iter().any(|setting| setting.starts_with("ftl.mapping.cache=")) {
        return case;
    }
    let own = format!("{{ error = {} }}", [0, 1, 4, 15][case.number as usize / 4 % 4]);
    add_beside(settings, "guesses", &own, "map");
    case
}

/// Adds a design and its settings to the settings of a device, beside any other designs.
pub fn add_beside(settings: &mut Vec<String>, name: &str, own: &str, seam: &str) {
    match settings.iter_mut().find(|setting| setting.starts_with("designs=[")) {
        Some(designs) => {
            *designs = designs.replace(']', &format!(", '{name}']"));
            settings.push(format!("design.{name}={own}"));
        }
        None => add_design(settings, name, own, seam),
    }
}
