//! cubeFTL in the registry of designs.

use wordline_ftl::{Config, Design};
use wordline_kernel::{Complaints, Metric};

use super::config::CubeFile;
use super::{CubeFtl, metrics};
use crate::design_type::DesignType;

impl DesignType for CubeFtl {
    const NAME: &'static str = "cubeftl";
    const DESCRIPTION: &'static str = "cubeFTL over the cells of a 3D part: parameters measured on the leader word line of a horizontal layer shorten the \
        programs of its other word lines, the followers. Followers are kept for times when the write buffer is full. Reads begin with the \
        read offsets that last worked for their layer. Needs `part.cells`.";
    const PAGE: &'static str = include_str!("../../../../docs/designs/cubeftl.md");

    type File = CubeFile;

    fn check(file: &CubeFile, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        file.check(config, &mut wrong);
        wrong.into_result(())
    }

    fn build(file: &CubeFile, config: &Config) -> Box<dyn Design> {
        Box::new(CubeFtl::new(file, config))
    }

    fn metrics() -> Vec<&'static Metric> {
        metrics::ALL.to_vec()
    }
}
