//! Write amplification of block-level mapping; `docs/VALIDATION.md` has the derivation.

use crate::sweep::Point;
use wordline_lab::error::{Error, Result};

/// Write amplification of uniform random writes of single pages. `logical` logical blocks of `pages` pages
/// share a plane group with `most` log blocks.
///
/// The next write to a logical block finds a log block of it with probability `s = most / logical`, corrected
/// for full log blocks. The write comes after the last written page of the log block with probability `(pages
/// - 1) / (2 pages)`. Any other write begins a new block, and all pages of the block are programmed. The
/// result is `pages - s (pages
/// - 1) / 2`.
pub fn uniform_writes(most: u32, logical: f64, pages: u32) -> f64 {
    let pages = f64::from(pages);
    let others = f64::from(most.saturating_sub(1)) * pages / (pages - 1.0).max(1.0);
    let share = (1.0 + others).min(logical) / logical;
    pages - share * (pages - 1.0) / 2.0
}

/// Page programs per write that [`uniform_writes`] predicts for the device of a run.
pub(crate) fn amplification(point: &Point) -> Result<f64> {
    let config = point.config();
    let Some(map) = config.file.ftl.mapping.block else {
        return Err(Error::Argument {
            what: "model block-map-writes".into(),
            found: "a map by pages".into(),
            wanted: "ftl.mapping.block".into(),
        });
    };
    let logical = f64::from(config.ftl.logical_blocks()) / f64::from(config.ftl.pools.rows());
    Ok(uniform_writes(map.replacements, logical, config.ftl.locations().per_block()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::tests::close;

    #[test]
    fn a_write_costs_a_block_where_no_two_meet_and_less_where_they_do() {
        close(uniform_writes(1, 1e9, 64), 64.0, 1e-6);
        // One logical block of two pages. In a quarter of the pairs of writes, the second page follows the
        // first one.
        close(uniform_writes(1, 1.0, 2), 2.0 * 0.75, 1e-12);
        close(uniform_writes(9, 3.0, 100), 50.5, 1e-12);
    }
}
