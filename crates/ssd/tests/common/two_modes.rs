// Small devices with chips that have another mode than the native one, for tests of designs.

/// [`small`] with TLC chips that have an SLC mode, and three blocks of each plane group for streams in that
/// mode.
pub fn small_with_slc() -> DeviceFile {
    use wordline_nand::part::SlcTiming;

    use wordline_ftl::config::SlcCacheFile;
    let us = Duration::from_us;
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (3, true);
    file.part.geometry.pages_per_block = 24;
    file.part.timing.program = vec![us(900).into()];
    file.part.timing.slc = Some(SlcTiming { read: us(20), program: us(100), erase: us(1_000) });
    file.ftl.over_provisioning = 0.5;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 5);
    file.ftl.slc_cache = Some(SlcCacheFile { blocks: 3, ..SlcCacheFile::default() });
    file
}

/// [`small`] with TLC chips that have an MLC mode. Streams in that mode have two blocks of each plane group,
/// plus as many as there are spare ones. Power losses do not destroy pages that share a word line with
/// interrupted programs.
pub fn small_with_two_bits() -> DeviceFile {
    use wordline_ftl::config::TwoBitFile;
    use wordline_ftl::config::LowerPages;
    let us = Duration::from_us;
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (3, true);
    (file.part.geometry.pages_per_block, file.part.geometry.layers) = (24, 4);
    file.part.timing.program = vec![us(900).into()];
    file.part.timing.reprogram = Some(us(800));
    file.ftl.over_provisioning = 0.5;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 5);
    file.ftl.two_bit = Some(TwoBitFile { blocks: 2, spare: Some(1.0) });
    file.ftl.recovery.lower_pages = LowerPages::BackedUp;
    file
}
