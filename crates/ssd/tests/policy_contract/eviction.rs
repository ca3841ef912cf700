//! An eviction policy must evict the pages that its definition names.

use proptest::prelude::*;
use wordline_ftl::map::LogicalPage;
use wordline_ssd::policy::eviction::{EntryId, EntryList, EvictionKind};

use super::restored;

/// Next entry of `line` to be evicted, by the definition of the policy. The flag is set if an entry was used.
fn leaves_next(kind: &EvictionKind, line: &mut Vec<(u32, bool)>) -> u32 {
    while matches!(kind, EvictionKind::Clock {}) && line[0].1 {
        let (entry, _) = line.remove(0);
        line.push((entry, false));
    }
    line[0].0
}

proptest! {
    #[test]
    fn an_eviction_policy_lets_go_what_a_plain_line_would(
        steps in prop::collection::vec((0u8..4, 0u32..12), 1..400),
    ) {
        for kind in [EvictionKind::Fifo {}, EvictionKind::Lru {}, EvictionKind::Clock {}] {
            let mut policy = kind.build();
            policy.prepare(12);
            let mut waiting = EntryList::new(12);
            let mut line: Vec<(u32, bool)> = Vec::new();
            for (n, (what, entry)) in steps.iter().enumerate() {
                if n % 5 == 0 {
                    let mut fresh = kind.build();
                    fresh.prepare(12);
                    policy = restored(&*policy, fresh);
                }
                let at = line.iter().position(|(other, _)| other == entry);
                match (what, at) {
                    (0, Some(at)) => {
                        line.remove(at);
                        waiting.remove(EntryId(*entry));
                        policy.removed(EntryId(*entry));
                    }
                    (1 | 2, Some(at)) => {
                        policy.used(EntryId(*entry));
                        line[at].1 = true;
                        if matches!(kind, EvictionKind::Lru {}) {
                            line[at..].rotate_left(1);
                        }
                    }
                    (_, None) => {
                        line.push((*entry, false));
                        waiting.push(EntryId(*entry));
                        policy.added(EntryId(*entry), LogicalPage(100 - entry));
                    }
                    _ => {
                        let wanted = EntryId(leaves_next(&kind, &mut line));
                        prop_assert_eq!(policy.next(&waiting), wanted, "{:?}", &kind);
                        prop_assert_eq!(policy.next(&waiting), wanted, "{:?} asked twice", &kind);
                    }
                }
            }
        }
    }
}
