//! Limit of a stall, progress of the oldest command, and a report of the pending work of an SSD.

use std::fmt::{self, Write};

use wordline_device::block_device::OldestCommand;
use wordline_ftl::Ftl;
use wordline_kernel::{Duration, Instant};
use wordline_nand::{DieId, Pool};

use crate::config::Config;
use crate::engines::Core;
use crate::front::{Front, Request};
use crate::writer::Writer;

/// Longest legitimate time without progress of a command, at least ten minutes. It is the longer of two
/// times. In the first, a die relocates all its pages and erases all its blocks. In the second, a single
/// die writes the whole buffer. Between any two of these operations the die performs as many reads as the
/// scheduling allows. Chosen: no command waits for more work of one die, and hosts abort a command after
/// half a minute.
pub(crate) fn stall_limit(config: &Config) -> Duration {
    let passing = u64::from(config.file.ftl.scheduling.reads_in_a_row) + 1;
    let of_pool = |pool: &Pool| {
        let Pool { part, geometry, locations, .. } = pool;
        let read = part.read_times().iter().copied().max().unwrap_or(Duration::ZERO);
        let reads = u128::from(read.ps()) * u128::from(passing);
        let step = u128::from(part.worst_program_time().ps()) + reads;
        let rows = u64::from(geometry.rows() / geometry.dies().max(1));
        let blocks = u128::from(geometry.blocks_per_plane) * u128::from(rows);
        let units = u128::from(locations.per_block() / locations.per_program) * blocks;
        let buffer = u128::from(config.buffer_pages / locations.per_program);
        let erase = u128::from(part.timing.erase.ps()) + reads;
        (step * units + erase * blocks).max(step * buffer)
    };
    let longest = config.ftl.pools.iter().map(of_pool).max().unwrap_or(0);
    Duration::from_ps(u64::try_from(longest).unwrap_or(u64::MAX)).max(Duration::from_ms(600_000))
}

/// Most lines of each kind in a report. Chosen: a few are enough to see a hang, and a device may have a
/// thousand dies.
const LINES: usize = 16;

/// Progress of the command that was submitted first. Commands in progress count before queued ones.
pub(crate) fn oldest_command(front: &Front) -> Option<OldestCommand> {
    front.oldest().map(|Request { submitted, command, parts, next_page, .. }| OldestCommand {
        submitted: *submitted,
        tag: command.tag,
        done: u64::from(*parts) << 32 | u64::from(*next_page),
    })
}

/// Text with the pending work of each engine of an SSD, and what it waits for.
pub(crate) fn describe_outstanding(core: &Core, writer: &Writer, front: &Front, now: Instant) -> String {
    let mut text = String::new();
    describe(core, writer, front, now, &mut text).expect("a text takes everything");
    text
}

fn describe(core: &Core, writer: &Writer, front: &Front, now: Instant, out: &mut String) -> fmt::Result {
    let Core { config, ftl, cache, .. } = core;
    let Ftl { tables, gc, .. } = ftl;
    front.describe(now, LINES, |id| cache.waiting().is_stalled(id), out)?;
    out.push_str(&cache.describe(config));
    writer.describe(LINES, out)?;
    out.push_str(&tables.describe());
    describe_dies(ftl, now, LINES, out)?;
    let pools = ftl.config.pools.iter();
    pools.flat_map(|pool| pool.geometry.all_groups().take(LINES)).try_for_each(|row| {
        writeln!(
            out,
            "{}; {}; {}",
            ftl.blocks.space().describe(row),
            writer.rows().describe(row),
            gc.describe(row)
        )
    })
}

/// Writes the tasks queued for the dies. `dies` limits the number of dies.
fn describe_dies(ftl: &Ftl, now: Instant, dies: usize, out: &mut String) -> fmt::Result {
    let state = if ftl.health.read_only { "read-only" } else { "takes writes" };
    writeln!(out, "the device {state}")?;
    let busy = |die: &DieId| !ftl.flash.is_idle(*die);
    ftl.config.pools.all_dies().filter(busy).take(dies).try_for_each(|die| describe_die(ftl, die, now, out))
}

fn describe_die(ftl: &Ftl, die: DieId, now: Instant, out: &mut String) -> fmt::Result {
    let state = if ftl.flash.chips().is_idle(die) { "idle" } else { "busy" };
    writeln!(out, "die {}: {state}", die.0)?;
    for (class, number, first) in ftl.flash.waiting(die) {
        let block = ftl.config.pools.block_of_page(first.page);
        writeln!(
            out,
            "  {class}: {number}, the first is a {:?} ({:?}) of block {} ({:?}, {} valid, {} readers), {} old",
            first.operation,
            first.ticket,
            block.0,
            ftl.blocks.table().state(block),
            ftl.blocks.table().valid(block),
            ftl.blocks.table().readers(block),
            now - first.queued(),
        )?;
    }
    Ok(())
}
