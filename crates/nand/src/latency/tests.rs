//! Ranges as text, and the three models over parts with and without ranges.

use super::*;
use crate::geometry::Layout;
use crate::part::PartFile;
use crate::part::tests::mqsim_file;
use crate::{Chips, Command, DieId, Operation, PageId, Pairing, Pools};
use wordline_kernel::{Bytes, Calendar};

fn part(program: &[&str], change: impl FnOnce(&mut PartFile)) -> Part {
    let mut file = mqsim_file();
    file.geometry.pages_per_block = 128;
    file.geometry.pairing = Pairing::FourThenPairs;
    file.timing.program = program.iter().map(|text| text.parse().expect("a time")).collect();
    change(&mut file);
    file.check().expect("the part is sound")
}

fn at(die: u32, block: u32) -> [PlaneBlock; 1] {
    [PlaneBlock { die: DieId(die), block }]
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

#[test]
fn a_range_reads_as_it_prints() {
    for text in ["700us", "250us..2200us", "1500ns..2us"] {
        let range: TimeRange = text.parse().expect(text);
        assert_eq!(range.to_string(), text);
    }
    assert_eq!("250us .. 2200us".parse(), Ok(TimeRange { least: us(250), most: us(2200) }));
    assert_eq!("5us..5us".parse(), Ok(TimeRange::from(us(5))));
}

#[test]
fn a_range_that_is_none_is_refused() {
    for text in ["", "250", "250us..", "..250us", "2200us..250us", "1us..2us..3us", "250us-2200us"] {
        let error = text.parse::<TimeRange>().expect_err(text);
        assert!(error.contains("or a range from the shortest to the longest"), "{error}");
    }
}

#[test]
fn programs_take_the_time_of_their_page_type() {
    let latency = Latency::new(&part(&["250us", "2200us"], |_| ()), LatencyModel::default(), Seed(1));
    for (page, time) in [(0, 250), (3, 250), (4, 2200), (5, 2200), (6, 250), (123, 250), (124, 2200)] {
        assert_eq!(latency.program(page, at(0, 0)), us(time), "page {page}");
        assert_eq!(latency.program(page, at(3, 9)), us(time), "page {page} of another block");
    }
}

#[test]
fn the_model_changes_programs_alone() {
    let typical = |file: &mut PartFile| file.timing.program_typical = Some(us(650));
    let part = part(&["250us", "1800us..2200us"], typical);
    for (model, low, high) in [(LatencyModel::Typical, 650, 650), (LatencyModel::Worst, 2200, 2200)] {
        let latency = Latency::new(&part, model, Seed(1));
        assert_eq!([0, 4].map(|page| latency.program(page, at(0, 0))), [low, high].map(us), "{model:?}");
        assert_eq!(latency.read(4, at(0, 0)), us(75));
    }
}

#[test]
fn without_a_typical_time_it_is_the_mean_of_the_pages() {
    let latency = Latency::new(&part(&["250us", "2200us"], |_| ()), LatencyModel::Typical, Seed(1));
    assert_eq!(latency.program(0, at(0, 0)), us(1225));
}

#[test]
fn a_time_within_a_range_depends_on_seed_and_address_alone() {
    let part = part(&["250us..2200us"], |_| ());
    let first = Latency::new(&part, LatencyModel::default(), Seed(1));
    let again = Latency::new(&part, LatencyModel::default(), Seed(1));
    let other = Latency::new(&part, LatencyModel::default(), Seed(2));
    let addresses = || (0..2).flat_map(|die| (0..16).flat_map(move |b| (0..128).map(move |p| (die, b, p))));
    let times = |latency: &Latency| -> Vec<Duration> {
        addresses().map(|(die, block, page)| latency.program(page, at(die, block))).collect()
    };
    let mut backwards: Vec<(u32, u32, u32)> = addresses().collect();
    backwards.reverse();
    let mut reversed: Vec<Duration> =
        backwards.into_iter().map(|(die, block, page)| again.program(page, at(die, block))).collect();
    reversed.reverse();
    let forwards = times(&first);
    assert_eq!(forwards, reversed);
    assert!(forwards.iter().all(|time| (us(250)..=us(2200)).contains(time)));
    let same = forwards.iter().zip(times(&other)).filter(|(a, b)| **a == *b).count();
    assert_eq!(same, 0, "another seed gives other times");
    let mut distinct = forwards.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), forwards.len(), "dies, blocks and pages differ");
}

#[test]
fn times_within_a_range_are_equally_likely() {
    let latency = Latency::new(&part(&["1us..11us"], |_| ()), LatencyModel::default(), Seed(3));
    let mut tenths = [0u32; 10];
    for block in 0..32 {
        for page in 0..128 {
            let time = latency.program(page, at(0, block)) - us(1);
            tenths[(time.ps() / 1_000_000).min(9) as usize] += 1;
        }
    }
    // Nine degrees of freedom: chi-squared above 27.9 has probability 0.001.
    let expected = 4096.0 / 10.0;
    let chi_squared: f64 = tenths.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    assert!(chi_squared < 27.9, "{tenths:?}");
}

#[test]
fn reads_vary_within_their_range_under_every_model() {
    let part = part(&["250us"], |file| file.timing.read = vec!["40us..60us".parse().expect("a range")]);
    for model in [LatencyModel::VariationAware, LatencyModel::Typical, LatencyModel::Worst] {
        let latency = Latency::new(&part, model, Seed(1));
        let times = [0, 1].map(|block| latency.read(7, at(0, block)));
        assert!(
            times[0] != times[1] && times.iter().all(|time| (us(40)..=us(60)).contains(time)),
            "{times:?}"
        );
    }
}

#[test]
fn a_multi_plane_program_of_chips_takes_as_long_as_its_slowest_plane() {
    let part = part(&["250us..2200us"], |_| ());
    let geometry = Layout::on_one_channel(1, None).check(&part).expect("the layout is sound");
    let mut chips = Chips::new(Pools::of_pages(part.clone(), geometry));
    chips.set_latency(LatencyModel::VariationAware, Seed(9));
    let mut calendar = Calendar::new();
    let command = Command::new(Operation::Program, PageId(0), 2, Bytes(0));
    chips.begin(DieId(0), command, &mut calendar);
    let event = calendar.advance().expect("the array is done some time");
    let done = chips.handle(event, &mut calendar).expect("a program ends with the array");
    let latency = Latency::new(&part, LatencyModel::VariationAware, Seed(9));
    let alone = [0, 1].map(|block| latency.program(0, at(0, block)));
    assert_ne!(alone[0], alone[1]);
    assert_eq!(done.array, alone[0].max(alone[1]));
}
