//! Tests `wordline doctor`.

use crate::wordline;

#[test]
fn the_program_says_what_it_is_and_what_is_missing() {
    let out = wordline(&["doctor", "--python", "no-such-python"]).success();
    for line in ["program", "cores", "speed", "memory"] {
        assert!(out.lines().any(|found| found.starts_with(line)), "{out}");
    }
    assert!(out.contains("No Python 3.11 or later is at no-such-python"), "{out}");
    let found = wordline(&["doctor", "--python", "no-such-python", "--json"]).json();
    assert!(found["requests_per_second"].as_f64().is_some_and(|speed| speed > 1000.0), "{found}");
    assert_eq!(found["python"], serde_json::Value::Null);
}
