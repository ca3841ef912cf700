//! `wordline why`: the table, the JSON, and what it refuses.

use crate::wordline;

const FEW: [&str; 7] = ["why", "--preset", "tiny", "--workload", "randread-4k", "--requests", "300"];

#[test]
fn it_names_the_bound_of_a_run_and_what_each_change_brings() {
    let one_at_a_time = [&FEW[..], &["--queue-depth", "1", "--set", "layout.channels=16"]].concat();
    let table = wordline(&one_at_a_time).success();
    for wanted in ["sensing (tR)", "host, twice", "Bound by", "The run alone says", "1 request outstanding"] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    let answer = wordline(&[&one_at_a_time[..], &["--json"]].concat()).json();
    assert_eq!((answer["bound"].as_str(), answer["queue_depth"].as_u64()), (Some("host"), Some(1)));
    let effects = answer["effects"].as_array().expect("a list");
    let link = effects.iter().find(|effect| effect["cause"] == "link").expect("one of the causes");
    assert!(link["elasticity"].is_null(), "{link}");
    assert_eq!(link["unknown"], "the device has no link to the host");
    let tr = effects.iter().find(|effect| effect["cause"] == "read_time").expect("one of the causes");
    assert!(tr["elasticity"]["value"].as_f64().is_some_and(|value| value > 0.1 && value < 1.0), "{tr}");
}

#[test]
fn its_runs_have_as_many_requests_as_it_says_and_no_end_of_their_own() {
    let refusal = wordline(&[&FEW[..], &["--until", "iops:5%"]].concat()).refusal();
    assert!(refusal.contains("--until: found iops, wanted none"), "{refusal}");
    let refusal = wordline(&["why", "--preset", "tiny", "--trace", "-"]).refusal();
    assert!(refusal.contains("read once"), "{refusal}");
}
