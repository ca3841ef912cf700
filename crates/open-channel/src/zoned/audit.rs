//! Invariants of zones, and the check of a loaded state.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::ChunkState;
use wordline_kernel::ensure::ensure;

use super::Zoned;
use super::in_flight::Work;
use super::table::ZoneId;
use super::zone_data::{Job, ZoneData};
use wordline_device::ZoneState;

/// Maximum number of zones listed in a report.
const LINES: usize = 16;

impl<D: PhysicalDevice> Zoned<D> {
    /// Checks that zones, work in flight and the chunks below agree with each other.
    pub(super) fn check_zones(&self) -> Result<(), String> {
        self.zones.table.check()?;
        self.check_parts()?;
        for zone in self.zones.table.ids() {
            let is_sound = self.zones.bodies[zone].is_sound(&self.zones.config.layout);
            ensure(is_sound, || format!("zone {} has an impossible state", zone.0))?;
            if self.accepts_commands() {
                self.check_zone(zone)?;
            }
        }
        Ok(())
    }

    /// Checks that everything that waits has existing work to wait for.
    fn check_parts(&self) -> Result<(), String> {
        let zones = self.zones.table.len();
        let is_zone = |zone: ZoneId| (zone.0 as usize) < zones;
        let mut of_zones: BTreeMap<ZoneId, [u32; 3]> = BTreeMap::new();
        for work in self.below.sent.values() {
            let zone = work.zone();
            ensure(zone.is_none_or(is_zone), || "a command about a zone that does not exist".into())?;
            let there = match work {
                Work::Write { piece, .. } => {
                    piece.is_none_or(|piece| self.zones.pieces.find(piece).is_some())
                }
                Work::Read { command, places, .. } => self
                    .host
                    .commands
                    .find(*command)
                    .is_some_and(|command| places.iter().all(|at| (*at as usize) < command.found.len())),
                Work::Flush { command, .. } => self.host.commands.find(*command).is_some(),
                Work::Reset { .. } | Work::Close { .. } => true,
            };
            ensure(there, || "a command for something that does not exist".into())?;
            if let Some(zone) = zone {
                let kind = match work {
                    Work::Write { .. } => 0,
                    Work::Read { .. } => 1,
                    _ => 2,
                };
                of_zones.entry(zone).or_default()[kind] += 1;
            }
        }
        let (mut pieces, mut jobs) = (0, true);
        for (zone, body) in self.zones.bodies.entries() {
            let found = of_zones.get(&zone).copied().unwrap_or_default();
            let known = [body.writes, body.reads, u32::from(body.is_at_work)];
            ensure(found == known, || format!("zone {} counts other commands than are in progress", zone.0))?;
            pieces += body.pieces.len();
            jobs &= self.has_sound_jobs(zone, body);
        }
        let is_listed = pieces == self.zones.pieces.len()
            && self.zones.pieces.values().all(|piece| {
                let body = is_zone(piece.zone).then(|| &self.zones.bodies[piece.zone]);
                self.host.commands.find(piece.command).is_some() && body.is_some()
            });
        ensure(jobs && is_listed, || "sub-requests or jobs without a command or zone".into())
    }

    fn has_sound_jobs(&self, zone: ZoneId, body: &ZoneData) -> bool {
        let is_there = |command: u32| self.host.commands.find(command).is_some();
        let is_piece = |piece: &u32| self.zones.pieces.find(*piece).is_some_and(|piece| piece.zone == zone);
        body.pieces.iter().all(is_piece)
            && body.jobs.iter().all(|job| match job {
                // The firmware may end the command of a reset while its erases are in progress.
                Job::Reset(_) if self.zones.config.resets.is_some() && body.is_at_work => true,
                Job::Reset(asked) => asked.is_none_or(|(command, _)| is_there(command)),
                Job::Close(asked) => asked.is_none_or(is_there),
                Job::Write(piece, _) => is_piece(piece),
            })
    }

    /// Checks that a zone agrees with its chunks.
    fn check_zone(&self, zone: ZoneId) -> Result<(), String> {
        let (entry, body) = (self.zones.table.get(zone), &self.zones.bodies[zone]);
        let layout = &self.zones.config.layout;
        let wrong = |what: &str| format!("zone {} is {:?}: {what}", zone.0, entry.state);
        if body.has_pending_reset() {
            return Ok(());
        }
        let is_counted = entry.state == ZoneState::Offline || entry.next == body.taken;
        ensure(is_counted, || wrong("its write pointer differs from the accepted blocks"))?;
        if !entry.state.is_active() {
            return Ok(());
        }
        ensure(body.fits(layout), || wrong("its capacity no longer fits"))?;
        let handed = body.runs.position(body.blocks_sent());
        for (member, chunk) in (0..).zip(layout.chunks(zone)) {
            let report = self.below.device.report(chunk);
            let is_written = report.write_pointer == layout.below(member, handed);
            let goes_on = match report.state {
                ChunkState::Free | ChunkState::Open => true,
                ChunkState::Closed => report.write_pointer == layout.blocks_per_chunk,
                ChunkState::Offline => false,
            };
            ensure(is_written && goes_on, || {
                wrong(&format!("{chunk} is {report:?}, handed out to {handed}"))
            })?;
        }
        Ok(())
    }

    /// Writes a report of waiting zones and commands.
    pub(super) fn describe(&self, out: &mut String) -> fmt::Result {
        let at_work: Vec<(ZoneId, &ZoneData)> = self
            .zones
            .bodies
            .entries()
            .filter(|(_, body)| !body.jobs.is_empty() || body.writes > 0)
            .collect();
        writeln!(out, "{} commands to zones; {} zones are busy", self.host.commands.len(), at_work.len())?;
        for (zone, body) in at_work.into_iter().take(LINES) {
            let (writes, reads, jobs) = (body.writes, body.reads, body.jobs.len());
            writeln!(out, "zone {}: {writes} writes, {reads} reads, and {jobs} to be done", zone.0)?;
        }
        Ok(())
    }
}
