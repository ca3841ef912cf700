//! ReSSD in the registry of designs.

use wordline_ftl::{Config, Design};
use wordline_kernel::{Complaints, Metric};

use super::config::ReSsdFile;
use super::{ReSsd, metrics};
use crate::design_type::DesignType;

impl DesignType for ReSsd {
    const NAME: &'static str = "ressd";
    const DESCRIPTION: &'static str = "ReSSD: updates of recently written data go to blocks in MLC mode. There, word lines with an invalid page are \
        reprogrammed without an erase. Needs `part.timing.reprogram` and `ftl.two_bit`.";
    const PAGE: &'static str = include_str!("../../../../docs/designs/ressd.md");

    type File = ReSsdFile;

    fn check(file: &ReSsdFile, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        file.check(config, &mut wrong);
        wrong.into_result(())
    }

    fn build(file: &ReSsdFile, config: &Config) -> Box<dyn Design> {
        Box::new(ReSsd::new(file, config))
    }

    fn metrics() -> Vec<&'static Metric> {
        metrics::ALL.to_vec()
    }
}
