//! Small devices drawn at random, each with other features than the last.

use proptest::prelude::*;
use wordline_kernel::{Bytes, Duration};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::BufferMode;
use wordline_ssd::policy::placement::PlacementKind;
use wordline_ssd::policy::relocator::RelocatorKind;
use wordline_ssd::policy::router::RouterKind;
use wordline_ssd::policy::victim::VictimKind;

use super::small;

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

prop_compose! {
    /// A small device: geometry, policies and settings drawn at random.
    pub fn device()(
        channels in 1u32..=2,
        dies in 1u32..=2,
        tied in any::<bool>(),
        bits in 1u32..=3,
        one_shot in any::<bool>(),
        pages in 2u32..=5,
        buffer in 0u64..=40,
        write_through in any::<bool>(),
        fixed in any::<bool>(),
        spare in 0.55f64..0.7,
        thresholds in (0u32..=2, 0u32..=2),
        queue_depth in 1u32..=8,
        times in (0u64..2, 0u64..3),
        victim in victim(),
        unit in 0usize..8,
        streams in (1u8..=3, 1u8..=3),
    ) -> DeviceFile {
        let mut file = small();
        file.layout.channels = channels;
        file.layout.dies_per_package = dies;
        file.layout.planes_per_row = Some(if tied { 2 } else { 1 });
        file.part.geometry.bits_per_cell = bits;
        file.part.geometry.one_shot = one_shot;
        file.part.geometry.pages_per_block = pages * bits * 2;
        // Parts of a page, a page, and pages of which a program unit is a multiple.
        let pages_at_once = if tied { 2 } else { 1 } * if one_shot { bits } else { 1 };
        let larger = (2..=pages_at_once).filter(|pages| pages_at_once % pages == 0).map(|pages| 4096 * u64::from(pages));
        let units: Vec<u64> = [512, 1024, 2048, 4096, 4096].into_iter().chain(larger).collect();
        file.ftl.mapping.unit = Some(Bytes(units[unit % units.len()]));
        file.ftl.router = RouterKind::Host { streams: streams.0 };
        file.ftl.gc.relocator = RelocatorKind::Generations { streams: streams.1 };
        let program = u64::from(bits) * 2 * 4096;
        file.buffer.size = Bytes(2 * program + buffer * 4096);
        file.buffer.mode = if write_through { BufferMode::WriteThrough } else { BufferMode::WriteBack };
        file.buffer.flush_interval = Duration::from_ms(10 * times.0);
        file.front.command_time = Duration::from_us(times.1);
        file.front.queue_depth = queue_depth;
        file.ftl.over_provisioning = spare;
        file.ftl.gc.start_below_free_blocks = 2 + u32::from(streams.1) + thresholds.0;
        file.ftl.gc.stop_at_free_blocks = file.ftl.gc.start_below_free_blocks + thresholds.1;
        file.ftl.gc.victim = victim;
        if fixed {
            file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
        }
        file
    }
}
