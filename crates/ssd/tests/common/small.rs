// Small device, for tests inside and outside of the crate.

include!("../../../nand/tests/common/small.rs");

/// Device of 12 MiB, with small chips.
pub fn small() -> DeviceFile {
    let (part, layout) = small_chips();
    let buffer = BufferFile { size: Bytes::kib(64), ..BufferFile::default() };
    let ftl = FtlFile { over_provisioning: 0.25, ..FtlFile::default() };
    DeviceFile { capacity: None, dram: None, part, layout, pools: Vec::new(), front: FrontFile::default(), buffer, ftl, namespaces: Vec::new(), faults: Vec::new(), demands: None }
}
