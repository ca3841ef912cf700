//! Cost of read reference voltages, compared with closed forms, and the calls of tuners.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use wordline_device::Operation;
use wordline_device::times::Component;
use wordline_flash::policy::tuner::{LastGood, ReadOutcome, ReadParameters, SensedPage, Tuner, TunerKind};
use wordline_flash::read_retry::Decoder;
use wordline_ftl::Policies;
use wordline_ftl::design::Combination;
use wordline_kernel::{Calendar, Duration, Schedule, Seed, state};
use wordline_nand::cell::{AgeShare, Draws, Effects, ProgramEffect};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_nand::{BlockSetId, CellMode, Layers, Location};
use wordline_ssd::{Device, DeviceFile, Event, contract};

use crate::common::{self, Rig, small};

/// Sectors of a page.
const PAGE: u64 = 8;

/// Rule by which every layer needs a set of read reference voltages from this range.
fn needs(levels: &str) -> FaultFile {
    FaultFile {
        level: Some(levels.parse().expect("a number or a range")),
        probability: Some(1.0),
        ..FaultFile::new(Fails::Read)
    }
}

/// One die of the small device, with four layers of four pages in each block, and these rules.
fn device(tuner: &TunerKind, rules: &[FaultFile]) -> DeviceFile {
    let mut file = small();
    (file.layout.channels, file.layout.dies_per_package) = (1, 1);
    file.part.geometry.layers = 4;
    file.ftl.tuner = tuner.clone();
    file.faults = rules.to_vec();
    file
}

fn read(rig: &mut Rig, page: u32) -> Duration {
    let time = rig.alone(Operation::Read, false, u64::from(page) * PAGE, PAGE);
    assert!(!rig.completions.last().expect("it was answered").1.failed, "page {page}");
    time
}

/// Reads each page alone. Returns the number of pages.
fn read_all(rig: &mut Rig) -> u32 {
    let pages = rig.device.config().ftl.logical_pages;
    (0..pages).for_each(|page| _ = read(rig, page));
    pages
}

fn retries(rig: &Rig) -> u64 {
    rig.device.ftl().flash.counts().read_retries
}

/// Latency of the first and of the next read without retries. The next read includes a turnaround of the bus.
fn usual() -> (Duration, Duration) {
    let mut rig = Rig::filled(device(&TunerKind::Nominal {}, &[]));
    (read(&mut rig, 0), read(&mut rig, 0))
}

const SETTING: Duration = Duration::from_us(1);

#[test]
fn nominal_goes_up_to_the_level_at_every_read_and_last_good_at_the_first_one_of_a_layer() {
    for level in 0..=7u32 {
        let ((first, next), rules) = (usual(), [needs(&level.to_string())]);
        let up = (next + SETTING) * u64::from(level);
        let again = if level == 0 { next } else { next + SETTING };
        for (tuner, second) in [(TunerKind::Nominal {}, next + up), (TunerKind::LastGood {}, again)] {
            let mut rig = Rig::filled(device(&tuner, &rules));
            let times = (read(&mut rig, 0), read(&mut rig, 0));
            assert_eq!(times, (first + up, second), "{tuner:?}, level {level}");
            let per_read = u64::from(level);
            let all = if tuner == (TunerKind::LastGood {}) { per_read } else { 2 * per_read };
            assert_eq!((retries(&rig), rig.device.totals().unreadable_pages), (all, 0));
        }
    }
}

#[test]
fn last_good_pays_for_a_level_once_a_layer_and_nominal_once_a_page() {
    let all = |tuner: TunerKind| {
        let mut rig = Rig::filled(device(&tuner, &[needs("3")]));
        let pages = read_all(&mut rig);
        let config = rig.device.config();
        let layers = Layers::of(&config.ftl.pools);
        let locations = (0..config.ftl.pools.first().geometry.pages()).map(Location);
        let written = locations.filter(|location| rig.device.chips().stamp(*location).is_data());
        let touched: BTreeSet<_> = written
            .map(|location| layers.layer_of(config.ftl.pools.page_of(location), CellMode::Native))
            .collect();
        (retries(&rig), u64::from(pages), touched.len() as u64)
    };
    let (retries, pages, _) = all(TunerKind::Nominal {});
    assert_eq!(retries, 3 * pages);
    let (retries, pages, layers) = all(TunerKind::LastGood {});
    assert_eq!(retries, 3 * layers);
    assert!(layers < pages / 3, "four pages share a layer: {layers} of {pages}");
}

#[test]
fn the_mean_latency_of_reads_is_that_of_their_senses() {
    for tuner in [TunerKind::Nominal {}, TunerKind::LastGood {}] {
        let ((first, next), mut all, mut set) = (usual(), Duration::ZERO, 0);
        let mut rig = Rig::filled(device(&tuner, &[FaultFile { probability: Some(0.6), ..needs("1..5") }]));
        let pages = rig.device.config().ftl.logical_pages;
        let mut turn = next - first;
        for page in (0..pages).chain(0..pages) {
            let before = retries(&rig);
            let time = read(&mut rig, page) + std::mem::take(&mut turn);
            // Each try sets the read reference voltages, except a first sense at the nominal ones.
            let tries = retries(&rig) - before + 1;
            let settings = [tries - 1, tries].map(|settings| next * tries + SETTING * settings);
            assert!(settings.contains(&time), "{tuner:?}: {time} for {tries} tries");
            set += u64::from(time == settings[1]);
            all += time;
        }
        let (reads, retries) = (2 * u64::from(pages), retries(&rig));
        assert_eq!(all, next * (reads + retries) + SETTING * (retries + set));
        match tuner {
            // Expected: 0.6 (1 + 2 + 3 + 4 + 5) / 5 retries for each read. The standard deviation of a layer
            // is 1.83, and there are at least 144 layers; the tolerance is three standard deviations of the
            // mean.
            TunerKind::Nominal {} => {
                assert_eq!(set, 0);
                let mean = retries as f64 / reads as f64;
                assert!((mean - 1.8).abs() < 0.46, "{mean}");
            }
            TunerKind::LastGood {} => assert!(set > reads * 2 / 5 && retries < reads / 2, "{set}, {retries}"),
        }
    }
}

#[test]
fn a_page_that_no_set_reads_is_lost_after_all_of_them() {
    for tuner in [TunerKind::Nominal {}, TunerKind::LastGood {}] {
        let mut rig = Rig::filled(device(&tuner, &[needs("8")]));
        let time = rig.alone(Operation::Read, false, 0, PAGE);
        let (first, next) = usual();
        assert_eq!(time, first + (next + SETTING) * 7);
        let totals = rig.device.totals();
        assert_eq!((retries(&rig), totals.unreadable_pages, totals.lost_pages), (7, 1, 1));
    }
}

#[test]
fn a_page_that_fails_once_is_read_by_its_first_retry_whatever_its_layer_needs() {
    let fails = FaultFile { nth: Some(1), retries: Some(1.into()), ..FaultFile::new(Fails::Read) };
    for tuner in [TunerKind::Nominal {}, TunerKind::LastGood {}] {
        // The layers of another block need a set, and all layers need the nominal one.
        for needs in [FaultFile { block: Some(23.into()), ..needs("3") }, needs("0")] {
            let mut rig = Rig::filled(device(&tuner, &[fails.clone(), needs.clone()]));
            read(&mut rig, 0);
            let lost = rig.device.totals().lost_pages;
            assert_eq!((retries(&rig), lost), (1, 0), "{tuner:?}, {needs:?}");
        }
    }
}

#[test]
fn pages_that_need_other_levels_are_sensed_by_commands_of_their_own() {
    let commands = |rules: &[FaultFile]| {
        let mut rig = Rig::filled(device(&TunerKind::LastGood {}, rules));
        (0..2).for_each(|page| _ = read(&mut rig, page));
        let (before, retried) = (rig.device.chips().counts().read_commands, retries(&rig));
        rig.alone(Operation::Read, false, 0, 2 * PAGE);
        assert_eq!(retries(&rig), retried, "all levels are known");
        rig.device.chips().counts().read_commands - before
    };
    assert_eq!(commands(&[needs("3")]), 1, "two planes at once");
    assert_eq!(commands(&[FaultFile { plane: Some(1.into()), ..needs("3") }]), 2);
}

#[test]
fn a_device_whose_layers_need_levels_collects_garbage_without_losing_anything() {
    for tuner in [TunerKind::Nominal {}, TunerKind::LastGood {}] {
        let mut rig = Rig::filled(device(&tuner, &[FaultFile { probability: Some(0.8), ..needs("1..7") }]));
        rig.overwrite(6_000);
        read_all(&mut rig);
        let totals = rig.device.totals();
        assert!(totals.gc_reads > 400 && totals.erases > 100, "{} {}", totals.gc_reads, totals.erases);
        assert_eq!((totals.unreadable_pages, totals.lost_pages), (0, 0), "{tuner:?}");
    }
}

/// Calls of a tuner.
#[derive(Default)]
struct Told {
    outcomes: Vec<(SensedPage, ReadOutcome)>,
    erased: Vec<BlockSetId>,
    forgot: u32,
}

/// Tuner that records its calls.
struct Recorder {
    inner: LastGood,
    told: Arc<Mutex<Told>>,
}

state!(Recorder { parts { inner } fixed { told } });

impl Recorder {
    fn note(&self, what: impl FnOnce(&mut Told)) {
        what(&mut self.told.lock().expect("nobody panicked with it"));
    }
}

impl Tuner for Recorder {
    fn read(&self, page: &SensedPage) -> ReadParameters {
        self.inner.read(page)
    }

    fn read_finished(&mut self, page: &SensedPage, outcome: &ReadOutcome) {
        self.note(|told| told.outcomes.push((*page, *outcome)));
        self.inner.read_finished(page, outcome);
    }

    fn erased(&mut self, block: BlockSetId) {
        self.note(|told| told.erased.push(block));
        self.inner.erased(block);
    }

    fn forget(&mut self) {
        self.note(|told| told.forgot += 1);
        self.inner.forget();
    }
}

/// Filled device whose layers need set 2, with a recording tuner.
fn recorded() -> (Rig, Arc<Mutex<Told>>) {
    let config = device(&TunerKind::Nominal {}, &[needs("2")]).check().expect("the device is sound");
    let told = Arc::<Mutex<Told>>::default();
    let inner = LastGood::new(Layers::of(&config.ftl.pools));
    let tuner = Box::new(Recorder { inner, told: told.clone() });
    let policies = Policies { tuner, ..Policies::of(&config.ftl) };
    let device = Device::with(config, policies, Seed(1));
    let mut rig = Rig::of(device, Calendar::new());
    rig.device.fill(1.0);
    (rig, told)
}

#[test]
fn a_tuner_is_notified_of_every_page_read_and_every_block_erase() {
    let (mut rig, told) = recorded();
    let pages = read_all(&mut rig);
    {
        let told = told.lock().expect("nobody panicked with it");
        let retried: u64 = told.outcomes.iter().map(|(_, outcome)| u64::from(outcome.senses) - 1).sum();
        assert_eq!((told.outcomes.len() as u32, retried), (pages, retries(&rig)));
        for (page, outcome) in &told.outcomes {
            assert_eq!((outcome.parameters, outcome.is_read), (ReadParameters { level: 2 }, true));
            assert_eq!((page.highest, page.erases), (7, 0));
        }
    }
    rig.overwrite(2_000);
    let told = told.lock().expect("nobody panicked with it");
    let totals = rig.device.totals();
    assert_eq!(told.erased.len() as u64, totals.erases);
    // Each plane of a GC read counts as a page.
    assert_eq!(told.outcomes.len() as u64, u64::from(pages) + totals.gc_reads);
    assert!(totals.erases > 10 && totals.gc_reads > 100);
}

#[test]
fn a_power_cut_clears_what_a_tuner_learnt() {
    let (mut rig, told) = recorded();
    assert!(read(&mut rig, 0) > read(&mut rig, 0));
    rig.cut_power();
    rig.wait_until_ready();
    assert_eq!(told.lock().expect("nobody panicked with it").forgot, 1);
    assert_eq!(read(&mut rig, 0), usual().1 * 3 + SETTING * 2);
}

/// Fills a device with cells of this retention time and reads each page. Returns the retries for each read,
/// and the share of lost pages.
fn retries_after(hours: f64, tuner: &TunerKind) -> (f64, f64) {
    let mut file = common::with_cells(hours);
    file.ftl.tuner = tuner.clone();
    retries_on(file)
}

fn retries_on(file: DeviceFile) -> (f64, f64) {
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = rig.device.config().ftl.logical_pages;
    for page in 0..pages {
        rig.alone(Operation::Read, false, u64::from(page) * PAGE, PAGE);
    }
    let reads = f64::from(pages);
    (retries(&rig) as f64 / reads, rig.device.totals().unreadable_pages as f64 / reads)
}

/// Retries for each read according to the cell model, averaged over the layers of a block, and the share of
/// uncorrectable pages.
fn retries_of_the_model(hours: f64) -> (f64, f64) {
    let part = common::with_cells(hours).part.check().expect("the part is sound");
    let cells = part.aged_cells().expect("it names cells");
    let (set, bits) = (&cells.set, part.geometry.page_size.0 * 8);
    let reading = set.reading.as_ref().expect("it says how it is read");
    let variation = set.variation.as_ref().expect("layers differ");
    let (mut all, mut lost) = (0.0, 0.0);
    for layer in 0..variation.layers {
        let strength = variation.of_draws(layer, Draws::default(), Effects::ALL);
        let levels = set.levels(&strength, &cells.condition, Effects::ALL, &ProgramEffect::default());
        for page in 0..3 {
            let rates = reading.rates(&levels, page, &set.references);
            let best = rates.iter().copied().fold(1.0, f64::min);
            let retries = reading.retries(&reading.tries(rates, bits), 0);
            all += retries.share * retries.mean;
            lost += reading.ecc.soft_failure(best, bits);
        }
    }
    let pages = f64::from(variation.layers * 3);
    (all / pages, lost / pages)
}

#[test]
fn reads_of_a_run_are_tried_again_as_often_as_their_cells_say() {
    let nominal = TunerKind::Nominal {};
    assert_eq!(retries_after(0.0, &nominal), (0.0, 0.0), "new cells");
    let ((year, lost), (retries, wanted)) = (retries_after(8_760.0, &nominal), retries_of_the_model(8_760.0));
    assert!((year / retries - 1.0).abs() < 0.15, "{year} beside {retries}");
    // The median block of the median chip loses no page. Chips that age sooner lose one page in two hundred.
    assert!(wanted < 1e-6 && (0.001..0.02).contains(&lost), "{lost} beside {wanted}");
    let (kept, _) = retries_after(8_760.0, &TunerKind::LastGood {});
    assert!(kept < 0.6 * year, "{kept} after {year}: layers are alike");
}

/// Filled device with new cells and this decoder.
fn decoded(decoder: Decoder) -> Rig {
    let mut file = common::with_cells(0.0);
    file.ftl.read_retry.decoder = decoder;
    Rig::filled(file)
}

/// Time in decoders, including waits for them.
fn decoding(rig: &Rig) -> Duration {
    Duration::from_ps(rig.device.totals().times.spent[0][Component::Decoding as usize] as u64)
}

#[test]
fn a_read_takes_longer_by_the_code_words_that_it_moves_out() {
    let part = common::with_cells(0.0).part.check().expect("the part is sound");
    let hard = part.ecc().expect("its cells say what decoding takes").hard;
    for decoder in [Decoder::Channel, Decoder::Die] {
        // A page of 4 KiB has four ECC code words. Sectors 7 and 8 are in two planes.
        for (first, sectors, words) in [(0, 8, 4), (0, 4, 2), (0, 1, 1), (1, 2, 2), (7, 2, 2)] {
            let [plain, longer] = [Decoder::None, decoder].map(|decoder| {
                let mut rig = decoded(decoder);
                (rig.alone(Operation::Read, false, first, sectors), decoding(&rig))
            });
            let time = hard * words / 4;
            assert_eq!(
                (longer.0 - plain.0, plain.1, longer.1),
                (time, Duration::ZERO, time),
                "{sectors} sectors from {first} on"
            );
        }
    }
}

#[test]
fn a_device_whose_reads_are_decoded_outlives_faults_cuts_and_snapshots() {
    for decoder in [Decoder::Channel, Decoder::Die] {
        let mut file = common::with_cells(100.0);
        file.ftl.read_retry.decoder = decoder;
        contract::check_all(&file, |_| Combination::default());
    }
}

/// Retries for each read of these pages.
fn retries_of(rig: &mut Rig, pages: std::ops::Range<u32>) -> f64 {
    let (before, reads) = (retries(rig), pages.len() as f64);
    pages.for_each(|page| _ = rig.alone(Operation::Read, false, u64::from(page) * PAGE, PAGE));
    (retries(rig) - before) as f64 / reads
}

/// Lets the device idle for `time`.
fn idle(rig: &mut Rig, time: Duration) {
    rig.settle();
    rig.calendar.after(time, Event::Idle);
    assert_eq!(rig.calendar.advance(), Some(Event::Idle));
}

/// Filled device with worn cells, whose data have a retention time of `hours` that increases during the run.
/// One eighth of the pages is rewritten.
fn passing(hours: f64) -> (Rig, u32) {
    let mut file = common::with_cells(hours);
    file.part.cells.as_mut().expect("it has cells").retention_passes = true;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let some = rig.device.config().ftl.logical_pages / 8;
    for page in 0..some {
        rig.alone(Operation::Write, false, u64::from(page) * PAGE, PAGE);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    (rig, some)
}

#[test]
fn errors_grow_while_a_device_idles_and_pages_of_the_run_are_younger_than_those_before() {
    let days = 60;
    let (mut rig, some) = passing(8_760.0);
    let pages = rig.device.config().ftl.logical_pages;
    let (new, laid) = (retries_of(&mut rig, 0..some), retries_of(&mut rig, some..pages));
    assert!(new < 0.01 && (laid / retries_of_the_model(8_760.0).0 - 1.0).abs() < 0.2, "{new} and {laid}");
    idle(&mut rig, Duration::from_ms(days * 86_400_000));
    let (old, older) = (retries_of(&mut rig, 0..some), retries_of(&mut rig, some..pages));
    let wanted = retries_of_the_model(24.0 * days as f64).0;
    assert!((old / wanted - 1.0).abs() < 0.2, "{old} beside {wanted}: as old as the days that passed");
    assert!(old < older && laid < older, "{old} and {older} after {laid}");
}

#[test]
fn ageing_data_survive_faults_power_cuts_and_snapshots() {
    let mut file = common::with_cells(100.0);
    file.part.cells.as_mut().expect("it has cells").retention_passes = true;
    contract::check_all(&file, |_| Combination::default());
}

/// New cells, except for a share of worn blocks whose data have a retention time of `hours`.
fn partly_aged(share: f64, hours: f64) -> DeviceFile {
    let mut file = common::with_cells(0.0);
    let cells = file.part.cells.as_mut().expect("it has cells");
    cells.mixture = vec![AgeShare { share, cycles: 2_000.0, hours }];
    file
}

#[test]
fn blocks_of_two_ages_are_tried_again_in_their_shares() {
    let (year, lost) = retries_after(8_760.0, &TunerKind::Nominal {});
    let (all, all_lost) = retries_on(partly_aged(1.0, 8_760.0));
    assert!((all / year - 1.0).abs() < 0.02, "{all} beside {year}: all blocks are of the other age");
    assert!((all_lost / lost - 1.0).abs() < 0.5, "{all_lost} beside {lost}");
    // Half of at least 64 blocks, within three standard deviations.
    let (half, _) = retries_on(partly_aged(0.5, 8_760.0));
    assert!((0.3..0.7).contains(&(half / year)), "{half} beside {year}");
    assert_eq!(
        retries_on(partly_aged(0.5, 8_760.0)).0,
        half,
        "which block is of which age follows from the seed"
    );
}

#[test]
fn blocks_of_two_ages_outlive_faults_cuts_and_snapshots() {
    contract::check_all(&partly_aged(0.5, 100.0), |_| Combination::default());
}

#[test]
fn a_device_over_cells_outlives_faults_cuts_and_snapshots() {
    for (hours, tuner) in
        [(0.0, TunerKind::Nominal {}), (100.0, TunerKind::Nominal {}), (100.0, TunerKind::LastGood {})]
    {
        let mut file = common::with_cells(hours);
        file.ftl.tuner = tuner;
        contract::check_all(&file, |_| Combination::default());
    }
}
