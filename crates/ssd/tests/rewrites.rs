//! Reprogrammed word lines in MLC mode: new pages of a stream replace invalid ones.

use wordline_device::Operation;
use wordline_flash::policy::failure::FailureKind;
use wordline_ftl::Policies;
use wordline_ftl::config::LowerPages;
use wordline_ftl::config::Scope;
use wordline_ftl::design::{Combination, ExtensionPoint, Needs, View, WriteStream};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::{Seed, state};
use wordline_nand::faults::{Fails, FaultFile, NumberRange};
use wordline_nand::{CellMode, PageId};
use wordline_ssd::contract;

use crate::common::Rig;
use crate::mode_streams::rig;

/// Design that sends the pages below a number to blocks whose word lines are reprogrammed.
struct Again {
    below: u32,
    times: u8,
    /// Whether the design selects word lines: the last one that can be reprogrammed, or else the first
    /// unprogrammed one.
    names: bool,
    /// Number of a word line whose programs fail in every block.
    bad: Option<u32>,
    asked: u64,
}

state!(Again { values { asked } fixed { below, times, names, bad } });

impl Again {
    fn design(times: u8, names: bool) -> impl Fn(&Config) -> Box<dyn Design> {
        Self::below(12, times, names)
    }

    fn below(below: u32, times: u8, names: bool) -> impl Fn(&Config) -> Box<dyn Design> {
        move |_| Box::new(Self { below, times, names, bad: None, asked: 0 })
    }
}

impl Design for Again {
    fn name(&self) -> &'static str {
        "again"
    }

    fn needs(&self) -> Needs {
        let completions: &[ExtensionPoint] = if self.names {
            &[ExtensionPoint::Stream, ExtensionPoint::Frontier]
        } else {
            &[ExtensionPoint::Stream]
        };
        let hot = WriteStream { mode: CellMode::Reprogrammed(self.times), ..WriteStream::native("hot", 0) };
        Needs { streams: vec![WriteStream::native("cold", 0), hot], ..Needs::of(completions) }
    }

    fn stream(&mut self, written: &HostPage<'_>, _: u8, _: &mut View<'_>) -> u8 {
        u8::from(written.logical < self.below)
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, view: &mut View<'_>) -> u32 {
        let Some(last) = open.again.word_lines.last().copied() else { return open.first_unprogrammed() };
        self.asked += 1;
        assert!(
            !open.again.word_lines.iter().any(|line| Some(*line) == self.bad),
            "{:?}",
            open.again.word_lines
        );
        let facts = view.word_line(open.block, last);
        assert!(facts.again.is_some_and(|times| times < self.times), "{facts:?}");
        assert!(facts.valid.contains(&0), "a page of it can be replaced: {facts:?}");
        last
    }
}

/// Writes each page once, then mostly rewrites the first `hot` pages.
fn overwrite(rig: &mut Rig, writes: u64, hot: u64) {
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(3).stream("test.writes", 0);
    for n in 0..pages + writes {
        rig.run_down_to(5);
        let page = if n < pages { n } else { random.below(if n % 4 == 0 { pages } else { hot }) };
        rig.submit(Operation::Write, false, page * 8, 8);
        if n % 500 == 0 {
            rig.audit();
        }
    }
    rig.alone(Operation::Flush, false, 0, 0);
    rig.settle();
    rig.audit();
}

#[test]
fn word_lines_are_programmed_again_as_often_as_their_stream_says() {
    for (times, names) in [(1, false), (2, false), (2, true)] {
        let mut rig = rig(&contract::small_with_two_bits(), Again::design(times, names));
        overwrite(&mut rig, 6_000, 8);
        let totals = rig.device.totals();
        assert!(totals.reprogrammed > 100 && totals.reprogrammed < totals.two_bit_programs, "{totals:?}");
        let chips = rig.device.ftl().flash.chips();
        let pages = chips.pools().all_blocks().map(|block| chips.geometry().page(block, 0));
        let again = pages.flat_map(|first| (0..16).map(move |n| PageId(first.0 + 2 * n)));
        let most = again.map(|page| chips.reprograms(page)).max().expect("some page");
        assert_eq!(most, times, "the most that a word line stands for its stream");
        for page in 0..100 {
            rig.alone(Operation::Read, false, page * 8, 8);
        }
    }
}

#[test]
fn reprogrammed_word_lines_take_no_new_block() {
    let erases = |times| {
        let mut rig = rig(&contract::small_with_two_bits(), Again::design(times, true));
        overwrite(&mut rig, 6_000, 8);
        rig.device.totals().erases
    };
    let [never, once, twice] = [0, 1, 2].map(erases);
    assert!(twice < once && once < never, "{never} erases, {once} and {twice}");
}

#[test]
fn streams_that_program_word_lines_again_keep_the_contract() {
    for (times, names) in [(1, false), (2, false), (2, true)] {
        contract::check(&contract::small_with_two_bits(), Again::design(times, names));
    }
    let mut super_blocks = contract::small_with_two_bits();
    super_blocks.ftl.gc.scope = Scope::SuperBlock;
    contract::check(&super_blocks, Again::design(2, false));
}

#[test]
fn a_power_cut_takes_the_page_beside_the_one_that_is_replaced_unless_it_is_backed_up() {
    let torn = |lower_pages| {
        let mut file = contract::small_with_two_bits();
        file.ftl.recovery.lower_pages = lower_pages;
        let mut rig = rig(&file, Again::below(48, 2, true));
        let (mut random, mut partners) = (Seed(5).stream("test.cuts", 0), 0);
        for _ in 0..150 {
            for _ in 0..random.below(60) {
                rig.run_down_to(5);
                rig.submit(Operation::Write, false, random.below(48) * 8, 8);
            }
            partners += rig.cut_power().torn.partners;
            rig.wait_until_ready();
            rig.audit();
        }
        partners
    };
    assert_eq!(torn(LowerPages::BackedUp), 0);
    assert!(torn(LowerPages::Exposed) > 10);
}

#[test]
fn a_program_that_fails_takes_the_page_beside_it_unless_it_is_backed_up() {
    let lost = |lower_pages| {
        let mut file = contract::small_with_two_bits();
        file.ftl.recovery.lower_pages = lower_pages;
        file.ftl.failure = FailureKind::Tolerate { programs: 200, reads: 3 };
        file.faults = vec![FaultFile { every: Some(40), ..FaultFile::new(Fails::Program) }];
        let mut rig = rig(&file, Again::below(48, 2, true));
        overwrite(&mut rig, 3_000, 48);
        for page in 0..100 {
            rig.alone(Operation::Read, false, page * 8, 8);
        }
        assert!(rig.device.totals().program_failures > 10);
        rig.device.totals().lost_pages
    };
    assert_eq!(lost(LowerPages::BackedUp), 0);
    assert!(lost(LowerPages::Exposed) > 0);
}

#[test]
fn a_word_line_of_which_programs_failed_is_not_programmed_again() {
    let mut file = contract::small_with_two_bits();
    file.ftl.failure = FailureKind::Tolerate { programs: u32::MAX, reads: 3 };
    file.faults =
        vec![FaultFile { page: Some(NumberRange { least: 2, most: 3 }), ..FaultFile::new(Fails::Program) }];
    let mut rig = rig(&file, |_: &Config| {
        Box::new(Again { below: 48, times: 2, names: true, bad: Some(1), asked: 0 }) as Box<dyn Design>
    });
    overwrite(&mut rig, 2_000, 48);
    let totals = rig.device.totals();
    assert!(totals.program_failures > 10 && totals.reprogrammed > 100, "{totals:?}");
}

/// Design that relocates pages to blocks whose word lines would be reprogrammed.
struct Moves;

state!(Moves {});

impl Design for Moves {
    fn name(&self) -> &'static str {
        "moves"
    }

    fn needs(&self) -> Needs {
        let again = WriteStream { mode: CellMode::Reprogrammed(1), ..WriteStream::native("moved", 0) };
        let gc_streams = vec![WriteStream::native("usual", 0), again];
        Needs { gc_streams, ..Needs::of(&[ExtensionPoint::Relocate]) }
    }
}

#[test]
fn more_programs_of_a_word_line_than_it_stands_are_refused() {
    let refused = |design: Box<dyn Design>| {
        let config = contract::small_with_two_bits().check().expect("the device is sound");
        let policies = Policies::of(&config.ftl).with_designs(Combination::of(vec![design]));
        config.check_policies(&policies).map(drop).expect_err("it does not fit").to_string()
    };
    let wrong = refused(Box::new(Again { below: 12, times: 3, names: false, bad: None, asked: 0 }));
    assert!(
        wrong.contains("wanted at most 2 times, which the word lines of the part small tolerate"),
        "{wrong}"
    );

    let wrong = refused(Box::new(Moves));
    assert!(wrong.contains("moves with the GC stream moved in MLC mode"), "{wrong}");
}
