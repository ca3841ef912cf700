//! The policies of the buffer of an SSD, and the check of a configuration against the policies of its FTL.

use wordline_ftl::Policies;
use wordline_kernel::Complaints;

use crate::Config;
use crate::policy::destage::Destage;
use crate::policy::eviction::Eviction;

/// Policies of the write buffer and the read cache. Custom policies replace those of the configuration:
/// `BufferPolicies { eviction: Box::new(MyEviction), ..BufferPolicies::of(&config) }`.
pub struct BufferPolicies {
    /// Selects the pages that are destaged as soon as they are written.
    pub destage: Box<dyn Destage>,
    /// Selects the page that leaves the write buffer next.
    pub eviction: Box<dyn Eviction>,
    /// Selects the page that leaves the read cache next.
    pub read_eviction: Box<dyn Eviction>,
}

impl BufferPolicies {
    /// The policies of a configuration.
    pub fn of(config: &Config) -> Self {
        let buffer = &config.file.buffer;
        Self {
            destage: buffer.destage.build(),
            eviction: buffer.eviction.build(),
            read_eviction: buffer.read_eviction.build(),
        }
    }
}

impl Config {
    /// This configuration for a device with these policies and designs, checked against their demands.
    ///
    /// # Errors
    /// Keys that they do not permit.
    pub fn check_policies(&self, policies: &Policies) -> Result<Self, Complaints> {
        let mut file = self.file.clone();
        file.demands = Some(policies.demands(self.ftl.pools.count())?);
        let mut wrong = Complaints::default();
        policies.check(&self.ftl, &mut wrong);
        wrong.into_result(())?;
        file.check()
    }
}
