//! The state of the device in a snapshot: the state of each part, side by side.

use super::OpenChannel;
use super::chunk_data::ChunkData;
use super::host::Host;
use super::media::Media;
use super::recovery::Recovery;

wordline_kernel::state!(OpenChannel of {
    Self { media, host, data, repairs, resets, recovery, digest },
    Media { config: _, flash, policies, counts, cut_programs } = media,
    Host { commands, link, completions, notifications, has_completed: _ } = host,
    ChunkData { chunks, buffers } = data,
    Recovery { recovering, last: recovery } = recovery,
} {
    values {
        chunks, commands, buffers, resets, completions, notifications, counts, cut_programs, recovering, recovery,
        digest,
    }
    parts { flash, policies, link, repairs }
});
