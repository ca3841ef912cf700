//! Tuners must try every set of read reference voltages.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wordline_flash::policy::tuner::{ReadOutcome, ReadParameters, SensedPage, Tuner, TunerKind};
use wordline_ftl::Config;
use wordline_nand::{CellMode, LayerId, Layers, PageId};

use super::restored;

use crate::common::small;

/// Page of a block, as a tuner sees it.
fn sensed(layers: &Layers, page: u32, highest: u8) -> SensedPage {
    let Config { pools, .. } = small().check().expect("the device is sound").ftl;
    let page = PageId(page);
    SensedPage {
        page,
        pool: 0,
        block: pools.block_of_page(page),
        layer: layers.layer_of(page, CellMode::Native),
        erases: 0,
        highest,
    }
}

/// Sets of read reference voltages that a tuner selects for a page, in as many tries as there are sets.
fn tries(tuner: &dyn Tuner, page: &SensedPage) -> Vec<u8> {
    let mut so_far = ReadOutcome { parameters: tuner.read(page), senses: 1, is_read: false };
    let mut tried = vec![so_far.parameters.level];
    for senses in 2..=u32::from(page.highest) + 1 {
        so_far.parameters = tuner.read_again(page, &so_far);
        so_far.senses = senses;
        tried.push(so_far.parameters.level);
    }
    tried
}

proptest! {
    #[test]
    fn a_tuner_tries_every_set_of_read_levels_once(
        highest in 0u8..=20,
        script in prop::collection::vec((0u8..10, 0u32..64, 0u8..=20), 0..60),
    ) {
        let config = small().check().expect("the device is sound");
        let layers = || Layers::of(&config.ftl.pools);
        for kind in [TunerKind::Nominal {}, TunerKind::LastGood {}] {
            let mut tuner = kind.build(layers);
            // Model of the last set that succeeded in each layer.
            let mut good = BTreeMap::<LayerId, u8>::new();
            for (what, page, level) in &script {
                let page = sensed(&layers(), *page, highest);
                match what {
                    0 => {
                        tuner.erased(page.block);
                        let block = layers().of_block(page.block);
                        good.retain(|layer, _| !block.contains(&layer.0));
                    }
                    1 => {
                        tuner.forget();
                        good.clear();
                    }
                    _ => {
                        let outcome = ReadOutcome {
                            parameters: ReadParameters { level: level % (highest + 1) },
                            senses: 1,
                            is_read: *what > 3,
                        };
                        tuner.read_finished(&page, &outcome);
                        if outcome.is_read {
                            good.insert(page.layer, outcome.parameters.level);
                        }
                    }
                }
                tuner = restored(&*tuner, kind.build(layers));
                let mut tried = tries(&*tuner, &page);
                let first = good.get(&page.layer).copied().filter(|_| kind == TunerKind::LastGood {});
                prop_assert_eq!(tried[0], first.unwrap_or(0), "{:?}", kind);
                tried.sort_unstable();
                prop_assert_eq!(tried, (0..=highest).collect::<Vec<_>>(), "{:?}", kind);
            }
        }
    }
}
