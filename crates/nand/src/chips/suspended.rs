//! A suspended program or erase.

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

use super::command::{Command, Operation};
use crate::geometry::PageId;
use crate::{Pools, Stage};

/// A program or erase that is being suspended, is suspended, or waits for the bus to resume.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Suspended {
    pub(super) stage: Stage,
    /// Remaining array time.
    pub(super) left: Duration,
    /// Whether the operation is parked; the fields below are valid only then.
    pub(super) parked: bool,
    pub(super) command: Command,
    pub(super) serial: u32,
    pub(super) suspends: u32,
    pub(super) bus: Duration,
    pub(super) bus_wait: Duration,
    pub(super) array: Duration,
}

impl Suspended {
    /// Whether the operation is parked, so that the die can execute other commands.
    pub(super) fn is_parked(&self) -> bool {
        self.parked
    }

    /// Parks the operation, or takes it up again.
    pub(super) fn set_parked(&mut self, parked: bool) {
        self.parked = parked;
    }

    /// First page of its program, or a page of the block that it erases.
    pub(super) fn page(&self) -> PageId {
        match self.command.operation {
            Operation::Copyback { to } => to,
            _ => self.command.page,
        }
    }

    /// Whether a command does not touch the cells of the suspended operation: a read, or a program of another
    /// block.
    pub(super) fn leaves(&self, pools: &Pools, command: &Command) -> bool {
        command.operation == Operation::Read
            || pools.block_of_page(command.page) != pools.block_of_page(self.page())
    }
}
