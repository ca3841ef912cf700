//! Capacity to which `ftl.over_provisioning` applies, and the text for its sufficient values.

use wordline_kernel::Complaints;
use wordline_nand::{Pool, Pools};

/// Pages to which the over-provisioning applies: all pages except the pages of reserved blocks.
pub(super) fn counted(reserved: u32, pools: &Pools, wrong: &mut Complaints) -> f64 {
    let fewest = pools.iter().map(|pool| pool.geometry.blocks_per_plane).min().unwrap_or(0);
    let wanted = format!("fewer than the {fewest} blocks of a plane group");
    wrong.require(reserved < fewest, "ftl.reserved_blocks", reserved, wanted);
    let counted = |pool: &Pool| {
        let blocks = pool.geometry.blocks_per_plane.saturating_sub(reserved);
        f64::from(blocks) * f64::from(pool.locations.per_block()) * f64::from(pool.geometry.rows())
    };
    pools.iter().map(counted).sum()
}

/// Text for the sufficient values. They begin at `least`. `logical` of `all` pages are left for the host.
pub(super) fn enough(least: f64, all: f64, logical: u32) -> String {
    let digits = 1e4;
    match (least * digits).ceil() / digits {
        _ if logical == 0 => {
            let most = ((1.0 - 1.0 / all) * digits).floor() / digits;
            format!("at most {most:.4}, so that a page is left for the host")
        }
        least if least < 1.0 => format!("at least {least:.4} and below 1"),
        _ => "more blocks, for no value suffices".to_owned(),
    }
}
