//! Completion of commands: after a buffer access, or when the data are in flash.

use wordline_device::Command;
use wordline_flash::RequestId;
use wordline_ftl::contents::InjectedFault;
use wordline_kernel::Schedule;

use crate::config::{BufferMode, Config};
use crate::engines::Core;
use crate::event::Event;

/// Completes a command without flash work, after the time of a buffer access.
pub(super) fn complete_soon(id: RequestId, config: &Config, calendar: &mut impl Schedule<Event>) {
    calendar.after(config.file.buffer.access_time, Event::Completion(id));
}

/// Whether a write completes only when its data are in flash.
pub(super) fn is_durable(command: &Command, core: &Core) -> bool {
    let Core { config, ftl, .. } = core;
    let buffer = &config.file.buffer;
    (command.fua && !buffer.is_protected() && !InjectedFault::FuaIgnored.is_enabled(ftl.contents.as_deref()))
        || buffer.mode != BufferMode::WriteBack
}
