//! The purpose of the design: frequent writes need fewer erases. Also its contract: the oracle, faults, power
//! cuts and snapshots.

use two_bit::{File, TwoBit};
use wordline_lab::devices::DesignType;
use wordline_lab::{RunOptions, Summary, Unobserved, WarmUp, Workload, run};
use wordline_ssd::contract;

#[test]
fn it_keeps_the_contract_of_designs() {
    let mut file = contract::small_with_two_bits();
    file.part.geometry.blocks_per_plane = 64;
    for (hot_writes, waiting) in [(1, 3), (2, 1)] {
        contract::check(&file, |config| TwoBit::build(&File { hot_writes, times: 1, waiting }, config));
    }
}

fn updates(settings: &[&str]) -> Summary {
    let device = two_bit::registry().device("two-bit", settings).unwrap_or_else(|error| panic!("{error}"));
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/updates.toml");
    let whole = RunOptions { warm_up: Some(WarmUp::None), ..RunOptions::default() };
    run(&device, &Workload::named(workload), &whole, &mut Unobserved).expect("it runs")
}

#[test]
fn word_lines_that_are_programmed_again_take_fewer_erases() {
    let [never, once, twice] = [0, 1, 2].map(|times| updates(&[&format!("design.two-bit.times={times}")]));
    let counted = |summary: &Summary, name| summary.metrics.number(name).expect("it counts");
    assert_eq!(counted(&never, "flash.reprogrammed"), 0.0);
    for summary in [&once, &twice] {
        let share = counted(summary, "flash.reprogrammed") / counted(summary, "flash.two_bit_programs");
        assert!(share > 0.15, "{share} of the pages of hot blocks replace others");
    }
    let [never, once, twice] = [never, once, twice].map(|summary| counted(&summary, "flash.erases"));
    assert!(twice < once && once < never, "{never} erases, {once} and {twice}");
}
