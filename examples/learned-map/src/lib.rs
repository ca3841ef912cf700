//! A design in its own crate: a map that guesses. A line for each group of consecutive pages predicts where
//! they are, and a small cache has single entries.
//!
//! The ideas are those of two papers: lines with an error bound, whose wrong guesses the OOB area corrects (Sun
//! et al., *LeaFTL*, ASPLOS 2023); and lines beside a cache, updated in place, over location numbers that follow
//! the writes over all dies (Wang et al., *LearnedFTL*, HPCA 2024). Much of both is left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::design::{ExtensionPoint, Needs};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::mapper::{CacheSize, Dftl, Guess, Guesser, Guessing, MAX_GUESS_ERROR, Mapper};
use wordline_ftl::{Config, Design};
use wordline_kernel::{Complaints, state};
use wordline_lab::devices::{DesignType, Registry};
use wordline_nand::Location;

/// A line through the map: the location number of page `first`, and the rise for a number of pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Line {
    first: u32,
    start: u32,
    slope: [u32; 2],
    error: u32,
}

const LINE_BYTES: u64 = size_of::<Line>() as u64;

impl Line {
    /// Location number of a page, which may be before the first one.
    fn at(&self, page: LogicalPage) -> u32 {
        let [rise, run] = self.slope.map(i64::from);
        let distance = (i64::from(page.0) - i64::from(self.first)) * rise;
        (i64::from(self.start) + (distance + run / 2).div_euclid(run)).max(0) as u32
    }
}

/// Numbers locations in the order of writes: unit after unit of all plane groups of the first pool.
struct Stripes {
    per_unit: u32,
    units_per_row: u32,
    rows: u32,
}

impl Stripes {
    /// Number of a location; the order of a stripe is that of the plane groups.
    fn number(&self, at: Location) -> u32 {
        let (unit, place) = (at.0 / self.per_unit, at.0 % self.per_unit);
        (unit % self.units_per_row * self.rows + unit / self.units_per_row) * self.per_unit + place
    }

    fn location(&self, number: u32) -> Location {
        let (unit, place) = (number / self.per_unit, number % self.per_unit);
        Location((unit % self.rows * self.units_per_row + unit / self.rows) * self.per_unit + place)
    }
}

/// A line for each group of pages.
struct Lines {
    lines: Vec<Option<Line>>,
    pages_of_line: u32,
    max_error: u32,
    /// Pages of the current program unit in ascending order, with their location numbers.
    run: Vec<(LogicalPage, u32)>,
    stripes: Stripes,
}

state!(Lines { values { lines, run } fixed { pages_of_line, max_error, stripes } });

impl Lines {
    /// Fewest pages of a new line. Chosen.
    const FEWEST: usize = 4;

    /// Replaces the line of a group by one through these pages, unless the old one is as good.
    fn learn(&mut self, pages: &[(LogicalPage, u32)]) {
        let [(first, start), .., (last, end)] = *pages else { return };
        let (old, slope) =
            (&mut self.lines[(first.0 / self.pages_of_line) as usize], [end - start, last.0 - first.0]);
        let error_of =
            |line: &Line| pages.iter().map(|(page, at)| line.at(*page).abs_diff(*at)).max().unwrap_or(0);
        let new = Line { first: first.0, start, slope, error: 0 };
        let error = error_of(&new);
        let is_better = old.is_none_or(|old| error_of(&old) > old.error);
        if pages.len() >= Self::FEWEST && error <= self.max_error && is_better {
            *old = Some(Line { error, ..new });
        }
    }
}

impl Guesser for Lines {
    fn guess(&mut self, page: LogicalPage) -> Option<Guess> {
        let line = self.lines[(page.0 / self.pages_of_line) as usize]?;
        Some(Guess { location: self.stripes.location(line.at(page)), error: line.error })
    }

    fn located(&mut self, page: LogicalPage, at: Location) {
        let (number, group) = (self.stripes.number(at), |page: LogicalPage| page.0 / self.pages_of_line);
        let unit = |number: u32| number / self.stripes.per_unit;
        let continues = |(last, before): &(LogicalPage, u32)| {
            group(*last) == group(page) && unit(*before) == unit(number) && *last < page && *before < number
        };
        if !self.run.last().is_some_and(continues) {
            let run = std::mem::take(&mut self.run);
            self.learn(&run);
        }
        self.run.push((page, number));
    }

    fn forget(&mut self) {
        self.lines.fill(None);
        self.run.clear();
    }
}

/// The design, and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LearnedMap {
    /// Most locations by which a line misses one of the pages that it was drawn through.
    pub max_error: u32,
    /// Part of the map cache that is for lines, in percent. The rest is for entries.
    pub percent_for_lines: u32,
}

state!(LearnedMap { fixed { max_error, percent_for_lines } });

impl Default for LearnedMap {
    /// Chosen.
    fn default() -> Self {
        Self { max_error: 2, percent_for_lines: 50 }
    }
}

impl Design for LearnedMap {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Map])
    }

    fn mapper(&self, config: &Config) -> Box<dyn Mapper> {
        let size = config.map_cache().expect("the device has a map cache");
        let entries = (size.entries * (100 - self.percent_for_lines) / 100).max(2);
        let cache = CacheSize { entries, protected: size.protected.min(entries - 1), ..size };
        let bytes =
            config.file.ftl.mapping.cache.unwrap_or_default().0 * u64::from(self.percent_for_lines) / 100;
        let pages_of_line = u64::from(config.logical_pages).div_ceil((bytes / LINE_BYTES).max(1)) as u32;
        let (locations, rows) = (&config.pools.first().locations, config.pools.first().geometry.rows());
        let (per_unit, units) = (locations.per_program, locations.count() / locations.per_program);
        let guesser = Lines {
            lines: vec![None; config.logical_pages.div_ceil(pages_of_line) as usize],
            pages_of_line,
            max_error: self.max_error,
            run: Vec::new(),
            stripes: Stripes { per_unit, units_per_row: units / rows, rows },
        };
        Box::new(Guessing::new(Dftl::new(&cache), guesser))
    }
}

impl DesignType for LearnedMap {
    const NAME: &'static str = "learned-map";
    const DESCRIPTION: &'static str =
        "Lines through the map guess where pages are; a wrong guess costs a second read.";

    type File = Self;

    fn check(file: &Self, _: &Config) -> Result<(), Complaints> {
        let (mut wrong, most) = (Complaints::default(), MAX_GUESS_ERROR);
        wrong.require(file.max_error <= most, "max_error", file.max_error, format!("at most {most}"));
        let percent = file.percent_for_lines;
        wrong.require((1..100).contains(&percent), "percent_for_lines", percent, "from 1 to 99");
        wrong.into_result(())
    }

    fn build(file: &Self, _: &Config) -> Box<dyn Design> {
        Box::new(file.clone())
    }

    fn presets() -> &'static [(&'static str, &'static str)] {
        &[("learned-map", include_str!("../learned-map.toml"))]
    }
}

/// The devices and designs of `wordline`, with one more design.
pub fn registry() -> Registry {
    Registry::default().with_design::<LearnedMap>()
}
