//! Small random devices with different features.

use proptest::prelude::*;
use wordline_flash::ProgramsAtCut;
use wordline_flash::policy::tuner::TunerKind;
use wordline_flash::scheduling::{GcPriority, SchedulingFile};
use wordline_ftl::blocks::wear::Allocation;
use wordline_ftl::config::{DiscardsAtCut, LowerPages, RecoveryFile};
use wordline_ftl::config::{GcFile, MappingFile, Scope, SlcCacheFile, WearFile};
use wordline_ftl::map::block_map::config::BlockMapFile;
use wordline_ftl::policy::background::BackgroundKind;
use wordline_ftl::policy::balancer::{BalancerKind, Reach};
use wordline_ftl::policy::frontier::FrontierKind;
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::relocator::RelocatorKind;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::policy::wear::WearKind;
use wordline_ftl::pools::{ChannelsFile, PoolFile};
use wordline_kernel::{Bytes, Duration, Energy};
use wordline_nand::geometry::Layout;
use wordline_nand::part::{ArrayTiming, PartFile, SlcTiming};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::{BufferFile, BufferMode, BufferSpace, Protection};
use wordline_ssd::policy::destage::DestageKind;
use wordline_ssd::policy::eviction::EvictionKind;

use super::{sets_aside, small};

fn victim() -> impl Strategy<Value = VictimKind> {
    prop_oneof![
        Just(VictimKind::Greedy {}),
        (1u32..=8).prop_map(|choices| VictimKind::DChoices { choices }),
        Just(VictimKind::Random {}),
        Just(VictimKind::Fifo {}),
        (1u32..=8).prop_map(|window| VictimKind::WindowedGreedy { window }),
        Just(VictimKind::CostBenefit {}),
    ]
}

fn wear() -> impl Strategy<Value = WearFile> {
    let levelling = prop_oneof![
        Just(WearKind::None {}),
        (0u32..=2, 0u32..=4).prop_map(|(k, more)| WearKind::Bet { k, threshold: (2 << k) + more }),
    ];
    let allocation = prop_oneof![Just(Allocation::LeastWorn), Just(Allocation::ByStream)];
    (levelling, allocation).prop_map(|(levelling, allocation)| WearFile { levelling, allocation })
}

fn background() -> impl Strategy<Value = BackgroundKind> {
    let idle = Duration::from_us(100);
    prop_oneof![
        Just(BackgroundKind::None {}),
        (1u32..=10, 0.0f64..1.0).prop_map(move |(until_free, until_spare)| BackgroundKind::IdleGc {
            idle,
            until_free,
            until_spare
        }),
    ]
}

fn order() -> impl Strategy<Value = String> {
    Just(vec!['C', 'W', 'D', 'P']).prop_shuffle().prop_map(|letters| letters.into_iter().collect())
}

fn balancer() -> impl Strategy<Value = BalancerKind> {
    let reach = prop::sample::select(vec![Reach::Die, Reach::Channel, Reach::Device]);
    prop_oneof![
        Just(BalancerKind::None {}),
        (reach, 1u32..=3).prop_map(|(reach, least)| BalancerKind::Stealing { reach, least }),
    ]
}

fn frontier() -> impl Strategy<Value = FrontierKind> {
    prop_oneof![
        2 => Just(FrontierKind::InOrder {}),
        1 => Just(FrontierKind::Vertical {}),
        1 => prop::option::of(1u32..=2).prop_map(|layers| FrontierKind::Mixed { layers }),
    ]
}

fn tuner() -> impl Strategy<Value = TunerKind> {
    prop_oneof![Just(TunerKind::Nominal {}), Just(TunerKind::LastGood {})]
}

fn set_map_cache(file: &mut DeviceFile, cache: Option<(u64, f64, bool)>) {
    if let Some((entries, protected, large)) = cache {
        let entry = if large { 8 } else { 4 };
        file.ftl.mapping.cache = Some(Bytes(entries * (entry + 4)));
        file.ftl.mapping.entry = Bytes(entry);
        file.ftl.mapping.protected = protected;
    }
}

/// Sets a frontier policy and the number of layers of a block, if the part allows another order of word
/// lines. Each layer has one or two word lines.
fn set_frontier(file: &mut DeviceFile, frontier: FrontierKind, layers: u32) {
    if file.part.geometry.one_shot || file.part.geometry.bits_per_cell == 1 {
        file.part.geometry.layers = layers;
        file.ftl.frontier = frontier;
    }
}

/// SLC cache, the window of its router, and the number of blocks that idle folding leaves in the cache.
type DrawnCache = (SlcCacheFile, Option<f64>, Option<u32>);

fn add_slc_cache(file: &mut DeviceFile, (cache, window, idle): DrawnCache) {
    let us = Duration::from_us;
    file.part.timing.slc = Some(SlcTiming { read: us(20), program: us(100), erase: us(1_000) });
    file.ftl.slc_cache = Some(cache);
    file.ftl.router = RouterKind::SlcCache { window };
    // Blocks of the cache come from the spare ones.
    file.ftl.over_provisioning += 0.1;
    if let Some(until_cached) = idle {
        file.ftl.gc.background = BackgroundKind::IdleFold { idle: us(100), until_cached };
    }
}

fn slc_cache() -> impl Strategy<Value = DrawnCache> {
    let sizes = prop_oneof![(1u32..=2, Just(0.0)), (0u32..=2, 0.1f64..=1.0)];
    let file = (sizes, prop::option::of(0u32..=3)).prop_map(|((blocks, spare), fold_above)| SlcCacheFile {
        blocks,
        spare,
        size: None,
        fold_above,
    });
    (file, prop::option::of(0.05f64..0.5), prop::option::of(0u32..=2))
}

prop_compose! {
    fn collector()(
        copyback in any::<bool>(),
        preemptible in any::<bool>(),
        (paced, steps_per_write) in prop_oneof![
            Just((false, None)), Just((true, None)), (1u32..=4).prop_map(|steps| (false, Some(steps))),
        ],
        background in background(),
        scope in prop::sample::select(vec![Scope::Row, Scope::SuperBlock]),
    ) -> GcFile {
        GcFile { scope, copyback, preemptible, steps_per_write, paced, background, ..GcFile::default() }
    }
}

fn scheduling() -> impl Strategy<Value = SchedulingFile> {
    let gc = prop::sample::select(vec![GcPriority::Low, GcPriority::Equal, GcPriority::High]);
    let suspends = any::<(bool, bool)>();
    (any::<bool>(), 1u32..=4, 0u64..=2, gc, suspends, 1u32..=4).prop_map(
        |(priority, in_a_row, age, gc_priority, (programs, erases), max_suspends)| SchedulingFile {
            read_priority: priority,
            reads_in_a_row: in_a_row,
            age_limit: Duration::from_us(300 * age),
            gc_priority,
            suspend_programs: programs && priority,
            suspend_erases: erases && priority,
            max_suspends,
        },
    )
}

fn eviction() -> impl Strategy<Value = EvictionKind> {
    prop_oneof![Just(EvictionKind::Fifo {}), Just(EvictionKind::Lru {}), Just(EvictionKind::Clock {})]
}

fn destage() -> impl Strategy<Value = DestageKind> {
    let eager = |(window, in_flight)| DestageKind::UnlessHot {
        window: Duration::from_us(window),
        in_flight: Bytes(in_flight),
    };
    prop_oneof![2 => Just(DestageKind::WhenFull {}), 1 => (10u64..20_000, 1u64..200_000).prop_map(eager)]
}

fn protection() -> impl Strategy<Value = Protection> {
    prop_oneof![2 => Just(Protection::None), 1 => Just(Protection::Full), 1 => Just(Protection::Capacitors)]
}

prop_compose! {
    /// Buffer configuration, except for size and flush interval.
    fn buffer_settings()(
        mode in prop_oneof![Just(BufferMode::WriteBack), Just(BufferMode::WriteThrough), Just(BufferMode::Off)],
        eviction in eviction(),
        coalesce in any::<bool>(),
        space in prop_oneof![Just(BufferSpace::WholePages), Just(BufferSpace::Written)],
        flush_to in prop::option::of(0.0f64..=0.5),
        power_loss_protection in protection(),
        // Two program units of the largest kind in this file need less than 100 uJ.
        charge in 150_000_000_000u128..1_000_000_000_000,
        cache in 0u64..=24,
        ahead in 0u64..=8,
        read_eviction in eviction(),
        destage in destage(),
    ) -> BufferFile {
        let destage = if mode == BufferMode::WriteBack { destage } else { DestageKind::default() };
        let space = if power_loss_protection == Protection::Capacitors { BufferSpace::WholePages } else { space };
        let capacitors = Energy(if power_loss_protection == Protection::Capacitors { charge } else { 0 });
        // Enough pages of the largest size for the read-ahead.
        let read_cache = if ahead > 0 { Bytes(2 * ahead.max(cache) * 24_576) } else { Bytes(cache * 2_048) };
        BufferFile {
            mode,
            eviction,
            destage,
            coalesce,
            space,
            flush_to,
            power_loss_protection,
            capacitors,
            read_cache,
            read_eviction,
            read_ahead: ahead as u32,
            ..BufferFile::default()
        }
    }
}

/// Sets the protection against power losses. Checkpoints are only for devices without protected memory.
fn set_recovery(file: &mut DeviceFile, discards: DiscardsAtCut, safe: bool, checkpoint: Option<u64>) {
    let may = discards == DiscardsAtCut::Kept && file.buffer.power_loss_protection == Protection::None;
    file.ftl.recovery = RecoveryFile {
        discards,
        checkpoint: checkpoint.filter(|_| may).map(Bytes::kib),
        lower_pages: if safe { LowerPages::BackedUp } else { LowerPages::Exposed },
        programs_at_cut: if safe { ProgramsAtCut::Torn } else { ProgramsAtCut::Finished },
    };
}

/// Sets the GC watermarks, above the blocks reserved for GC. Raises the over-provisioning if the smallest one
/// drawn is too small for the translation and discard pages.
fn set_thresholds(file: &mut DeviceFile, (above, more): (u32, u32)) {
    file.ftl.gc.start_below_free_blocks = 1 + u32::from(file.back_end().streams().gc) + 1 + above;
    file.ftl.gc.stop_at_free_blocks = file.ftl.gc.start_below_free_blocks + more;
    if file.clone().check().is_err() {
        file.ftl.over_provisioning += 0.01;
    }
}

/// Settings of a second pool.
#[derive(Clone, Debug)]
struct DrawnPool {
    whole_units: bool,
    dedicated: bool,
    tied: bool,
    pages: u32,
    blocks: u32,
    /// Minimum size of a large write, as a fraction of a program unit of the first pool.
    large: f64,
    balances: bool,
    migrates: bool,
    marks: Option<(u32, u32)>,
    frontier: FrontierKind,
}

prop_compose! {
    fn second_pool()(
        (whole_units, dedicated, tied, balances, migrates) in any::<(bool, bool, bool, bool, bool)>(),
        pages in 2u32..=6,
        blocks in 12u32..=24,
        large in 0.0f64..=1.2,
        marks in prop::option::of((0u32..=2, 0u32..=2)),
        frontier in frontier(),
    ) -> DrawnPool {
        DrawnPool { whole_units, dedicated, tied, pages, blocks, large, balances, migrates, marks, frontier }
    }
}

/// Adds a second pool with another part, and removes the features that do not work with several pools.
fn add_pool(mut file: DeviceFile, drawn: DrawnPool) -> DeviceFile {
    let mut part = file.part.clone();
    part.geometry.bits_per_cell = 1;
    part.geometry.one_shot = false;
    part.geometry.layers = drawn.pages;
    part.geometry.pages_per_block = 2 * drawn.pages;
    // The second pool needs space for table pages.
    let tables = file.ftl.mapping.cache.is_some() || file.ftl.recovery.discards == DiscardsAtCut::Kept;
    part.geometry.blocks_per_plane = drawn.blocks + if tables { 12 } else { 0 };
    part.timing = ArrayTiming::new(
        Duration::from_us(15),
        Duration::from_us(90),
        Duration::from_us(700),
        Duration::from_ns(500),
    );
    let layout = Layout { planes_per_row: Some(if drawn.tied { 2 } else { 1 }), ..file.layout };
    let channels = if drawn.dedicated { ChannelsFile::Dedicated } else { ChannelsFile::Shared };
    let unit = file.ftl.mapping.unit.map_or(4096, |unit| unit.0.min(4096));
    file.ftl.mapping.unit = Some(Bytes(unit));
    file.ftl.mapping.whole_units = drawn.whole_units;
    let planes = u64::from(file.layout.planes_per_row.unwrap_or(2));
    let bits = if file.part.geometry.one_shot { file.part.geometry.bits_per_cell } else { 1 };
    let program = planes * u64::from(bits) * 4096;
    if !drawn.whole_units {
        file.ftl.mapping.sub_request = Some(Bytes(program * 2));
    }
    // The first pool must have space for all data, plus its spare blocks.
    let blocks = |part: &PartFile| f64::from(part.geometry.blocks_per_plane * part.geometry.pages_per_block);
    let first = blocks(&file.part) / (blocks(&file.part) + blocks(&part));
    file.ftl.over_provisioning = 1.0 - (1.0 - file.ftl.over_provisioning) * first;
    // The router sends pages to both pools, or to a cache in the first pool. A program in SLC mode is smaller
    // than a whole unit.
    if file.ftl.slc_cache.is_none() || drawn.whole_units {
        file.ftl.router = RouterKind::BySize { least: Bytes((program as f64 * drawn.large) as u64) };
        file.ftl.slc_cache = None;
        if matches!(file.ftl.gc.background, BackgroundKind::IdleFold { .. }) {
            file.ftl.gc.background = BackgroundKind::None {};
        }
    }
    if drawn.whole_units {
        file.ftl.placement = PlacementKind::Dynamic {};
    }
    file.ftl.balancer = if drawn.balances { BalancerKind::ValidShare {} } else { BalancerKind::None {} };
    file.ftl.gc.relocator = if drawn.migrates && drawn.whole_units {
        RelocatorKind::ValidShare {}
    } else {
        RelocatorKind::Single {}
    };
    // Two program units of the first pool are six of the second.
    file.buffer.capacitors = Energy(4 * file.buffer.capacitors.0);
    let most = part.geometry.blocks_per_plane - 3;
    let frontier = drawn.frontier;
    file.pools = vec![PoolFile { channels, frontier, ..PoolFile::new(part, layout) }];
    set_marks(&mut file, drawn.marks, most);
    file
}

/// Sets the GC watermarks of both pools; table pages may have their own stream. A second pool with fewer
/// blocks than the first gets its own watermarks.
fn set_marks(file: &mut DeviceFile, drawn: Option<(u32, u32)>, most: u32) {
    let start = file.ftl.gc.start_below_free_blocks.max(1 + u32::from(file.back_end().streams().gc) + 1);
    let gc = &mut file.ftl.gc;
    gc.start_below_free_blocks = start;
    gc.stop_at_free_blocks = gc.stop_at_free_blocks.max(start);
    if let Some((above, more)) = drawn.or((gc.stop_at_free_blocks > most).then_some((0, 0))) {
        file.pools[0].start_below_free_blocks = Some(most.min(start + above));
        file.pools[0].stop_at_free_blocks = Some(most.min(start + above + more));
    }
    if file.clone().check().is_err() {
        file.ftl.over_provisioning += 0.05;
    }
}

/// Small device with one or two pools.
pub fn device() -> impl Strategy<Value = DeviceFile> {
    (plain(), prop::option::weighted(0.5, second_pool())).prop_map(|(file, pool)| match pool {
        Some(pool) => add_pool(file, pool),
        None => file,
    })
}

prop_compose! {
    /// Small device with one pool and random geometry, policies and settings.
    fn plain()(
        channels in 1u32..=2,
        dies in 1u32..=2,
        tied in any::<bool>(),
        bits in 1u32..=3,
        one_shot in any::<bool>(),
        pages in 2u32..=5,
        buffer in 0u64..=40,
        drawn in buffer_settings(),
        fixed in prop::option::of((order(), balancer())),
        spare in 0.55f64..0.7,
        thresholds in (0u32..=2, 0u32..=2),
        queue_depth in 1u32..=8,
        times in (0u64..2, 0u64..3),
        victim in victim(),
        unit in 0usize..8,
        streams in (1u8..=4, 1u8..=3),
        gc in collector(),
        wear in wear(),
        scheduling in scheduling(),
        rest in 0u64..=120,
        discards in prop_oneof![Just(DiscardsAtCut::Forgotten), Just(DiscardsAtCut::Kept)],
        safe in any::<bool>(),
        checkpoint in prop::option::of(64u64..=512),
        cache in prop::option::of((2u64..=200, 0.0f64..0.9, any::<bool>())),
        slc in prop::option::of(slc_cache()),
        (frontier, depth, tuner) in (frontier(), any::<bool>(), tuner()),
    ) -> DeviceFile {
        let mut file = small();
        file.layout.channels = channels;
        file.layout.dies_per_package = dies;
        file.layout.planes_per_row = Some(if tied { 2 } else { 1 });
        file.part.geometry.bits_per_cell = bits;
        file.part.geometry.one_shot = one_shot;
        file.part.geometry.pages_per_block = pages * bits * 2;
        // A mapping unit is a part of a page, a page, or a number of pages that divides a program unit.
        let pages_at_once = if tied { 2 } else { 1 } * if one_shot { bits } else { 1 };
        let larger = (2..=pages_at_once).filter(|pages| pages_at_once % pages == 0).map(|pages| 4096 * u64::from(pages));
        let units: Vec<u64> = [512, 1024, 2048, 4096, 4096].into_iter().chain(larger).collect();
        file.ftl.mapping.unit = Some(Bytes(units[unit % units.len()]));
        file.ftl.router = match streams.0 {
            4 => RouterKind::HotCold { window: 0.1 },
            streams => RouterKind::Host { streams },
        };
        file.buffer = drawn;
        file.buffer.size = Bytes(2 * u64::from(bits) * 2 * 4096 + buffer * 4096);
        file.buffer.flush_interval = Duration::from_ms(10 * times.0);
        file.front.command_time = Duration::from_us(times.1);
        file.front.queue_depth = queue_depth;
        file.ftl.over_provisioning = spare;
        set_map_cache(&mut file, cache);
        let relocator = RelocatorKind::Generations { streams: streams.1 };
        file.ftl.gc = GcFile { victim, relocator, copyback: gc.copyback && !one_shot, ..gc };
        file.ftl.wear = wear;
        file.ftl.tuner = tuner;
        set_recovery(&mut file, discards, safe, checkpoint);
        file.ftl.scheduling = scheduling;
        file.part.timing.suspend = [rest, rest * 5].map(Duration::from_us);
        set_frontier(&mut file, frontier, if depth { pages * 2 } else { pages });
        if let Some(drawn) = slc.filter(|_| bits > 1) {
            add_slc_cache(&mut file, drawn);
            file.ftl.mapping.unit = Some(Bytes(units[unit % 5]));
        }
        if let Some((order, balancer)) = fixed {
            file.ftl.placement = PlacementKind::Fixed { order };
            file.ftl.balancer = balancer;
        }
        set_thresholds(&mut file, thresholds);
        file
    }
}

prop_compose! {
    /// Small device with block-level mapping. Features that do not work with it have their defaults.
    pub fn block_mapped()(
        file in plain(),
        replacements in 1u32..=6,
        // At least five of the 24 blocks of a plane group are spare.
        spare in 0.22f64..0.7,
        order in order(),
    ) -> DeviceFile {
        let mut file = file;
        let geometry = &file.part.geometry;
        let word_line = if geometry.one_shot { geometry.bits_per_cell } else { 1 };
        let unit = geometry.page_size * u64::from(file.layout.planes_per_row.unwrap_or(1) * word_line);
        file.ftl.mapping =
            MappingFile { unit: Some(unit), block: Some(BlockMapFile { replacements }), ..MappingFile::default() };
        // A discard table needs up to two more blocks.
        let kept = file.ftl.recovery.discards == DiscardsAtCut::Kept;
        file.ftl.over_provisioning = if kept { spare.max(0.32) } else { spare };
        file.ftl.placement = PlacementKind::Fixed { order };
        file.ftl.balancer = BalancerKind::None {};
        file.ftl.router = RouterKind::Single {};
        file.ftl.frontier = FrontierKind::InOrder {};
        file.ftl.slc_cache = None;
        let GcFile { background, copyback, .. } = file.ftl.gc;
        let background =
            if matches!(background, BackgroundKind::IdleFold { .. }) { BackgroundKind::None {} } else { background };
        file.ftl.gc = GcFile { background, copyback, ..GcFile::default() };
        file
    }
}

fn sets_aside() -> impl Strategy<Value = sets_aside::Settings> {
    (1u16..=4, 1u8..=3, 1u8..=2, [0u8..=100, 0u8..=100, 0u8..=100]).prop_map(
        |(limit, open_blocks, streams, chances)| sets_aside::Settings {
            limit,
            open_blocks,
            streams,
            again: 0,
            pools: 1,
            slc: false,
            chances,
        },
    )
}

/// Small device and a design that suspends its blocks. Word lines are programmed in one shot and in order,
/// and there are enough blocks for suspended ones.
pub fn suspending() -> impl Strategy<Value = (DeviceFile, sets_aside::Settings)> {
    (device(), sets_aside()).prop_map(|(mut file, mut settings)| {
        settings.pools += file.pools.len() as u8;
        let more =
            4 * u32::from(settings.streams) * u32::from(settings.limit + u16::from(settings.open_blocks));
        let start = 4 + u32::from(settings.streams);
        let pools = file.pools.iter_mut().map(|pool| &mut pool.part);
        for part in std::iter::once(&mut file.part).chain(pools) {
            part.geometry.blocks_per_plane += more;
            if !part.geometry.one_shot {
                part.geometry.bits_per_cell = 1;
            }
        }
        for pool in &mut file.pools {
            (pool.start_below_free_blocks, pool.stop_at_free_blocks) = (Some(start), Some(start + 1));
        }
        let gc = &mut file.ftl.gc;
        gc.scope = Scope::Row;
        (gc.start_below_free_blocks, gc.stop_at_free_blocks) = (start, start + 1);
        if file.ftl.slc_cache.take().is_some() {
            file.ftl.router = if file.pools.is_empty() {
                RouterKind::Single {}
            } else {
                RouterKind::BySize { least: Bytes(16_384) }
            };
        }
        if matches!(file.ftl.gc.background, BackgroundKind::IdleFold { .. }) {
            file.ftl.gc.background = BackgroundKind::None {};
        }
        (file, settings)
    })
}

/// The device with the smallest over-provisioning that passes the check, to a thousandth.
pub fn tight(file: &DeviceFile) -> DeviceFile {
    let with = |thousandths: u32| {
        let mut file = file.clone();
        file.ftl.over_provisioning = f64::from(thousandths) / 1_000.0;
        file
    };
    let (mut refused, mut taken) = (0, (file.ftl.over_provisioning * 1_000.0).ceil() as u32);
    while taken - refused > 1 {
        let middle = u32::midpoint(refused, taken);
        match with(middle).check() {
            Ok(_) => taken = middle,
            Err(_) => refused = middle,
        }
    }
    with(taken)
}
