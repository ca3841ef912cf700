//! A design that decides at random which pages are destaged together, and when they are destaged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_ftl::design::{CoalescedUnit, ExtensionPoint, Needs, View};
use wordline_ftl::{Config, Design};
use wordline_kernel::state;

/// A design with random decisions.
pub struct RandomCoalescer {
    settings: File,
}

/// Settings: the percentage of positive decisions, by query.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    now: u64,
    with: u64,
    along: u64,
}

state!(RandomCoalescer { fixed { settings } });

impl Design for RandomCoalescer {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Coalesce])
    }

    fn destages_now(&mut self, unit: &CoalescedUnit<'_>, view: &mut View<'_>) -> bool {
        assert!((1..=unit.size()).contains(&unit.waiting()), "the page that was written waits");
        view.random().below(100) < self.settings.now
    }

    fn destages_with(&mut self, page: u32, other: u32, view: &mut View<'_>) -> bool {
        assert!(page != other);
        view.random().below(100) < self.settings.with
    }

    fn is_carried_along(&mut self, _: u32, view: &mut View<'_>) -> bool {
        view.random().below(100) < self.settings.along
    }
}

impl DesignType for RandomCoalescer {
    const NAME: &'static str = "gathers";
    const DESCRIPTION: &'static str = "Some pages leave the buffer together.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { settings: file.clone() })
    }
}

/// Adds the design to the settings of a device, with these percentages.
pub fn add_to(settings: &mut Vec<String>, [now, with, along]: [u64; 3]) {
    let own = format!("{{ now = {now}, with = {with}, along = {along} }}");
    add_design(settings, "gathers", &own, "coalesce");
}

/// Adds a design and its settings to the settings of a device, alone or with another design. The added design
/// takes precedence over Centaur at the extension point `seam`.
pub fn add_design(settings: &mut Vec<String>, name: &str, own: &str, seam: &str) {
    settings.push(format!("design.{name}={own}"));
    let other = settings.iter().position(|setting| setting.starts_with("design={ name = "));
    let Some(other) = other.map(|at| settings.remove(at)) else {
        return settings.push(format!("designs=['{name}']"));
    };
    let mut parts = other.splitn(3, '\'');
    let (Some(beside), Some(rest)) = (parts.nth(1), parts.next()) else { panic!("{other}") };
    settings.push(format!("designs=['{beside}', '{name}']"));
    settings.push(format!("design.{beside}={{ {}", rest.trim_start_matches([',', ' '])));
    if beside == "centaur" {
        settings.push(format!("decides.{seam}='{name}'"));
    }
}
