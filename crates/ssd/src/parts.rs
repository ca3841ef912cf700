//! Parts of a device: its policies and designs.

use wordline_ftl::{self as ftl, design::Combination};
use wordline_kernel::Complaints;

use crate::Config;
use crate::policy::destage::Destage;
use crate::policy::eviction::Eviction;

/// Policies and designs of a device. Custom policies replace those of the configuration:
/// `parts.with_ftl(|ftl| ftl::Parts { victim: Box::new(MyVictim), ..ftl })`.
pub struct Parts {
    /// Selects the pages that are destaged as soon as they are written.
    pub destage: Box<dyn Destage>,
    /// Selects the page that leaves the write buffer next.
    pub eviction: Box<dyn Eviction>,
    /// Selects the page that leaves the read cache next.
    pub read_eviction: Box<dyn Eviction>,
    /// Policies of the FTL, and designs.
    pub ftl: ftl::Parts,
}

impl Parts {
    /// The policies of a configuration, without designs.
    pub fn of(config: &Config) -> Self {
        let buffer = &config.file.buffer;
        Self {
            destage: buffer.destage.build(),
            eviction: buffer.eviction.build(),
            read_eviction: buffer.read_eviction.build(),
            ftl: ftl::Parts::of(&config.ftl),
        }
    }

    /// These parts with other policies or designs in the FTL.
    #[must_use]
    pub fn with_ftl(self, change: impl FnOnce(ftl::Parts) -> ftl::Parts) -> Self {
        Self { ftl: change(self.ftl), ..self }
    }

    /// These parts with designs, which decide instead of the policies.
    #[must_use]
    pub fn with_designs(self, designs: Combination) -> Self {
        self.with_ftl(|ftl| ftl::Parts { designs, ..ftl })
    }

    /// The configuration of a device with these parts, checked against their demands.
    ///
    /// # Errors
    /// Keys that these parts do not permit.
    pub fn check(&self, config: &Config) -> Result<Config, Complaints> {
        let mut file = config.file.clone();
        file.demands = Some(self.ftl.demands(config.ftl.pools.count())?);
        let mut wrong = Complaints::default();
        self.ftl.check(&config.ftl, &mut wrong);
        wrong.into_result(())?;
        file.check()
    }
}
