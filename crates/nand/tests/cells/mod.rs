//! A cell model that differs from the data sheet in all results.

use wordline_kernel::{Duration, state};
use wordline_nand::physics::Work;
use wordline_nand::{CellMode, Outcome, Parameters, Physics};

/// A cell model whose times depend on stage, mode, page, planes and parameters, so that different operations
/// take different times.
#[derive(Clone, Debug, Default)]
pub struct Odd {
    asked: u64,
}

state!(Odd { values { asked } });

impl Physics for Odd {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        self.asked += 1;
        let mode = match work.mode {
            CellMode::Reprogrammed(times) => 2 + u64::from(times),
            mode => {
                CellMode::OF_BLOCKS.iter().position(|other| *other == mode).expect("a mode of blocks") as u64
            }
        };
        let Parameters { start_margin, final_margin, read_offsets, .. } = *work.parameters;
        let of_page = [work.page.into(), work.page_type().into(), work.word_line().into()];
        let of_set = [u64::from(start_margin), u64::from(final_margin), read_offsets[0] as u64];
        let of_planes = work.blocks.iter().map(|block| u64::from(block.die.0) << 32 | u64::from(block.block));
        let asked = [work.stage as u64, mode].into_iter().chain(of_page).chain(of_set).chain(of_planes);
        let mixed = asked.fold(0xcbf2_9ce4_8422_2325, |mixed: u64, word| {
            (mixed ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
        });
        if let Some(outcome) = outcome {
            (outcome.loops, outcome.verifies, outcome.senses) = (mixed as u32 % 20, mixed as u32 % 70, 1);
        }
        work.data_sheet + Duration::from_ns(mixed % 997)
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(self.clone())
    }
}

/// A parameter set that differs from the data sheet in everything that [`Odd`] depends on.
pub fn parameters() -> Parameters {
    let setting = Duration::from_ns(600);
    let mut set =
        Parameters { start_margin: 120, final_margin: 80, setting, outcome: true, ..Parameters::DATA_SHEET };
    set.read_offsets[0] = -3;
    set
}
