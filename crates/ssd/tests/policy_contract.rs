//! Every built-in policy must keep the contract of its trait.

mod destage;
mod eviction;
mod tuner;

use std::collections::BTreeSet;

use proptest::prelude::*;
use wordline_flash::policy::failure::{FailedOperation, Failure, FailureAction, FailureKind, MOST_FAILURES};
use wordline_ftl::blocks::{BlockManager, State, Streams};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::background::{BackgroundKind, IdleGroup};
use wordline_ftl::policy::balancer::{BalancerKind, Reach, WaitingUnits};
use wordline_ftl::policy::frontier::{FrontierKind, OpenBlock, Reprogram, WordLines};
use wordline_ftl::policy::mapper::{CacheSize, Dftl, Mapper, TranslationPage};
use wordline_ftl::policy::placement::{PlacementKind, PlaneGroupSet};
use wordline_ftl::policy::relocator::{RelocatedPage, RelocatorKind};
use wordline_ftl::policy::router::{HostPage, RouterKind};
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::policy::wear::{PlaneGroupBlock, PlaneGroupBlocks, WearKind};
use wordline_kernel::snapshot::{Reader, State as Snapshot, Writer};
use wordline_kernel::{Column, Duration, Id, Seed};
use wordline_nand::{BlockSetId, Location, PlaneGroupId};
use wordline_ssd::Config;

use crate::common::small;

/// Panics, because word lines in numerical order need no query.
fn by_number(_: &[OpenBlock<'_>], _: &BlockManager) -> (usize, u32) {
    unreachable!("word lines go by their numbers")
}

/// New policy with the saved state of `policy`. It must behave like `policy` from then on.
fn restored<P: Snapshot + ?Sized>(policy: &P, mut fresh: Box<P>) -> Box<P> {
    let mut bytes = Vec::new();
    policy.save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
    let mut bytes = bytes.as_slice();
    fresh.load_state(&mut Reader::new(&mut bytes)).expect("a policy of the same kind wrote it");
    assert!(bytes.is_empty(), "it reads all of it");
    fresh
}

fn placements() -> Vec<PlacementKind> {
    let orders = orders().into_iter().map(|order| PlacementKind::Fixed { order });
    [PlacementKind::Dynamic {}].into_iter().chain(orders).collect()
}

/// All orders of channel, way, die and plane.
fn orders() -> Vec<String> {
    let mut orders = vec![String::new()];
    for _ in 0..4 {
        let with = |order: &String| {
            let rest = "CWDP".chars().filter(|letter| !order.contains(*letter));
            rest.map(|letter| format!("{order}{letter}")).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(with).collect();
    }
    orders
}

#[test]
fn all_orders_are_placements_of_their_own() {
    let mut file = small();
    (file.layout.channels, file.layout.packages_per_channel, file.layout.dies_per_package) = (2, 2, 2);
    file.layout.planes_per_row = Some(1);
    let geometry = file.check().expect("the device is sound").ftl.pools;
    let homes = |order: &String| {
        let placement = PlacementKind::Fixed { order: order.clone() }.build(&geometry, &[2]);
        (0..geometry.rows()).map(|page| placement.home(page, 0)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = orders().iter().map(homes).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 24);
}

proptest! {
    #[test]
    fn a_placement_chooses_a_group_that_accepts(
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
        let geometry = file.check().expect("the device is sound").ftl.pools;
        for kind in placements() {
            let mut placement = kind.build(&geometry, &[packages]);
            let mut again = kind.build(&geometry, &[packages]);
            let homes: Vec<_> = (0..geometry.rows()).map(|page| placement.home(page, 0)).collect();
            if homes[0].is_some() {
                let mut rows: Vec<_> = homes.iter().flatten().copied().collect();
                rows.sort_unstable();
                prop_assert_eq!(rows, geometry.all_groups().collect::<Vec<_>>(), "each row once a round");
                continue;
            }
            prop_assert!(homes.iter().all(Option::is_none), "all pages have homes or none");
            for turn in &turns {
                let mut accepting = PlaneGroupSet::new(geometry.rows());
                for row in geometry.all_groups() {
                    accepting.set(row, turn >> (row.0 % 128) & 1 != 0);
                }
                again = restored(&*again, kind.build(&geometry, &[packages]));
                let row = placement.next(&accepting);
                prop_assert_eq!(again.next(&accepting), row, "a policy that was saved goes on");
                match row {
                    Some(row) => prop_assert!(accepting.contains(row)),
                    None => prop_assert!(accepting.is_empty()),
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn a_balancer_takes_only_where_something_waits_and_within_its_reach(
        channels in 1u32..=3,
        dies in 1u32..=3,
        idle in 0u32..18,
        least in 1u32..=3,
        units in prop::collection::vec(0u32..4, 18),
    ) {
        let mut file = small();
        (file.layout.channels, file.layout.dies_per_package) = (channels, dies);
        file.layout.planes_per_row = Some(1);
        let geometry = file.check().expect("the device is sound").ftl.pools;
        let rows = geometry.rows();
        let (idle, units) = (PlaneGroupId(idle % rows), Column::from_fn(rows as usize, |row: PlaneGroupId| units[row.index()]));
        let waiting = WaitingUnits { units: &units, geometry: &geometry.first().geometry };
        let stealing = [Reach::Die, Reach::Channel, Reach::Device]
            .map(|reach| (BalancerKind::Stealing { reach, least }, reach));
        prop_assert_eq!(BalancerKind::None {}.build().take(idle, &waiting), None);
        for (kind, reach) in stealing {
            let span = match reach {
                Reach::Die => 2,
                Reach::Channel => 2 * dies,
                Reach::Device => rows,
            };
            let inside = |row: &PlaneGroupId| row.0 / span == idle.0 / span && units[*row] >= least;
            let most = units.ids().filter(inside).map(|row| units[row]).max();
            let mut policy = kind.build();
            let found = policy.take(idle, &waiting);
            prop_assert!(policy.is_on());
            prop_assert_eq!(found.map(|row| units[row]), most, "{:?}", kind);
            prop_assert!(found.is_none_or(|row| inside(&row)), "{:?}", kind);
        }
    }
}

/// Word lines of a block in the order in which a frontier policy programs them.
fn word_lines(kind: &FrontierKind, shape: WordLines) -> Vec<u32> {
    let mut frontier = kind.build();
    let mut programmed = vec![0; shape.count().div_ceil(64) as usize];
    let block = BlockSetId(0);
    let order = (0..shape.count()).map(|written| {
        let open = OpenBlock {
            block,
            is_gc: false,
            written,
            shape,
            programmed: &programmed,
            again: Reprogram::NONE,
        };
        let next = frontier.next(&open);
        assert!(next < shape.count() && !open.is_programmed(next), "{kind:?} names {next} in {shape:?}");
        programmed[next as usize / 64] |= 1 << (next % 64);
        next
    });
    order.collect()
}

proptest! {
    #[test]
    fn a_frontier_names_each_word_line_once(layers in 1u32..40, per_layer in 1u32..8, ahead in 1u32..50) {
        let shape = WordLines { layers, per_layer };
        let all: Vec<u32> = (0..shape.count()).collect();
        prop_assert_eq!(&word_lines(&FrontierKind::InOrder {}, shape), &all);
        prop_assert_eq!(&word_lines(&FrontierKind::Mixed { layers: Some(1) }, shape), &all, "horizontal first");
        let mixed = [None, Some(ahead)].map(|layers| FrontierKind::Mixed { layers });
        for kind in mixed.iter().chain([&FrontierKind::Vertical {}]) {
            let mut order = word_lines(kind, shape);
            order.sort_unstable();
            prop_assert_eq!(&order, &all, "{:?}", kind);
        }
    }
}

#[test]
fn word_lines_go_as_in_the_figure() {
    let order = |kind: FrontierKind| word_lines(&kind, WordLines { layers: 4, per_layer: 3 });
    assert_eq!(order(FrontierKind::Vertical {}), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    assert_eq!(order(FrontierKind::Mixed { layers: None }), [0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]);
    assert_eq!(order(FrontierKind::Mixed { layers: Some(2) }), [0, 3, 1, 2, 4, 5, 6, 9, 7, 8, 10, 11]);
    assert_eq!(order(FrontierKind::Mixed { layers: Some(3) }), [0, 3, 6, 1, 2, 4, 5, 7, 8, 9, 10, 11]);
}

/// Failure policies, from the strictest to a very tolerant one.
fn failures() -> Vec<FailureKind> {
    let tolerant = [(1, 0), (3, 2), (200, 1)];
    let tolerant = tolerant.map(|(programs, reads)| FailureKind::Tolerate { programs, reads });
    [FailureKind::Retire {}].into_iter().chain(tolerant).collect()
}

proptest! {
    #[test]
    fn a_failure_policy_retires_a_block_in_the_end_and_does_not_take_it_back(
        steps in prop::collection::vec((0u32..4, 0usize..2, 0u32..50), 1..200),
    ) {
        for kind in failures() {
            let mut policy = kind.build();
            let mut times = [[0; 2]; 4];
            let mut ask = |block: u32, failed: usize, erases| {
                let times = &mut times[block as usize][failed];
                *times += 1;
                let failed = [FailedOperation::Program, FailedOperation::Erase][failed];
                policy = restored(&*policy, kind.build());
                policy.after(&Failure { failed, block: BlockSetId(block), times: *times, erases })
            };
            let mut retired = [[false; 2]; 4];
            for (block, failed, erases) in &steps {
                let after = ask(*block, *failed, *erases);
                let was = &mut retired[*block as usize][*failed];
                prop_assert!(!*was || after == FailureAction::Retire, "{kind:?} takes a block back");
                *was |= after == FailureAction::Retire;
            }
            for failed in 0..2 {
                let gives_up = (0..MOST_FAILURES).any(|_| ask(0, failed, 0) == FailureAction::Retire);
                prop_assert!(gives_up, "{kind:?} never gives a block up");
            }
        }
    }
}

/// Victim policies, with windows and numbers of draws from one to more than there are blocks.
fn victims() -> Vec<VictimKind> {
    let drawn = [1, 2, 9, 200].map(|choices| VictimKind::DChoices { choices });
    let windows = [1, 3, 200].map(|window| VictimKind::WindowedGreedy { window });
    let others =
        [VictimKind::Greedy {}, VictimKind::Random {}, VictimKind::Fifo {}, VictimKind::CostBenefit {}];
    others.into_iter().chain(drawn).chain(windows).collect()
}

/// Model of the blocks of a plane group. Its time is the number of pages that became invalid.
#[derive(Default)]
struct Account {
    lost: u64,
    /// Closed blocks in order of closing, each with the time at which it last lost a valid page.
    closed: Vec<(BlockSetId, u64)>,
}

impl Account {
    fn candidates(&self, blocks: &BlockManager) -> Vec<(BlockSetId, u64)> {
        let full = blocks.pools().per_block_of(PlaneGroupId(0));
        self.closed.iter().filter(|(block, _)| blocks.table().valid(*block) < full).copied().collect()
    }

    /// Whether no candidate is better than `victim`, by the definition of the policy.
    fn agrees(&self, kind: &VictimKind, blocks: &BlockManager, victim: BlockSetId) -> bool {
        let candidates = self.candidates(blocks);
        let fewest =
            |most: usize| candidates.iter().take(most).map(|(block, _)| blocks.table().valid(*block)).min();
        let window = |most: u32| {
            let inside = candidates.iter().take(most as usize).any(|(block, _)| *block == victim);
            inside && Some(blocks.table().valid(victim)) == fewest(most as usize)
        };
        let full = blocks.pools().per_block_of(PlaneGroupId(0));
        let worth = |block: BlockSetId, last: u64| {
            let age = (self.lost - last + 1) as f64;
            age * f64::from(full - blocks.table().valid(block))
                / (2.0 * f64::from(blocks.table().valid(block)))
        };
        match kind {
            VictimKind::Greedy {} => Some(blocks.table().valid(victim)) == fewest(usize::MAX),
            VictimKind::Fifo {} => candidates[0].0 == victim,
            VictimKind::WindowedGreedy { window: most } => window(*most),
            VictimKind::CostBenefit {} => {
                let ours = candidates.iter().find(|(block, _)| *block == victim).expect("it is a candidate");
                let most = candidates.iter().map(|(block, last)| worth(*block, *last)).fold(0.0, f64::max);
                worth(ours.0, ours.1) >= most * (1.0 - 1e-9)
            }
            VictimKind::DChoices { .. } | VictimKind::Random {} => true,
        }
    }
}

/// Lets a policy collect a plane group that is written and overwritten as `script` says.
fn clean(kind: &VictimKind, config: &Config, script: &[u64]) {
    let locations = config.ftl.locations();
    let mut blocks = BlockManager::new(&config.ftl.pools, Streams::ONE_EACH, |_| false);
    let stream = Streams::ONE_EACH.gc(0);
    let mut policy = kind.build();
    blocks.keep(policy.needs());
    let mut random = Seed(4).stream("test.victim", 0);
    let mut account = Account::default();
    let mut live: Vec<Location> = Vec::new();
    let lose = |blocks: &mut BlockManager, account: &mut Account, page: Location| {
        blocks.invalidate(page);
        let block = locations.block_of(page);
        if let Some((_, last)) = account.closed.iter_mut().find(|(closed, _)| *closed == block) {
            account.lost += 1;
            *last = account.lost;
        }
    };
    for roll in script {
        let place = (roll / 8) as usize;
        match roll % 8 {
            0..=2 => {
                for _ in 0..(1 + place % 24).min(live.len()) {
                    let page = live.swap_remove(place % live.len());
                    lose(&mut blocks, &mut account, page);
                }
            }
            3 => {
                policy = restored(&*policy, kind.build());
                let chosen = policy.choose(blocks.candidates(PlaneGroupId(0)), &mut random);
                assert_eq!(chosen.is_none(), account.candidates(&blocks).is_empty(), "{kind:?}");
                let Some(victim) = chosen else { continue };
                assert_eq!(blocks.table().state(victim), State::Closed, "{kind:?}");
                assert!(blocks.table().valid(victim) < locations.per_block(), "{kind:?} gains nothing");
                assert!(account.agrees(kind, &blocks, victim), "{kind:?} takes {victim:?}");
                blocks.make_victim(victim);
                account.closed.retain(|(block, _)| *block != victim);
                live.retain(|page| locations.block_of(*page) != victim);
                for n in 0..locations.per_block() {
                    let page = locations.at(victim, n);
                    if blocks.table().is_valid(page) {
                        blocks.invalidate(page);
                    }
                }
                blocks.erased(victim, 1);
            }
            _ if blocks.has_room(PlaneGroupId(0), stream, 1) && blocks.space().free(PlaneGroupId(0)) > 0 => {
                // A whole block at a time, so that the lists become long.
                for _ in 0..locations.per_block() {
                    let page = blocks.take(PlaneGroupId(0), stream, 1, &mut by_number);
                    // Some blocks have pages without data, as after padding.
                    if !place.is_multiple_of(3) || !page.index().is_multiple_of(5) {
                        blocks.validate(page);
                        live.push(page);
                    }
                    blocks.program_done(page);
                }
                let last = live.last().map(|page| locations.block_of(*page));
                account.closed.extend(last.map(|block| (block, account.lost)));
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn a_victim_policy_takes_what_a_scan_over_all_blocks_would(
        script in prop::collection::vec(any::<u64>(), 1..600),
    ) {
        let config = small().check().expect("the device is sound");
        for kind in victims() {
            clean(&kind, &config, &script);
        }
    }
}

proptest! {
    #[test]
    fn a_background_policy_never_wants_more_than_is_spare(
        good in 0u32..5_000,
        full in 0u32..5_000,
        free in 0u32..5_000,
        until_spare in 0.0f64..=1.0,
    ) {
        let idle = Duration::from_ms(1);
        let fold = BackgroundKind::IdleFold { idle, until_cached: 3 };
        for kind in [BackgroundKind::None {}, BackgroundKind::IdleGc { idle, until_free: 0, until_spare }, fold] {
            let mut policy = restored(&*kind.build(), kind.build());
            let rests = policy.idle_delay();
            prop_assert_eq!(rests, policy.idle_delay(), "the rest is always the same");
            let resting = IdleGroup { row: PlaneGroupId(0), free_blocks: free, good_blocks: good, full_blocks: full, cached_blocks: 5 };
            let wanted = policy.free_blocks(&resting);
            prop_assert!(wanted <= good.saturating_sub(full));
            let keeps = policy.cached_blocks(&resting);
            prop_assert!(rests.is_some() || (wanted, keeps) == (0, 5), "who never rests wants nothing");
            prop_assert_eq!(keeps < 5, matches!(kind, BackgroundKind::IdleFold { .. }), "{:?}", kind);
        }
    }
}

proptest! {
    #[test]
    fn a_router_and_a_relocator_stay_below_their_streams(
        pages in prop::collection::vec((0u32..40, any::<u8>(), 1u32..=8), 1..300),
    ) {
        let routers = [
            RouterKind::Single {},
            RouterKind::Host { streams: 1 },
            RouterKind::Host { streams: 7 },
            RouterKind::HotCold { window: 0.2 },
            RouterKind::SlcCache { window: None },
            RouterKind::SlcCache { window: Some(0.2) },
        ];
        for kind in routers {
            let (mut one, mut two) = (kind.build(40), kind.build(40));
            prop_assert_eq!(one.streams(), kind.streams());
            prop_assert!(one.cached().is_none_or(|stream| stream < one.streams()));
            for (logical, tag, sectors) in &pages {
                let page = HostPage { tag: *tag, sectors: *sectors, ..HostPage::of(*logical) };
                let stream = one.route(&page);
                prop_assert!(stream < one.streams(), "{:?}", kind);
                prop_assert_eq!(stream, two.route(&page), "equal pages in equal order go equal ways");
                two = restored(&*two, kind.build(40));
            }
            prop_assert_eq!(one.streams(), kind.streams());
        }
        for kind in [RelocatorKind::Single {}, RelocatorKind::Generations { streams: 3 }] {
            let (mut one, mut two) = (kind.build(), kind.build());
            for (logical, tag, _) in &pages {
                let relocated_by = tag.checked_sub(128).map(|tag| tag % one.streams());
                let page = RelocatedPage { logical: *logical, relocated_by };
                let stream = one.route(&page);
                prop_assert!(stream < one.streams(), "{:?}", kind);
                prop_assert_eq!(stream, two.route(&page));
                two = restored(&*two, kind.build());
            }
            prop_assert_eq!(one.streams(), kind.streams());
        }
    }

    #[test]
    fn a_wear_leveller_terminates_and_stays_in_its_group(
        k in 0u32..=3,
        more in 0u32..=20,
        erased in prop::collection::vec((0u32..3, 0u32..50), 1..400),
    ) {
        let mut random = Seed(2).stream("test.wear", 0);
        for kind in [WearKind::None {}, WearKind::Bet { k, threshold: (2 << k) + more }] {
            let (mut policy, mut again) = (kind.build(Column::filled(3, 50)), kind.build(Column::filled(3, 50)));
            for (row, block) in &erased {
                policy.erased(PlaneGroupId(*row), *block);
                again.erased(PlaneGroupId(*row), *block);
                again = restored(&*again, kind.build(Column::filled(3, 50)));
                let mut found = 0;
                let each = |_| PlaneGroupBlock { may_move: true, valid: 1, erases: 0, age: 0 };
                let first = BlockSetId(row * 50);
                let of_group = PlaneGroupBlocks::new((PlaneGroupId(*row), first), [50, 1, 6], &each);
                loop {
                    let mut same = random.clone();
                    let blocks = policy.next(&of_group, &mut random);
                    prop_assert_eq!(again.next(&of_group, &mut same), blocks.clone());
                    let Some(blocks) = blocks else { break };
                    prop_assert!(policy.is_on() && !blocks.is_empty() && blocks.end <= 50, "{:?}", blocks);
                    found += blocks.len();
                    prop_assert!(found <= 50, "no block twice without an erase");
                }
            }
        }
    }
}

#[test]
fn hot_pages_are_those_that_come_again_within_the_window() {
    let mut router = RouterKind::HotCold { window: 0.1 }.build(100);
    let mut route = |logical| router.route(&HostPage { sectors: 8, ..HostPage::of(logical) });
    assert_eq!((route(7), route(7)), (0, 1), "a page is cold until it comes again");
    assert_eq!((0..10).map(|page| route(20 + page)).max(), Some(0));
    assert_eq!(route(7), 0, "ten others came in between");
    assert_eq!((0..9).map(|page| route(40 + page)).max(), Some(0));
    assert_eq!(route(7), 1, "nine came in between");
}

#[test]
fn random_policies_reach_every_candidate() {
    let config = small().check().expect("the device is sound");
    for kind in [VictimKind::Random {}, VictimKind::DChoices { choices: 2 }] {
        let mut blocks = BlockManager::new(&config.ftl.pools, Streams::ONE_EACH, |_| false);
        let mut policy = kind.build();
        blocks.keep(policy.needs());
        for _ in 0..10 * config.ftl.locations().per_block() {
            let page = blocks.take(PlaneGroupId(0), Streams::ONE_EACH.gc(0), 1, &mut by_number);
            blocks.program_done(page);
        }
        let mut random = Seed(4).stream("test.victim", 0);
        let chosen: BTreeSet<BlockSetId> =
            (0..200).filter_map(|_| policy.choose(blocks.candidates(PlaneGroupId(0)), &mut random)).collect();
        assert_eq!(chosen.len(), 10, "{kind:?}");
    }
}

/// Model of what a mapper may do. `inside` has the pages inserted since their last miss, `changed` the
/// changed pages whose translation page has not been written since.
#[derive(Default)]
struct Cached {
    inside: BTreeSet<u32>,
    changed: BTreeSet<u32>,
}

proptest! {
    #[test]
    fn a_mapper_loses_no_change(
        entries in 2u32..=20,
        protected in 0u32..=19,
        per_table in 1u32..=8,
        script in prop::collection::vec((0u8..8, 0u32..48), 1..600),
    ) {
        let size = CacheSize { entries, protected: protected % entries, per_table, tables: 128 };
        let mut mapper = Box::new(Dftl::new(&size));
        let mut cached = Cached::default();
        for (kind, page) in script {
            let (page, table) = (LogicalPage(page), page / per_table);
            mapper = restored(&*mapper, Box::new(Dftl::new(&size)));
            // A changed page that is not in the cache must be in a translation page that has to be written.
            let mut to_write = None;
            match kind {
                0..=2 => {
                    let hit = mapper.lookup(page);
                    prop_assert!(!hit || cached.inside.contains(&page.0), "a hit is of a page that came in");
                    if !hit {
                        to_write = mapper.load(page);
                        prop_assert!(mapper.lookup(page), "what was taken in is there");
                    }
                    cached.inside.insert(page.0);
                }
                3..=5 => {
                    to_write = mapper.update(page);
                    cached.inside.insert(page.0);
                    cached.changed.insert(page.0);
                    prop_assert!(mapper.lookup(page), "what the host wrote is there");
                }
                6 => {
                    cached.changed.insert(page.0);
                    to_write = mapper.amend(page);
                    prop_assert!(to_write.is_none_or(|written| written.0 == table));
                }
                _ => {
                    mapper.written(TranslationPage(table));
                    cached.changed.retain(|changed| changed / per_table != table);
                }
            }
            if let Some(written) = to_write {
                let any = cached.changed.iter().any(|changed| changed / per_table == written.0);
                prop_assert!(any, "only what changed is to be written");
                mapper.written(written);
                cached.changed.retain(|changed| changed / per_table != written.0);
            }
        }
        // Evicts the changed pages that are still cached, by inserting and using other pages.
        for page in 48..48 + 2 * entries {
            if let Some(written) = mapper.load(LogicalPage(page)) {
                mapper.written(written);
                cached.changed.retain(|changed| changed / per_table != written.0);
            }
            mapper.lookup(LogicalPage(page));
        }
        prop_assert!(cached.changed.is_empty(), "lost: {:?}", cached.changed);
    }
}
