//! A device with the smallest over-provisioning that the configuration check accepts must accept writes.

use proptest::prelude::*;
use wordline_device::{BlockDevice, Operation};
use wordline_ssd::DeviceFile;

use crate::common::Rig;
use crate::common::devices::{block_mapped, device, tight};
use crate::common::failing::faults;

/// Checks that a new device is not read-only, has space for all its pages, and accepts one more write of
/// each.
fn lives(file: DeviceFile) {
    let mut rig = Rig::new(file, 1);
    assert!(!rig.device.is_read_only(), "read-only from birth");
    rig.device.fill(1.0);
    rig.overwrite(u64::from(rig.device.config().ftl.logical_pages.min(400)));
    assert!(rig.completions.iter().all(|(_, completion)| !completion.failed) && !rig.device.is_read_only());
    rig.alone(Operation::Read, false, 0, rig.device.config().ftl.unit.0 / 512);
}

proptest! {
    #[test]
    fn a_device_that_is_accepted_is_not_read_only_from_birth(file in device()) {
        lives(tight(&file));
    }

    #[test]
    fn a_device_with_a_block_map_that_is_accepted_is_not_read_only_from_birth(file in block_mapped()) {
        lives(tight(&file));
    }

    #[test]
    fn a_device_with_bad_blocks_that_is_accepted_is_not_read_only_from_birth(
        file in device(),
        faults in faults(1..4),
    ) {
        let file = faults.strike(file)?;
        prop_assert!(!Rig::new(tight(&file), 1).device.is_read_only());
    }
}
