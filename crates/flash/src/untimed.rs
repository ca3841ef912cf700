//! Commands that take no time, while the clock of the flash is stopped for ageing or
//! preconditioning. Such a command changes its pages when it is taken from the queue of its die, and is
//! reported like any other. It causes no wear and never fails, and the chips do not count it.

use std::collections::VecDeque;

use wordline_kernel::Duration;
use wordline_nand::{Command, CommandCompletion, DieId, Location, Operation};

use super::Flash;

/// State of the flash while the clock is stopped.
#[derive(Debug, Default)]
pub(super) struct Untimed {
    /// Commands that have ended and were not reported, in order of execution.
    over: VecDeque<CommandCompletion>,
}

impl Flash {
    /// Stops the clock: commands take no time from now on. Every die must be idle.
    pub fn stop_clock(&mut self) {
        assert!(self.chips.pools().all_dies().all(|die| self.is_idle(die)), "a die is at work");
        self.at_once = Some(Box::default());
    }

    /// Whether the clock is stopped, so that commands take no time.
    #[inline]
    pub fn is_clock_stopped(&self) -> bool {
        self.at_once.is_some()
    }

    /// Starts the clock again.
    pub fn start_clock(&mut self) {
        let at_once = self.at_once.take();
        assert!(
            at_once.is_none_or(|at_once| at_once.over.is_empty()),
            "a command has ended and was not reported"
        );
    }

    /// Whether the clock runs, so that commands take time.
    #[inline]
    pub fn is_clock_running(&self) -> bool {
        self.at_once.is_none()
    }

    /// Takes the next ended command.
    #[inline]
    pub fn next_untimed_completion(&mut self) -> Option<CommandCompletion> {
        self.at_once.as_mut()?.over.pop_front()
    }

    /// Locations programmed while the clock was stopped, padding included.
    pub fn laid(&self) -> u64 {
        self.laid
    }

    /// Executes the first command of a die's queue.
    #[cold]
    #[inline(never)]
    pub(super) fn execute_untimed(&mut self, die: DieId, command: Command) {
        let task = *self.queues.current(die);
        match task.operation {
            Operation::Program if task.again > 0 => {
                let stamps = self.payloads.get(task.payload, task.locations);
                self.chips.put_reprogrammed(task.location, stamps);
                self.laid += u64::from(task.locations);
            }
            Operation::Program => {
                for n in 0..task.locations {
                    let stamp = self.payloads.get(task.payload, task.locations)[n as usize];
                    self.chips.put(Location(task.location.0 + n), stamp);
                }
                self.laid += u64::from(task.locations);
            }
            Operation::Copyback { .. } => {
                let locations = self.chips.pools().of_page(task.page).locations;
                let from = locations.location_of(task.page);
                for n in 0..locations.per_program {
                    let stamp = self.chips.stamp(Location(from.0 + n));
                    self.chips.put(Location(task.location.0 + n), stamp);
                }
                self.laid += u64::from(locations.per_program);
            }
            Operation::Erase => self.wipe(self.chips.pools().block_of_page(task.page)),
            Operation::Read | Operation::ReadCache { .. } | Operation::ProgramCache => {}
        }
        let none = Duration::ZERO;
        let (bus, bus_wait, array) = (none, none, none);
        let done = CommandCompletion {
            die,
            command,
            bus,
            bus_wait,
            array,
            failed: false,
            failed_planes: 0,
            level: 0,
        };
        self.at_once.as_mut().expect("the clock is off").over.push_back(done);
    }
}
