//! Streams with several open blocks, of which a design selects the next one and its word line.

use wordline_device::BlockDevice;
use wordline_ftl::design::{Combination, ExtensionPoint, Needs, View};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::{Config, Design};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Bytes, Metric, state};
use wordline_ssd::{DeviceFile, contract};

use super::designs::rig;

/// Design that selects a random open block of a stream, and a random word line.
struct Draws {
    open_blocks: u8,
    /// Greatest number of open blocks among which it selected.
    most: u64,
}

state!(Draws { values { most } fixed { open_blocks } });

static MOST_OPEN: Metric =
    Metric::new("draws.most_open", Unit::Count, "Open blocks of a stream that it chose among, at most.");

impl Design for Draws {
    fn name(&self) -> &'static str {
        "draws"
    }

    fn needs(&self) -> Needs {
        Needs { open_blocks: self.open_blocks, ..Needs::of(&[ExtensionPoint::Frontier]) }
    }

    fn open_block(&mut self, open: &[OpenBlock<'_>], view: &mut View<'_>) -> usize {
        self.most = self.most.max(open.len() as u64);
        let openings = open.windows(2).all(|two| two[0].block != two[1].block);
        assert!(openings && open.iter().all(|one| one.written < one.shape.count()));
        view.random().below(open.len() as u64) as usize
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, view: &mut View<'_>) -> u32 {
        let programmed: u32 = open.programmed.iter().map(|word| word.count_ones()).sum();
        assert_eq!(programmed, open.written);
        let left = (0..open.shape.count()).filter(|line| !open.is_programmed(*line));
        let left: Vec<u32> = left.collect();
        left[view.random().below(left.len() as u64) as usize]
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        vec![(&MOST_OPEN, Value::Count(self.most))]
    }
}

/// Device with `open_blocks` open blocks for each stream.
fn with_open_blocks(open_blocks: u8) -> (DeviceFile, impl Fn(&Config) -> Combination + Copy) {
    let mut file = contract::small();
    file.part.geometry.blocks_per_plane += 8 * (1 + u32::from(open_blocks));
    file.ftl.over_provisioning = 0.4;
    let designs =
        move |_: &Config| Combination::of(vec![Box::new(Draws { open_blocks, most: 1 }) as Box<dyn Design>]);
    (file, designs)
}

#[test]
fn a_stream_with_several_open_blocks_keeps_the_contract() {
    for open_blocks in [1, 4, 8] {
        let (file, designs) = with_open_blocks(open_blocks);
        contract::check_all(&file, designs);
    }
    let (file, designs) = with_open_blocks(2);
    let mut two = file.clone();
    two.ftl.router = RouterKind::HotCold { window: 0.1 };
    contract::check_all(&two, designs);
    let mut cached = file;
    cached.ftl.mapping.cache = Some(Bytes::kib(16));
    (cached.ftl.gc.start_below_free_blocks, cached.ftl.gc.stop_at_free_blocks) = (5, 6);
    contract::check_all(&cached, designs);
}

#[test]
fn a_stream_has_as_many_open_blocks_as_its_design_needs() {
    for open_blocks in [1, 2, 8] {
        let (file, designs) = with_open_blocks(open_blocks);
        let mut rig = rig(&file, designs(&file.clone().check().expect("the device is sound").ftl));
        let mark = rig.device.mark(rig.calendar_now());
        rig.overwrite(20_000);
        // The metric counts from the mark on, and the value at the mark was one.
        let most = rig.device.metrics(&mark, rig.calendar_now()).get("draws.most_open");
        assert_eq!(most, Some(Value::Count(u64::from(open_blocks) - 1)));
    }
}
