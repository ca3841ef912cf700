//! Centaur in the registry of designs.

use wordline_ftl::{Config, Design};
use wordline_kernel::Complaints;

use super::Centaur;
use super::configured::CentaurFile;
use super::pools::check_device;
use crate::design_type::DesignType;

impl DesignType for Centaur {
    const NAME: &'static str = "centaur";
    const DESCRIPTION: &'static str = "Centaur over two pools: sub-requests of at least a certain size go to the first pool, and the size is adjusted \
        until both pools wear equally. Idle chips of the second pool steal sub-requests that wait for the first. GC migrates whole \
        mapping units from the second pool to the first. Needs two `pools`.";
    const PAGE: &'static str = include_str!("../../../../docs/designs/centaur.md");

    type File = CentaurFile;

    fn check(file: &CentaurFile, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        file.check(config, &mut wrong);
        check_device(Self::NAME, config, &mut wrong);
        wrong.into_result(())
    }

    fn build(file: &CentaurFile, _: &Config) -> Box<dyn Design> {
        Box::new(Centaur::new(file))
    }
}
