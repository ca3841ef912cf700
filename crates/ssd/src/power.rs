//! Power cuts, and the recovery after them: the [`Recovery`] of the FTL, with the buffer and the writer above it.

use wordline_ftl::recovery::Recovery;
use wordline_kernel::Instant;
use wordline_nand::CutLosses;

use crate::engines::Core;
use crate::writer::Writer;

/// Cuts the power at `now`. Operations in progress are interrupted, and all state outside of the flash is lost,
/// except a protected buffer.
pub(crate) fn cut(now: Instant, recovery: &mut Recovery, core: &mut Core, writer: &mut Writer) -> CutLosses {
    let torn = recovery.cut_power(now, &mut core.ftl, |row| writer.rows().group(row).count_pages());
    if core.ftl.config.file.keeps_memory {
        core.cache.save_buffer();
    }
    recovery.forget(now, &mut core.ftl);
    core.cache.forget(&core.config);
    writer.forget();
    torn
}

/// Rebuilds the tables when power returns at `now`, and begins the scan of the pages.
pub(crate) fn restore(now: Instant, recovery: &mut Recovery, core: &mut Core, writer: &mut Writer) {
    let mut found = recovery.rebuild_map(&mut core.ftl);
    found.lost -= core.cache.restore_buffer(&mut core.ftl.map, &core.ftl.flash);
    for die in recovery.rebuild_tables(&found, &mut core.ftl) {
        writer.lose_die(die, core);
        core.ftl.check_end_of_life();
    }
    recovery.begin_scan(&found, &mut core.ftl, now);
}

/// Checks that the map of a loaded state matches the host's writes. There is no check between a power cut and
/// the return of power, when the map is unknown.
pub(crate) fn check_versions(recovery: &Recovery, core: &Core) -> Result<(), String> {
    if recovery.is_without_map() {
        return Ok(());
    }
    let ftl = &core.ftl;
    ftl.map_cache.check_versions(&ftl.map, &ftl.flash)?;
    core.cache.check_versions(ftl.config.logical_pages, &ftl.map, &ftl.flash)
}
