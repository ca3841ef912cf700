//! The scrubber uses the bandwidth that the host leaves: with a higher target latency it reads more.

use session::scrub;
use wordline_kernel::{Bytes, Duration};
use wordline_lab::Device;

#[test]
fn a_scrubber_reads_the_more_the_slower_the_host_may_be() {
    let device = Device::preset("tiny-tlc").expect("a preset");
    // A read alone takes 91 us. A read after a whole read of the scrubber takes some 650 us.
    let [alone, strict, lax] = [None, Some(95), Some(2_000)]
        .map(|target| scrub(&device, 3_000, target.map(Duration::from_us), 1).expect("it runs"));
    assert_eq!((alone.scrubbed, alone.summary.host.reads), (Bytes(0), 3_000));
    assert!(
        strict.scrubbed.0 > 0 && lax.scrubbed.0 > 2 * strict.scrubbed.0,
        "{} {}",
        strict.scrubbed,
        lax.scrubbed
    );
    let mean = |outcome: &session::Outcome| outcome.summary.host.read_latency_us.mean;
    assert!(mean(&alone) < mean(&strict) && mean(&strict) < mean(&lax));
    assert!(lax.slow < 0.1, "{}", lax.slow);
}

#[test]
fn what_a_host_decides_is_repeated_with_its_seed() {
    let device = Device::preset("tiny-tlc").expect("a preset");
    let digest =
        |seed| scrub(&device, 1_000, Some(Duration::from_us(100)), seed).expect("it runs").summary.digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}
