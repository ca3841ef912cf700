//! The device of a case: settings in the form that users write, on top of the preset `tiny`. They pass the
//! check of every configuration.

use serde::Deserialize;
use toml::{Table, Value};
use wordline_designs::{Designs, DesignsFile, SelectedDesigns};

use crate::gathers::RandomCoalescer;
use crate::guesses::GuessingMap;
use crate::maintains::RandomMaintainer;
use crate::sorts::RandomSorter;
use crate::suspends::SetsAside;
use wordline_ftl::Policies;
use wordline_ssd::{Config, DeviceFile};

const TINY: &str = include_str!("../../../../data/presets/tiny.toml");

/// The parts that devices may build on.
const PARTS: [(&str, &str); 2] = [
    ("mqsim-mlc", include_str!("../../../../data/parts/mqsim-mlc.toml")),
    ("centaur-slc-2d", include_str!("../../../../data/parts/centaur-slc-2d.toml")),
];

/// The cell parameter sets that parts name.
const CELLS: [(&str, &str); 1] = [("cubeftl-tlc", include_str!("../../../../data/cells/cubeftl-tlc.toml"))];

/// An accepted device.
#[derive(Clone, Debug)]
pub struct Configured {
    pub config: Config,
    pub designs: SelectedDesigns,
}

impl Configured {
    /// The policies of the device.
    pub fn policies(&self) -> Policies {
        self.designs.policies(&self.config.ftl)
    }
}

fn table(text: &str) -> Table {
    text.parse().unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Merges `over` into `table`, recursively.
fn overlay(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(over)) => overlay(below, over),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

/// Parses `key.of.a.device=value` as a table. A value that is not TOML is text.
fn setting(text: &str) -> Table {
    let (key, value) = text.split_once('=').unwrap_or_else(|| panic!("{text}"));
    let line = format!("{key} = {value}");
    line.parse().unwrap_or_else(|_| table(&format!("{key} = '{value}'")))
}

/// Resolves the part that a table names as its `base`.
fn resolve_part(part: &mut Value) {
    let Value::Table(over) = part else { panic!("a part is a table") };
    let Some(Value::String(base)) = over.remove("base") else { return };
    let (_, text) = PARTS.iter().find(|(name, _)| *name == base).unwrap_or_else(|| panic!("part {base}"));
    let mut whole = table(text);
    overlay(&mut whole, std::mem::take(over));
    *over = whole;
}

/// Resolves the parameter set that the cells of a part name. Leaves out its layers, because the parts have
/// other layers.
fn resolve_cells(part: &mut Value) {
    let set = part.get_mut("cells").and_then(|cells| cells.get_mut("set"));
    let Some((set, name)) = set.and_then(|set| set.as_str().map(str::to_owned).map(|name| (set, name)))
    else {
        return;
    };
    let (_, text) = CELLS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("cells {name}"));
    let mut whole = table(text);
    whole.remove("variation");
    let because = whole.get_mut("because").and_then(Value::as_table_mut).expect("each number has a source");
    because.retain(|key, _| !key.starts_with("variation"));
    *set = Value::Table(whole);
}

/// The device with these settings, or every complaint.
pub fn configure(settings: &[String]) -> Result<Configured, String> {
    let mut all = table(TINY);
    ["description", "source"].into_iter().for_each(|key| drop(all.remove(key)));
    settings.iter().for_each(|text| overlay(&mut all, setting(text)));
    resolve_part(&mut all["part"]);
    resolve_cells(&mut all["part"]);
    if let Some(Value::Array(pools)) = all.get_mut("pools") {
        pools.iter_mut().for_each(|pool| resolve_part(&mut pool["part"]));
    }
    let designs = DesignsFile::take_from(&mut all).map_err(|wrong| wrong.to_string())?;
    let file = DeviceFile::deserialize(all).map_err(|error| error.to_string())?;
    let registry = Designs::default().with::<RandomSorter>().with::<RandomCoalescer>();
    let registry = registry.with::<SetsAside>().with::<GuessingMap>().with::<RandomMaintainer>();
    let (config, designs) = designs.check(&registry, file).map_err(|wrong| wrong.to_string())?;
    Ok(Configured { config, designs })
}
