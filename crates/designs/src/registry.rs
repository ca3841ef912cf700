//! The registry of designs: their names, settings, checks and construction.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::{Schema, schema_for};
use serde::Deserialize;
use toml::Table;
use wordline_ftl::{Config, Design};
use wordline_kernel::{Complaints, Metric};

use crate::centaur::{Centaur, SlcMlcHybrid};
use crate::cubeftl::CubeFtl;
use crate::design_type::DesignType;
use crate::ressd::ReSsd;

/// The registry: the designs that a configuration can name. Clones share their entries.
#[derive(Clone)]
pub struct Designs(Arc<Vec<Arc<dyn Entry>>>);

impl Default for Designs {
    /// The built-in designs.
    fn default() -> Self {
        Self::none().with::<Centaur>().with::<CubeFtl>().with::<ReSsd>().with::<SlcMlcHybrid>()
    }
}

impl PartialEq for Designs {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names()
    }
}

impl fmt::Debug for Designs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.names()).finish()
    }
}

impl Designs {
    /// An empty registry.
    pub fn none() -> Self {
        Self(Arc::new(Vec::new()))
    }

    /// Adds a design.
    ///
    /// # Panics
    /// If the name is taken, or is not a valid key.
    #[must_use]
    pub fn with<T: DesignType>(self) -> Self {
        assert!(self.find(T::NAME).is_none(), "two designs are called {}", T::NAME);
        let is_key = T::NAME.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '-'));
        assert!(
            is_key && T::NAME != "name" && T::NAME.starts_with(char::is_alphabetic),
            "a design called {}",
            T::NAME
        );
        let mut entries = Vec::clone(&self.0);
        entries.push(Arc::new(TypedEntry::<T>(PhantomData)));
        Self(Arc::new(entries))
    }

    /// Names of all designs.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|entry| entry.name()).collect()
    }

    /// All designs.
    pub fn entries(&self) -> impl Iterator<Item = &dyn Entry> {
        self.0.iter().map(|entry| &**entry)
    }

    /// The design with this name.
    pub fn find(&self, name: &str) -> Option<&dyn Entry> {
        self.entries().find(|entry| entry.name() == name)
    }
}

/// A registered design.
pub trait Entry: Send + Sync {
    /// Name of the design.
    fn name(&self) -> &'static str;
    /// One-sentence description.
    fn description(&self) -> &'static str;
    /// Documentation page; may be empty.
    fn page(&self) -> &'static str;
    /// Metrics of the design.
    fn metrics(&self) -> Vec<&'static Metric>;
    /// Presets of devices with this design.
    fn presets(&self) -> &'static [(&'static str, &'static str)];
    /// Schema of the settings.
    fn schema(&self) -> Schema;
    /// Reads the settings from their table.
    ///
    /// # Errors
    /// Keys and values that are not valid settings.
    fn read(&self, settings: Table) -> Result<Arc<dyn Settings>, Complaints>;
}

/// Settings of a design.
pub trait Settings: fmt::Debug + Send + Sync {
    /// Checks the settings for a device of `config`.
    ///
    /// # Errors
    /// Every complaint, by key of the settings.
    fn check(&self, config: &Config) -> Result<(), Complaints>;
    /// Builds the design for a device of `config`.
    fn build(&self, config: &Config) -> Box<dyn Design>;
    /// All settings, including those left out.
    fn table(&self) -> Table;
}

struct TypedEntry<T>(PhantomData<fn() -> T>);

impl<T: DesignType> Entry for TypedEntry<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn description(&self) -> &'static str {
        T::DESCRIPTION
    }

    fn page(&self) -> &'static str {
        T::PAGE
    }

    fn metrics(&self) -> Vec<&'static Metric> {
        T::metrics()
    }

    fn presets(&self) -> &'static [(&'static str, &'static str)] {
        T::presets()
    }

    fn schema(&self) -> Schema {
        schema_for!(T::File)
    }

    fn read(&self, settings: Table) -> Result<Arc<dyn Settings>, Complaints> {
        let file = T::File::deserialize(settings).map_err(|error| {
            let mut wrong = Complaints::default();
            wrong.add("", error.message().trim(), format!("the settings of {}", T::NAME));
            wrong
        })?;
        Ok(Arc::new(TypedSettings::<T>(file)))
    }
}

struct TypedSettings<T: DesignType>(T::File);

impl<T: DesignType> fmt::Debug for TypedSettings<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl<T: DesignType> Settings for TypedSettings<T> {
    fn check(&self, config: &Config) -> Result<(), Complaints> {
        T::check(&self.0, config)
    }

    fn build(&self, config: &Config) -> Box<dyn Design> {
        T::build(&self.0, config)
    }

    fn table(&self) -> Table {
        Table::try_from(&self.0).expect("settings are TOML")
    }
}
