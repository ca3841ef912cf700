//! Do recorded volumes have the bursts of the profiles? Compares extracts that were not used for fitting.

use wordline_kernel::Seed;
use wordline_trace::Request;
use wordline_trace::workload::{Bursts, Profile};

use super::statistics::normalized;

/// Lengths of bursts. A request belongs to a burst if it comes less than a millisecond after the previous
/// one.
struct Lengths {
    mean: f64,
    /// The 90th and the 99th percentile.
    percentiles: [u64; 2],
}

impl Lengths {
    fn of(requests: &[Request]) -> Self {
        let mut all = vec![1];
        for two in requests.windows(2) {
            if two[1].arrival.since(two[0].arrival).seconds() < 1e-3 {
                *all.last_mut().expect("there is one") += 1;
            } else {
                all.push(1);
            }
        }
        all.sort_unstable();
        let percentiles = [90, 99].map(|percent| all[all.len() * percent / 100]);
        Self { mean: requests.len() as f64 / all.len() as f64, percentiles }
    }

    fn is(&self, mean: f64, percentiles: [u64; 2]) -> bool {
        (self.mean / mean - 1.0).abs() < 0.005 && self.percentiles == percentiles
    }
}

#[test]
fn bursts_of_recorded_volumes_are_those_that_docs_profiles_states() {
    for (name, mean, percentiles) in [
        ("rsrch_1", 4.49, [8, 41]),
        ("msr.cut.rw_40_60.1370", 5.00, [13, 29]),
        ("hm_0.window1000", 3.79, [9, 33]),
        ("wdev_1", 2.10, [3, 4]),
        ("wdev_3", 1.91, [3, 3]),
        ("prxy_0.first20000", 1.29, [1, 5]),
        ("msr.cut.most_thpt_rand_iops.1006", 28.82, [87, 96]),
    ] {
        let Some(requests) = normalized(name) else { return };
        let found = Lengths::of(&requests);
        assert!(found.is(mean, percentiles), "{name}: {} {:?}", found.mean, found.percentiles);
    }
}

#[test]
fn bursts_of_a_profile_are_those_of_the_recording_they_were_fitted_on() {
    let mut profile = Profile::named("ft-passd/hm_0").expect("it is there").as_extract();
    profile.bursts = Some(Bursts::named("rsrch_1").expect("they were fitted"));
    let requests: Vec<Request> = profile.generator(Seed(1), 0.1).collect();
    let Lengths { mean, percentiles: [most, nearly_all] } = Lengths::of(&requests);
    assert!((mean / 4.49 - 1.0).abs() < 0.03, "{mean}");
    assert!((7..=9).contains(&most) && (37..=53).contains(&nearly_all), "{most} {nearly_all}");
}
