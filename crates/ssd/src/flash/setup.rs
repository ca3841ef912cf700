//! What `Flash` is made of: the part of a device's configuration that it reads.

use wordline_nand::{Fault, Pools};

use crate::Config;
use crate::config::ReadRetryFile;
use crate::scheduling::SchedulingFile;

/// What [`Flash`](super::Flash) is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Its chips, and how their pages are divided into locations.
    pub pools: &'a Pools,
    /// What fails, and when.
    pub faults: &'a [Fault],
    /// How pages that could not be read are sensed again.
    pub read_retry: &'a ReadRetryFile,
    /// What the queue of a die may do out of order.
    pub scheduling: &'a SchedulingFile,
    /// Whether pages are copied before their cells are programmed again.
    pub backs_up_lower_pages: bool,
}

impl<'a> From<&'a Config> for Setup<'a> {
    fn from(config: &'a Config) -> Self {
        Self {
            pools: &config.pools,
            faults: &config.faults,
            read_retry: &config.file.ftl.read_retry,
            scheduling: &config.file.ftl.scheduling,
            backs_up_lower_pages: config.backs_up_lower_pages(),
        }
    }
}
