//! Shows the scrubbed bytes, and the effect on the host, for several targets.

use session::scrub;
use wordline_kernel::Duration;
use wordline_lab::{Device, Error};

fn main() -> Result<(), Error> {
    let device = Device::preset("tiny-tlc")?;
    for us in [0, 95, 200, 500, 2_000] {
        let target = (us > 0).then_some(Duration::from_us(us));
        let outcome = scrub(&device, 20_000, target, 1)?;
        let scrubbed = outcome.scrubbed.0 as f64 / 1e6 / outcome.summary.simulated_seconds;
        println!(
            "target {us} us: {scrubbed:.1} MB/s scrubbed, {:.1} % of the host's reads are slower",
            100.0 * outcome.slow
        );
    }
    Ok(())
}
