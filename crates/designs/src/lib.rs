//! Research designs: each a folder that says only what it changes of a device, over public names of the crates below. No
//! files, no clocks.

pub mod centaur;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_ssd::policy::name_of;
use wordline_ssd::policy::router::RouterKind;
use wordline_ssd::{Config, Parts};

use centaur::{Dispatcher, DispatcherFile, Hybrid, HybridFile};

/// A design, as the table `[design]` of a device names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Design {
    /// Centaur's dispatcher: pieces of a unit go to the first of two pools if they are as large as a condition that moves until
    /// both wear alike. Wants two `pools`.
    Centaur(DispatcherFile),
    /// The hybrid of SLC and MLC that Centaur compares itself with: small writes go to the second of two pools, what is small
    /// following from the sizes of the last epoch. Wants two `pools`.
    SlcMlcHybrid(HybridFile),
}

impl Design {
    /// Its name in a configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Centaur(_) => "centaur",
            Self::SlcMlcHybrid(_) => "slc-mlc-hybrid",
        }
    }

    /// How many of the host's write streams it tells apart.
    pub fn streams(&self) -> u8 {
        match self {
            Self::Centaur(_) | Self::SlcMlcHybrid(_) => centaur::STREAMS,
        }
    }

    /// What is wrong with its settings, and what of the device `config` it does not go with. Keys of its own settings begin with
    /// `design`.
    ///
    /// # Errors
    /// Every key with what was found and what was wanted.
    pub fn check(&self, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        let settings = match self {
            Self::Centaur(file) => file.check(config),
            Self::SlcMlcHybrid(file) => file.check(),
        };
        if let Err(inner) = settings {
            wrong.nest("design", inner);
        }
        let pools = config.pools.count();
        wrong.require(
            pools == 2,
            "design.name",
            format!("{} beside {pools} {}", self.name(), if pools == 1 { "pool" } else { "pools" }),
            "a device with two pools: one table [[pools]] beside the first part",
        );
        let router = &config.file.ftl.router;
        wrong.require(
            *router == RouterKind::default(),
            "ftl.router.policy",
            format!("{} beside design.name = {:?}", name_of(router), self.name()),
            "single, or the key left out: the design routes",
        );
        wrong.or_ok(())
    }

    /// The parts of a device of `config`: `base` with what the design changes.
    pub fn parts(&self, base: Parts, config: &Config) -> Parts {
        match self {
            Self::Centaur(file) => Parts { router: Box::new(Dispatcher::new(file)), ..base },
            Self::SlcMlcHybrid(file) => Parts { router: Box::new(Hybrid::new(file, config)), ..base },
        }
    }
}
