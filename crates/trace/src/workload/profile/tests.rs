//! Does every profile have the statistics that its paper publishes?

use wordline_kernel::Digest;

use super::*;
use crate::{Op, Request};

const SEED: Seed = Seed(1);

/// A scale that gives at most this many requests, so that a test takes seconds.
fn scale(profile: &Profile, requests: u64) -> f64 {
    let all = profile.generator(SEED, 1.0).size_hint().0;
    (requests as f64 / all as f64).min(1.0)
}

fn scales_with_requests(statistic: Statistic) -> bool {
    statistic.fits(Unit::Million)
        || statistic.fits(Unit::GiB)
            && !matches!(statistic, Statistic::MeanReadSize | Statistic::MeanWriteSize)
}

fn check(profile: &Profile, scale: f64) -> Statistics {
    let stats = Statistics::of(profile.generator(SEED, scale));
    for claim in profile.claims() {
        let grown = if scales_with_requests(claim.statistic) { 1.0 / scale } else { 1.0 };
        let ours = claim.ours(&stats) * grown;
        let contradicted = claim.contradiction.is_some();
        let (name, what, paper) = (&profile.name, claim.statistic.name(), claim.paper);
        assert!(
            claim.met(ours) != contradicted,
            "{name}, {what}: ours {ours}, paper {paper}, contradicted {contradicted}"
        );
    }
    stats
}

#[test]
fn every_profile_meets_every_published_statistic_within_two_percent() {
    for name in Profile::names() {
        let profile = Profile::named(&name).expect("the name is from the list");
        check(&profile, scale(&profile, 700_000));
    }
}

#[test]
fn a_profile_meets_its_statistics_at_full_size() {
    for name in ["centaur/stg_1", "centaur/hm_1", "ressd/hm_0", "nandflashsim/web"] {
        check(&Profile::named(name).expect("the profile exists"), 1.0);
    }
}

/// ReSSD, figure 10 and section 5: 73.9% of the updates are in 20% of the written addresses, as a mean over
/// the volumes.
#[test]
fn the_hottest_fifth_has_the_published_share_of_updates_on_average() {
    let names: Vec<_> = Profile::names().into_iter().filter(|name| name.starts_with("ressd/")).collect();
    let share = |name: &String| {
        let profile = Profile::named(name).expect("the name is from the list");
        Statistics::of(profile.generator(SEED, 1.0)).hottest_fifth
    };
    let shares: Vec<f64> = names.iter().map(share).collect();
    let mean = shares.iter().sum::<f64>() / names.len() as f64;
    assert!((mean / 0.739 - 1.0).abs() <= BAND, "{mean} {shares:?}");
}

#[test]
fn the_tables_are_complete() {
    let count = |paper: &str| Profile::names().iter().filter(|name| name.starts_with(paper)).count();
    assert_eq!(["centaur/", "ressd/", "ft-passd/", "nandflashsim/"].map(count), [12, 15, 8, 14]);
}

#[test]
fn every_published_number_has_a_unit_that_fits() {
    for (paper, text) in FILES {
        let file = file(text);
        assert!(file.units.iter().all(|(statistic, unit)| statistic.fits(*unit)), "{paper}");
        for (name, volume) in &file.volume {
            assert!(volume.published.keys().all(|statistic| file.units.contains_key(statistic)), "{name}");
        }
    }
}

/// The two tables describe the same recording.
#[test]
fn the_requests_of_a_recording_are_those_of_another_table() {
    let mut compared = 0;
    for name in Profile::names().iter().filter(|name| name.starts_with("ressd/")) {
        let profile = Profile::named(name).expect("it is there");
        let recorded = profile.chosen.recorded_requests.expect("they are known") as f64;
        let (reads, writes) = profile.counts();
        assert!(reads + writes < recorded, "{name} is an extract");
        let Ok(other) = Profile::named(&format!("centaur/{}", profile.volume())) else { continue };
        let (reads, writes) = other.counts();
        assert!((recorded / (reads + writes) - 1.0).abs() < 0.005, "{name}: {recorded}, {reads} + {writes}");
        compared += 1;
    }
    assert_eq!(compared, 6);
}

#[test]
fn the_recordings_of_ft_passds_volumes_are_those_of_the_other_tables() {
    for name in Profile::names().iter().filter(|name| name.starts_with("ft-passd/")) {
        let profile = Profile::named(name).expect("it is there");
        let recorded = profile.chosen.recorded_requests.expect("they are known");
        let other = |paper: &str| Profile::named(&format!("{paper}/{}", profile.volume()));
        if let Ok(other) = other("ressd") {
            assert_eq!(other.chosen.recorded_requests, Some(recorded), "{name}");
            continue;
        }
        let (reads, writes) = other("centaur").expect("the tables have all volumes").counts();
        assert!(
            (recorded as f64 / (reads + writes) - 1.0).abs() < 1e-6,
            "{name}: {recorded}, {reads} + {writes}"
        );
    }
}

#[test]
fn bursts_keep_the_rate_and_the_counts_and_have_their_lengths_and_runs() {
    let mut profile = Profile::named("ft-passd/hm_0").expect("it is there").as_extract();
    let plain: Vec<Request> = profile.generator(SEED, 0.05).collect();
    profile.bursts = Some(Bursts::named("rsrch_1").expect("they were fitted"));
    let bursts = profile.bursts.expect("they were set");
    let all: Vec<Request> = profile.generator(SEED, 0.05).collect();
    let writes = |all: &[Request]| all.iter().filter(|request| request.op == Op::Write).count();
    assert_eq!((all.len(), writes(&all)), (plain.len(), writes(&plain)));
    let gaps: Vec<f64> = all.windows(2).map(|two| two[1].arrival.since(two[0].arrival).seconds()).collect();
    let [last, of_plain] = [&all, &plain].map(|all| all.last().expect("there are some").arrival.ps() as f64);
    assert!((0.94..1.06).contains(&(last / of_plain)), "the same rate: {last}, {of_plain}");
    let pauses: Vec<f64> = gaps.iter().copied().filter(|gap| *gap >= 1e-3).collect();
    let length = all.len() as f64 / (pauses.len() + 1) as f64;
    assert!((0.97..1.03).contains(&(length / bursts.length())), "{length}, {}", bursts.length());
    let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
    let squared = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / pauses.len() as f64;
    let deviation = squared.sqrt() / mean;
    assert!((0.95..1.05).contains(&(deviation / bursts.pauses)), "{deviation}");
    let share = writes(&all) as f64 / all.len() as f64;
    let same = all.windows(2).filter(|two| two[0].op == two[1].op).count() as f64 / gaps.len() as f64;
    let kept = 1.0 - (1.0 - same) / (2.0 * share * (1.0 - share));
    assert!((kept - bursts.kept).abs() < 0.02, "{kept}");
    assert!(Bursts::named("rsrch_2").is_err());
}

#[test]
fn equal_seeds_give_equal_requests_and_others_do_not() {
    let profile = Profile::named("ressd/hm_0").expect("the profile exists");
    let digest = |seed| {
        let mut digest = Digest::default();
        for request in profile.generator(Seed(seed), 0.01) {
            digest.add(request.offset.0);
            digest.add(request.arrival.ps());
        }
        digest.value()
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn requests_stay_within_the_span_and_arrive_in_order() {
    let profile = Profile::named("centaur/src1_2").expect("the profile exists");
    let generator = profile.generator(SEED, 0.05);
    let span = generator.span().0;
    let mut before = wordline_kernel::Instant::ZERO;
    for request in generator {
        assert!(request.offset.0 + request.size.0 <= span && request.arrival >= before);
        before = request.arrival;
    }
}
