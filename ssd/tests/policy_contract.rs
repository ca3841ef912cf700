//! Does every listed policy keep the promise of its trait?

mod common;

use common::small;
use proptest::prelude::*;
use wordline_ssd::policy::placement::{PlacementKind, RowSet};

fn placements() -> Vec<PlacementKind> {
    let orders = ["CWDP", "PDWC", "DPCW"].map(|order| PlacementKind::Fixed { order: order.into() });
    [PlacementKind::Dynamic {}].into_iter().chain(orders).collect()
}

proptest! {
    #[test]
    fn a_placement_answers_with_a_row_that_accepts(
        channels in 1u32..=5,
        packages in 1u32..=3,
        dies in 1u32..=5,
        turns in prop::collection::vec(any::<u128>(), 1..50),
    ) {
        let mut file = small();
        file.layout.channels = channels;
        file.layout.packages_per_channel = packages;
        file.layout.dies_per_package = dies;
        file.layout.planes_per_row = Some(1);
        let geometry = file.check().expect("the device is sound").geometry;
        for kind in placements() {
            let mut placement = kind.build(&geometry, packages);
            let homes: Vec<_> = (0..geometry.rows()).map(|page| placement.home(page)).collect();
            if homes[0].is_some() {
                let mut rows: Vec<_> = homes.iter().flatten().copied().collect();
                rows.sort_unstable();
                prop_assert_eq!(rows, (0..geometry.rows()).collect::<Vec<_>>(), "each row once a round");
                continue;
            }
            prop_assert!(homes.iter().all(Option::is_none), "all pages have homes or none");
            for turn in &turns {
                let mut accepting = RowSet::new(geometry.rows());
                for row in 0..geometry.rows() {
                    accepting.set(row, turn >> (row % 128) & 1 != 0);
                }
                match placement.next(&accepting) {
                    Some(row) => prop_assert!(accepting.contains(row)),
                    None => prop_assert!(accepting.is_empty()),
                }
            }
        }
    }
}
