//! Requirements on the chips of a device: which planes are read together, and how pages divide into mapping
//! units.

use wordline_device::SECTOR;
use wordline_kernel::Complaints;
use wordline_nand::{Geometry, Locations};

use super::file::BackEndFile;
use crate::Sectors;
use crate::policy::placement::PlacementKind;

impl BackEndFile {
    /// Rejects independent plane reads, because no controller here uses them.
    pub(super) fn check_reads(&self, wrong: &mut Complaints) {
        let pools = self.pools.iter().enumerate().map(|(n, pool)| (format!("pools[{n}].part"), &pool.part));
        for (table, part) in std::iter::once(("part".to_owned(), &self.part)).chain(pools) {
            wrong.require(
                !part.geometry.independent_reads,
                &format!("{table}.geometry.independent_reads"),
                true,
                "false: the controller reads planes together or one after another, and never each by itself",
            );
        }
    }

    /// Rejects static allocation on pools whose channels differ.
    pub(super) fn check_channels(&self, wrong: &mut Complaints) {
        let dynamic = self.ftl.placement == PlacementKind::Dynamic {};
        let others = self.pools.iter().enumerate();
        let others = others.map(|(n, pool)| (format!("pools[{n}].layout.short_channels"), &pool.layout));
        for (key, layout) in std::iter::once(("layout.short_channels".into(), &self.layout)).chain(others) {
            let wanted = "0: static allocation of ftl.placement fixed requires channels that are alike";
            wrong.require(layout.short_channels == 0 || dynamic, &key, layout.short_channels, wanted);
        }
    }

    /// The division of pages into mapping units.
    pub(super) fn check_unit(&self, geometry: &Geometry, wrong: &mut Complaints) -> Option<Locations> {
        let page = geometry.page_size;
        let unit = self.ftl.mapping.unit.unwrap_or(page);
        let most = SECTOR * u64::from(Sectors::MOST);
        let locations =
            if (SECTOR..=most).contains(&unit) { Locations::of_size(geometry, unit) } else { None };
        wrong.require(
            locations.is_some(),
            "ftl.mapping.unit",
            unit,
            format!(
                "from 512B to {most}: a page ({page}) divided by a power of two, or pages of which a program unit ({}) is \
                 a multiple; fewer than 2^31 in all",
                page * u64::from(geometry.pages_per_program)
            ),
        );
        locations
    }
}
