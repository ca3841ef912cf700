//! Completion of commands: after a buffer access, or when the data are in flash.

use wordline_device::Command;
use wordline_flash::RequestId;
use wordline_kernel::Schedule;

use crate::base::Base;
use crate::config::BufferMode;
use crate::contents::InjectedFault;
use crate::event::Event;

/// Completes a command without flash work, after the time of a buffer access.
pub(super) fn complete_soon(id: RequestId, base: &Base, calendar: &mut impl Schedule<Event>) {
    calendar.after(base.config.file.buffer.access_time, Event::Completion(id));
}

/// Whether a write completes only when its data are in flash.
pub(super) fn is_durable(command: &Command, base: &Base) -> bool {
    (command.fua && !base.config.file.buffer.is_protected() && !base.has(InjectedFault::FuaIgnored))
        || base.config.file.buffer.mode != BufferMode::WriteBack
}
