//! A destage policy must destage the pages that its definition names.

use std::collections::BTreeSet;

use proptest::prelude::*;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_ssd::policy::destage::DestageKind;

use super::restored;

const PAGES: u32 = 130;
const WINDOW: Duration = Duration::from_us(1_000);

#[test]
fn a_policy_that_destages_when_full_destages_nothing_before() {
    let policy = DestageKind::WhenFull {}.build();
    assert_eq!(policy.in_flight(), None);
    assert!(!policy.leaves(LogicalPage(0), Instant::ZERO));
}

proptest! {
    #[test]
    fn a_page_is_destaged_at_its_first_write_in_a_window(
        writes in prop::collection::vec((0..PAGES, 0u64..200), 1..400),
    ) {
        let kind = DestageKind::UnlessHot { window: WINDOW, in_flight: Bytes::mib(1) };
        let build = || {
            let mut policy = kind.build();
            policy.prepare(PAGES);
            policy
        };
        let mut policy = build();
        prop_assert_eq!(policy.in_flight(), Some(Bytes::mib(1)));
        let (mut now, mut begun, mut hot) = (Instant::ZERO, None, BTreeSet::new());
        for (n, (page, later)) in writes.iter().enumerate() {
            now += Duration::from_us(*later);
            if n % 7 == 0 {
                policy = restored(&*policy, build());
            }
            if begun.is_none_or(|begun| now - begun >= WINDOW) {
                (begun, hot) = (Some(now), BTreeSet::new());
            }
            let wanted = hot.insert(*page);
            prop_assert_eq!(policy.leaves(LogicalPage(*page), now), wanted, "page {} at {:?}", page, now);
            prop_assert_eq!(policy.leaves(LogicalPage(*page), now), wanted, "asked twice");
            policy.written(LogicalPage(*page), now);
        }
        policy.prepare(PAGES);
        prop_assert!((0..PAGES).all(|page| policy.leaves(LogicalPage(page), now)), "all was lost");
    }
}
