//! Items that the device types of hosts over an open-channel SSD have in common.

/// The items of a [`DeviceType`](super::DeviceType) whose field 0 is the checked configuration of a host, with
/// these keys and this device. The open-channel SSD below is its field `device`.
macro_rules! over_open_channel {
    ($file:ty, $device:ty) => {
        /// The table with the keys of the open-channel SSD.
        const SSDS: &'static [&'static str] = &["open_channel"];

        type File = $file;
        type Device = $device;

        fn check(file: $file, _: &wordline_designs::Designs) -> Result<Self, wordline_kernel::Complaints> {
            file.check().map(Self)
        }

        fn file(&self) -> $file {
            self.0.file.clone()
        }

        fn shape(&self) -> wordline_device::block_device::Shape {
            self.0.shape()
        }

        fn build(&self, seed: wordline_kernel::Seed) -> $device {
            self.0.build(seed)
        }

        fn chips(&self) -> Vec<$crate::devices::ChipsInfo> {
            vec![$crate::devices::ChipsInfo::of(self.0.device.pools.first())]
        }
    };
}

pub(super) use over_open_channel;
