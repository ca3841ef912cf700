// Small chips with an FTL, for tests inside and outside of the crate.

include!("../../../nand/tests/common/small.rs");

/// Back end of 12 MiB, with small chips.
pub fn small() -> BackEndFile {
    let (part, layout) = small_chips();
    let ftl = FtlFile { over_provisioning: 0.25, ..FtlFile::default() };
    BackEndFile { ftl, ..BackEndFile::new(part, layout) }
}
