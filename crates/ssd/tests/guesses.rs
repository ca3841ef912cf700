//! Maps that guess: reads return the data written whatever the guess, and each guess costs the reads that it
//! should.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::mapper::{CacheSize, Dftl, Guess, Guesser, Guessing, Mapper};
use wordline_ftl::{Config, Policies};
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Seed, state};
use wordline_nand::Location;
use wordline_ssd::{Device, DeviceFile, contract};

use crate::common::{Rig, small};

/// Kinds of guesses for a page whose location is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Its location.
    Right,
    /// The location after or before it in the same block, with this error bound.
    Beside(u32),
    /// Any location of the device or beyond, with this error bound.
    Anywhere(u32),
    /// Its location at the first program.
    First(u32),
}

/// Knows the location of each page, and guesses right or wrong.
struct Probe {
    kind: Kind,
    known: Vec<Option<Location>>,
    guesses: u32,
    locations: u32,
    per_block: u32,
}

state!(Probe { values { known, guesses } fixed { kind, locations, per_block } });

impl Guesser for Probe {
    fn guess(&mut self, page: LogicalPage) -> Option<Guess> {
        let at = self.known[page.0 as usize]?;
        self.guesses += 1;
        let beside = if (at.0 + 1).is_multiple_of(self.per_block) { at.0 - 1 } else { at.0 + 1 };
        let (location, error) = match self.kind {
            Kind::Right => (at.0, 0),
            Kind::Beside(error) => (beside, error),
            Kind::Anywhere(error) => (self.guesses.wrapping_mul(7_919) % (self.locations + 9), error),
            Kind::First(error) => (at.0, error),
        };
        Some(Guess { location: Location(location), error })
    }

    fn located(&mut self, page: LogicalPage, at: Location) {
        let known = &mut self.known[page.0 as usize];
        let keeps = matches!(self.kind, Kind::First(_)) && known.is_some();
        *known = if keeps { *known } else { Some(at) };
    }

    fn forget(&mut self) {
        self.known.fill(None);
    }
}

/// The small device with a cache of two map entries.
fn file() -> DeviceFile {
    let mut file = small();
    file.ftl.mapping.cache = Some(Bytes(16));
    file.ftl.over_provisioning = 0.4;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file
}

fn policies(kind: Kind, config: &Config) -> Policies {
    let size: CacheSize = config.map_cache().expect("the device has a map cache");
    let guesser = Probe {
        kind,
        known: vec![None; config.logical_pages as usize],
        guesses: 0,
        locations: config.pools.locations(),
        per_block: config.locations().per_block(),
    };
    let mapper: Box<dyn Mapper> = Box::new(Guessing::new(Dftl::new(&size), guesser));
    Policies { mapper, ..Policies::of(config) }
}

fn rig(kind: Option<Kind>) -> Rig {
    let config = file().check().unwrap_or_else(|wrong| panic!("{wrong}"));
    let policies = kind.map_or_else(|| Policies::of(&config.ftl), |kind| policies(kind, &config.ftl));
    Rig::of(Device::with(config, policies, Seed(1)), Calendar::new())
}

#[test]
fn reads_return_the_data_whatever_is_guessed() {
    for kind in
        [Kind::Right, Kind::Beside(0), Kind::Beside(3), Kind::Anywhere(0), Kind::Anywhere(15), Kind::First(9)]
    {
        contract::check_policies(&file(), |config| policies(kind, config));
    }
}

/// Overwrites the device and reads some of it. Returns the median latency of the reads, and their metrics.
fn reads(kind: Option<Kind>) -> (Duration, impl Fn(&str) -> Option<f64>) {
    let mut rig = rig(kind);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    rig.overwrite(2 * pages);
    rig.settle();
    let mark = rig.device.mark(rig.calendar_now());
    // Large steps, so that the two entries in memory are of no use.
    let mut latencies: Vec<Duration> =
        (0..100).map(|n| rig.alone(Operation::Read, false, n * 1_231 % pages * 8, 8)).collect();
    latencies.sort_unstable();
    rig.audit();
    let metrics = rig.device.metrics(&mark, rig.calendar_now());
    (latencies[50], move |name: &str| metrics.number(name))
}

/// Median latency, and counts: guesses, right, wrong, corrected and refused ones, reads of wrong locations, and
/// reads of translation pages.
fn costs(kind: Kind) -> (Duration, [f64; 7]) {
    let (median, found) = reads(Some(kind));
    let names = ["made", "right", "wrong", "corrected", "refused", "reads"];
    let names = names.map(|name| format!("map_guesses.{name}"));
    let [a, b, c, d, e, f] = names.map(|name| found(&name).expect("it counts"));
    (median, [a, b, c, d, e, f, found("flash.translation_reads").expect("it counts")])
}

#[test]
fn a_right_guess_costs_no_read_and_a_wrong_one_a_second_read() {
    let (looked_up, plain) = reads(None);
    let all = plain("flash.translation_reads").expect("it counts");
    assert_eq!(plain("map_guesses.made"), None, "a mapper that does not guess has no such metric");
    let (once, counts) = costs(Kind::Right);
    assert_eq!(counts, [all, all, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let read = looked_up - once;
    assert!(all > 60.0 && read > Duration::ZERO, "{all} reads of translation pages, {read}");
    let (corrected, [guesses, right, wrong, by_oob, refused, reads, tables]) = costs(Kind::Beside(1));
    assert_eq!([guesses, right, by_oob, reads, tables], [all, 0.0, wrong, wrong, refused]);
    assert!(wrong > all / 2.0, "{wrong} of {all}");
    assert_eq!(corrected, once + read, "the guess and the page");
    let (double, [guesses, right, wrong, by_oob, refused, reads, tables]) = costs(Kind::Beside(0));
    assert_eq!([guesses, right, by_oob, reads, tables], [all, 0.0, 0.0, wrong, wrong + refused]);
    // If two of them are on one die, the second command latch waits for tRHW = 100 ns in place of tCS = 20 ns.
    let turnarounds = (once + read + read).ps().abs_diff(double.ps());
    assert!(
        turnarounds == 0 || turnarounds == 80_000,
        "the guess, the translation page and the page: {double}"
    );
}

#[test]
fn a_mapper_that_never_guesses_changes_nothing() {
    struct Silent;
    state!(Silent {});
    impl Guesser for Silent {
        fn guess(&mut self, _: LogicalPage) -> Option<Guess> {
            None
        }
        fn located(&mut self, _: LogicalPage, _: Location) {}
        fn forget(&mut self) {}
    }
    let digest = |policies: &dyn Fn(&Config) -> Policies| {
        let config = file().check().unwrap_or_else(|wrong| panic!("{wrong}"));
        let policies = policies(&config.ftl);
        let mut rig = Rig::of(Device::with(config, policies, Seed(1)), Calendar::new());
        rig.overwrite(2_000);
        (rig.device.digest(), rig.calendar_now() - Instant::ZERO)
    };
    let silent = |config: &Config| {
        let size = config.map_cache().expect("the device has a map cache");
        Policies { mapper: Box::new(Guessing::new(Dftl::new(&size), Silent)), ..Policies::of(config) }
    };
    assert_eq!(digest(&silent), digest(&Policies::of));
}
