//! The state of the device in a snapshot: the state of each part, side by side.

use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};

use super::OpenChannel;
use super::chunk_data::ChunkData;
use super::host::Host;
use super::media::Media;
use super::recovery::Recovery;

impl State for OpenChannel {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let Self { media, host, data, repairs, resets, recovery, digest } = self;
        let Media { config: _, flash, policies, counts, cut_programs } = media;
        let Host { commands, link, completions, notifications, has_completed: _ } = host;
        let ChunkData { chunks, buffers } = data;
        let Recovery { recovering, last } = recovery;
        to.value("chunks", chunks)?;
        to.value("commands", commands)?;
        to.value("buffers", buffers)?;
        to.value("resets", resets)?;
        to.value("completions", completions)?;
        to.value("notifications", notifications)?;
        to.value("counts", counts)?;
        to.value("cut_programs", cut_programs)?;
        to.value("recovering", recovering)?;
        to.value("recovery", last)?;
        to.value("digest", digest)?;
        to.part("flash", flash)?;
        to.part("policies", policies)?;
        to.part("link", link)?;
        to.part("repairs", repairs)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let Self { media, host, data, repairs, resets, recovery, digest } = self;
        let Media { config: _, flash, policies, counts, cut_programs } = media;
        let Host { commands, link, completions, notifications, has_completed: _ } = host;
        let ChunkData { chunks, buffers } = data;
        let Recovery { recovering, last } = recovery;
        *chunks = from.value("chunks")?;
        *commands = from.value("commands")?;
        *buffers = from.value("buffers")?;
        *resets = from.value("resets")?;
        *completions = from.value("completions")?;
        *notifications = from.value("notifications")?;
        *counts = from.value("counts")?;
        *cut_programs = from.value("cut_programs")?;
        *recovering = from.value("recovering")?;
        *last = from.value("recovery")?;
        *digest = from.value("digest")?;
        from.part("flash", flash)?;
        from.part("policies", policies)?;
        from.part("link", link)?;
        from.part("repairs", repairs)
    }
}
