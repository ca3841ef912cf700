//! Designs in a configuration: the designs of the device and of its pools, the precedence between designs,
//! and their settings.
//!
//! ```toml
//! designs = ["one", "other"]     # for the device, and for pools that name no designs
//! decides.victim = "other"       # if both could select the victim
//!
//! [design.one]
//! key = 7
//!
//! [[pools]]
//! designs = ["other"]            # for this pool
//! ```
//!
//! The only design of a device may also be named in the table of its settings: `design = { name = "one", key
//! = 7 }`.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::{Table, Value};
use wordline_ftl::design::{Combination, ExtensionPoint};
use wordline_ftl::{self as ftl, Policies};
use wordline_kernel::{Complaints, one_of};
use wordline_ssd::{Config, DeviceFile};

use crate::registry::{Designs, Settings};
use crate::{DECIDES, DESIGN, DESIGNS};

/// The designs of a device, as the configuration names them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignsFile {
    /// Whether the only design is named in the table of its settings.
    is_named_by_settings: bool,
    /// Designs of the device.
    of_device: Vec<String>,
    /// Designs of a table `[[pools]]`, by its index.
    of_pools: BTreeMap<usize, Vec<String>>,
    /// By extension point: the design that decides if several designs could.
    decides: BTreeMap<String, String>,
    /// Settings by design.
    settings: BTreeMap<String, Table>,
    /// Whether the configuration leaves out the GC watermarks: start, and stop.
    open_watermarks: [bool; 2],
}

/// The designs of a checked device.
#[derive(Clone, Debug, Default)]
pub struct SelectedDesigns {
    file: DesignsFile,
    /// All designs by name, each once.
    all: Vec<(String, Arc<dyn Settings>)>,
    /// The registry in which the designs were found.
    known: Designs,
}

/// Rejects a table for the design that `[design]` names, because its settings are in `[design]` itself.
fn reject_own_table(name: &str, settings: &mut Table, wrong: &mut Complaints) {
    let Some(Value::Table(own)) = settings.get(name) else { return };
    for (key, value) in own {
        let wanted = format!("{DESIGN}.{key}: settings of a single design are given beside {DESIGN}.name");
        wrong.add(format!("{DESIGN}.{name}.{key}"), value, wanted);
    }
    settings.remove(name);
}

impl DesignsFile {
    /// Removes the design keys from the table of a device.
    ///
    /// # Errors
    /// Values that are not names or settings.
    pub fn take_from(device: &mut Table) -> Result<Self, Complaints> {
        let mut wrong = Complaints::default();
        let mut file = Self::default();
        if let Some(names) = device.remove(DESIGNS) {
            file.of_device = design_names(names, DESIGNS, &mut wrong);
        }
        if let Some(decides) = device.remove(DECIDES) {
            let Value::Table(decides) = decides else {
                wrong.add(DECIDES, decides, "a table with the name of a design for each extension point");
                return Err(wrong);
            };
            let text = |(seam, name): (String, Value)| (seam, name.as_str().unwrap_or_default().to_owned());
            file.decides = decides.into_iter().map(text).collect();
        }
        for (n, pool) in
            device.get_mut("pools").and_then(Value::as_array_mut).into_iter().flatten().enumerate()
        {
            if let Some(names) = pool.as_table_mut().and_then(|pool| pool.remove(DESIGNS)) {
                file.of_pools.insert(n, design_names(names, &format!("pools[{n}].{DESIGNS}"), &mut wrong));
            }
        }
        if let Some(settings) = device.remove(DESIGN) {
            file.take_settings(settings, &mut wrong);
        }
        wrong.into_result(file)
    }

    fn take_settings(&mut self, settings: Value, wrong: &mut Complaints) {
        let Value::Table(mut settings) = settings else {
            return wrong.add(DESIGN, settings, "a table of settings");
        };
        if let Some(name) = settings.remove("name") {
            let key = format!("{DESIGN}.name");
            wrong.require(
                self.of_device.is_empty(),
                &key,
                &name,
                format!(
                    "the key left out beside {DESIGNS}, with the settings in a table [{DESIGN}.{}]",
                    text_of(&name)
                ),
            );
            self.is_named_by_settings = true;
            self.of_device = vec![text_of(&name)];
            reject_own_table(&text_of(&name), &mut settings, wrong);
            self.settings.insert(text_of(&name), settings);
            return;
        }
        let only = if let [only] = self.of_device.as_slice() { only.as_str() } else { "NAME" };
        for (name, settings) in settings {
            match settings {
                Value::Table(settings) => drop(self.settings.insert(name, settings)),
                other => wrong.add(
                    format!("{DESIGN}.{name}"),
                    other,
                    format!("a setting in the table of its design: {DESIGN}.{only}.{name}"),
                ),
            }
        }
    }

    /// Notes which GC watermarks (start, and stop) the configuration sets. The others follow from the streams
    /// of the designs.
    pub fn note_watermarks(&mut self, are_chosen: [bool; 2]) {
        self.open_watermarks = are_chosen.map(|is_chosen| !is_chosen);
    }

    /// Puts the design keys back into the table of a device.
    pub fn put_into(&self, device: &mut Table) {
        let list = |names: &[String]| Value::Array(names.iter().map(|name| name.clone().into()).collect());
        for (n, names) in &self.of_pools {
            let pools = device.get_mut("pools").and_then(Value::as_array_mut);
            if let Some(pool) = pools.and_then(|pools| pools.get_mut(*n)).and_then(Value::as_table_mut) {
                pool.insert(DESIGNS.into(), list(names));
            }
        }
        if self.is_named_by_settings {
            let name = &self.of_device[0];
            let mut settings = self.settings.get(name).cloned().unwrap_or_default();
            settings.insert("name".into(), name.clone().into());
            device.insert(DESIGN.into(), settings.into());
        } else {
            if !self.of_device.is_empty() {
                device.insert(DESIGNS.into(), list(&self.of_device));
            }
            let settings =
                self.settings.iter().map(|(name, settings)| (name.clone(), settings.clone().into()));
            let settings: Table = settings.collect();
            if !settings.is_empty() {
                device.insert(DESIGN.into(), settings.into());
            }
        }
        let decides = self.decides.iter().map(|(seam, name)| (seam.clone(), name.clone().into()));
        let decides: Table = decides.collect();
        if !decides.is_empty() {
            device.insert(DECIDES.into(), decides.into());
        }
    }

    /// Checks a device with these designs.
    ///
    /// # Errors
    /// Every invalid key of the device or of a design.
    pub fn check(
        mut self,
        designs: &Designs,
        device: DeviceFile,
    ) -> Result<(Config, SelectedDesigns), Complaints> {
        let device = DeviceFile { demands: None, ..device };
        let mut wrong = Complaints::default();
        let all = self.read(designs, &mut wrong);
        self.check_decisions(&mut wrong);
        wrong.into_result(())?;
        if all.is_empty() {
            return Ok((device.check()?, SelectedDesigns { file: self, all, known: designs.clone() }));
        }
        let config = device.check()?;
        let mut wrong = Complaints::default();
        for (name, settings) in &all {
            if let Err(inner) = settings.check(&config.ftl) {
                self.nest(name, inner, &mut wrong);
            }
            self.settings.insert(name.clone(), settings.table());
        }
        wrong.into_result(())?;
        let chosen = SelectedDesigns { file: self, all, known: designs.clone() };
        let policies = chosen.policies(&config.ftl);
        let config = chosen.file.with_watermarks(config, &policies);
        let config = config
            .and_then(|config| config.check_policies(&policies))
            .map_err(|wrong| chosen.file.with_written_keys(wrong))?;
        let file = DesignsFile { open_watermarks: [false; 2], ..chosen.file };
        Ok((config, SelectedDesigns { file, ..chosen }))
    }

    /// Raises the GC watermarks that were left out to the values that the streams of these policies require.
    fn with_watermarks(&self, mut config: Config, policies: &Policies) -> Result<Config, Complaints> {
        let mut file = config.file.clone();
        file.demands = Some(policies.demands(config.ftl.pools.count())?);
        file.raise_watermarks(self.open_watermarks.map(|is_open| !is_open));
        config.file.ftl.gc = file.ftl.gc;
        Ok(config)
    }

    /// Reads the settings of each named design.
    fn read(&self, designs: &Designs, wrong: &mut Complaints) -> Vec<(String, Arc<dyn Settings>)> {
        let mut all: Vec<(String, Arc<dyn Settings>)> = Vec::new();
        let of_pools = self.of_pools.iter().flat_map(|(n, names)| {
            names.iter().enumerate().map(move |(at, name)| (format!("pools[{n}].{DESIGNS}[{at}]"), name))
        });
        let key = |at: usize| {
            if self.is_named_by_settings { format!("{DESIGN}.name") } else { format!("{DESIGNS}[{at}]") }
        };
        let of_device = self.of_device.iter().enumerate().map(|(at, name)| (key(at), name));
        for (key, name) in of_device.chain(of_pools) {
            if all.iter().any(|(known, _)| known == name) {
                continue;
            }
            let Some(entry) = designs.find(name) else {
                wrong.add(key, format!("{name:?}"), one_of(name, &designs.names()));
                continue;
            };
            match entry.read(self.settings.get(name).cloned().unwrap_or_default()) {
                Ok(settings) => all.push((name.clone(), settings)),
                Err(inner) => self.nest(name, inner, wrong),
            }
        }
        for name in self.settings.keys().filter(|name| !self.names().any(|known| known == *name)) {
            let names: Vec<&str> = self.names().map(String::as_str).collect();
            let wanted = match names.is_empty() {
                true => format!("the table left out, or {name} among {DESIGNS}"),
                false => one_of(name, &names),
            };
            wrong.add(
                format!("{DESIGN}.{name}"),
                "settings of a design that the device does not use",
                wanted,
            );
        }
        let twice = (1..self.of_device.len()).find(|at| self.of_device[..*at].contains(&self.of_device[*at]));
        if let Some(at) = twice {
            wrong.add(
                format!("{DESIGNS}[{at}]"),
                format!("{} twice", self.of_device[at]),
                "each design once",
            );
        }
        all
    }

    /// All names; some may occur repeatedly.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.of_device.iter().chain(self.of_pools.values().flatten())
    }

    fn check_decisions(&self, wrong: &mut Complaints) {
        let seams = ExtensionPoint::ALL.map(ExtensionPoint::name);
        for seam in self.decides.keys().filter(|seam| !seams.contains(&seam.as_str())) {
            wrong.add(format!("{DECIDES}.{seam}"), "no extension point of designs", one_of(seam, &seams));
        }
    }

    /// Adds complaints about the settings of a design, under its keys.
    fn nest(&self, name: &str, inner: Complaints, wrong: &mut Complaints) {
        let about_design =
            if self.is_named_by_settings { format!("{DESIGN}.name") } else { DESIGNS.to_owned() };
        let of_settings =
            if self.is_named_by_settings { DESIGN.to_owned() } else { format!("{DESIGN}.{name}") };
        for complaint in inner.0 {
            let prefix = if complaint.key.is_empty() { &about_design } else { &of_settings };
            wrong.nest(prefix, Complaints(vec![complaint]));
        }
    }

    /// Renames the keys in complaints to the keys of the configuration.
    fn with_written_keys(&self, mut wrong: Complaints) -> Complaints {
        for complaint in &mut wrong.0 {
            if self.is_named_by_settings && complaint.key == DESIGNS {
                complaint.key = format!("{DESIGN}.name");
            }
        }
        wrong
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list of design names.
fn design_names(names: Value, key: &str, wrong: &mut Complaints) -> Vec<String> {
    match names {
        Value::Array(names) if names.iter().all(Value::is_str) => names.iter().map(text_of).collect(),
        other => {
            wrong.add(key, other, "a list of names of designs");
            Vec::new()
        }
    }
}

impl SelectedDesigns {
    /// The configuration, with all settings.
    pub fn file(&self) -> &DesignsFile {
        &self.file
    }

    /// The registry in which the designs were found.
    pub fn known(&self) -> &Designs {
        &self.known
    }

    /// Names of the designs: first the designs of the device, then the designs of the pools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// Each design: name, key of its settings, and the settings.
    pub fn settings(&self) -> impl Iterator<Item = (&str, String, Table)> {
        self.all.iter().map(|(name, settings)| {
            let key = if self.file.is_named_by_settings { DESIGN.into() } else { format!("{DESIGN}.{name}") };
            (name.as_str(), key, settings.table())
        })
    }

    /// New instances of the designs for a back end of `config`.
    pub fn combination(&self, config: &ftl::Config) -> Combination {
        let (of_device, others): (Vec<_>, Vec<_>) =
            self.all.iter().partition(|(name, _)| self.file.of_device.contains(name));
        let device = of_device.into_iter().map(|(_, settings)| settings.build(config)).collect();
        let all = others
            .into_iter()
            .fold(Combination::of(device), |all, (_, settings)| all.and(settings.build(config)));
        let in_pools = self.file.of_pools.iter().fold(all, |all, (n, names)| all.in_pool(n + 1, names));
        let seam_of = |name: &str| ExtensionPoint::ALL.into_iter().find(|seam| seam.name() == name);
        let decisions = self.file.decides.iter().filter_map(|(seam, name)| Some((seam_of(seam)?, name)));
        decisions.fold(in_pools, |all, (seam, name)| all.with_decider(seam, name))
    }

    /// The policies of an FTL of `config`, with these designs.
    pub fn policies(&self, config: &ftl::Config) -> Policies {
        Policies::of(config).with_designs(self.combination(config))
    }
}
