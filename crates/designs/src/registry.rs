//! The designs that there are: what each is called, which settings it has, what is checked, and what is made of them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;
use wordline_kernel::{Complaints, Metric};
use wordline_ssd::{Config, Design};

use crate::centaur::{Centaur, SlcMlcHybrid};
use crate::cubeftl::CubeFtl;
use crate::ressd::ReSsd;

/// A design as a configuration names it.
pub trait DesignType: 'static {
    /// Its name, in lower case with hyphens.
    const NAME: &'static str;
    /// Its description, in a sentence.
    const DESCRIPTION: &'static str;
    /// Its page in Markdown; may be empty.
    const PAGE: &'static str = "";

    /// Its settings. They deny keys that they do not know, and may be left out.
    type File: fmt::Debug + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync;

    /// Checks settings for a device of `config`.
    ///
    /// # Errors
    /// Everything that is wrong, by key of the settings; a complaint without a key is about the design in this device.
    fn check(_file: &Self::File, _config: &Config) -> Result<(), Complaints> {
        Ok(())
    }

    /// The design for a device of `config`. Settings are checked.
    fn build(file: &Self::File, config: &Config) -> Box<dyn Design>;

    /// Its metrics.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// Presets of devices with it, each with its name and its text.
    fn presets() -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// The designs that a configuration can name. Copies share their entries.
#[derive(Clone)]
pub struct Designs(Arc<Vec<Arc<dyn Entry>>>);

impl Default for Designs {
    /// Those that are built in.
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
    /// None.
    pub fn none() -> Self {
        Self(Arc::new(Vec::new()))
    }

    /// The same with another one.
    ///
    /// # Panics
    /// If there is one of that name, or the name is no key.
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
        entries.push(Arc::new(Of::<T>(PhantomData)));
        Self(Arc::new(entries))
    }

    /// The names of all.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|entry| entry.name()).collect()
    }

    /// All of them.
    pub fn entries(&self) -> impl Iterator<Item = &dyn Entry> {
        self.0.iter().map(|entry| &**entry)
    }

    /// The one of that name.
    pub fn find(&self, name: &str) -> Option<&dyn Entry> {
        self.entries().find(|entry| entry.name() == name)
    }
}

/// A design behind its name.
pub trait Entry: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Its description, in a sentence.
    fn description(&self) -> &'static str;
    /// Its page; may be empty.
    fn page(&self) -> &'static str;
    /// Its metrics.
    fn metrics(&self) -> Vec<&'static Metric>;
    /// Presets of devices with it.
    fn presets(&self) -> &'static [(&'static str, &'static str)];
    /// The schema of its settings.
    fn schema(&self) -> Schema;
    /// Its settings out of their table.
    ///
    /// # Errors
    /// Keys and values that are not settings of the design.
    fn read(&self, settings: Table) -> Result<Arc<dyn Settings>, Complaints>;
}

/// The settings of a design.
pub trait Settings: fmt::Debug + Send + Sync {
    /// Checks them for a device of `config`.
    ///
    /// # Errors
    /// Everything that is wrong, by key of the settings.
    fn check(&self, config: &Config) -> Result<(), Complaints>;
    /// The design for a device of `config`.
    fn build(&self, config: &Config) -> Box<dyn Design>;
    /// All of them, those that were left out too.
    fn table(&self) -> Table;
}

struct Of<T>(PhantomData<fn() -> T>);

impl<T: DesignType> Entry for Of<T> {
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
        Ok(Arc::new(Read::<T>(file)))
    }
}

struct Read<T: DesignType>(T::File);

impl<T: DesignType> fmt::Debug for Read<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl<T: DesignType> Settings for Read<T> {
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
