//! Lists of commands, their cell model, and their check before the first command begins.

use std::fmt;

use crate::chips::{Refusal, fits};
use crate::{Command, DieId, Geometry, Operation, Parameters, Part, Physics, Pools};

/// The commands of a die, in order. A sequence of cache reads must be complete: each command names the page
/// of the next one.
pub type List = (DieId, Vec<Command>);

/// The cell model used for the lists; by default the data sheet alone.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// Model of the array times; `None` for the data sheet.
    pub physics: Option<Box<dyn Physics>>,
    /// The parameter sets that commands may refer to, from number 1 on.
    pub sets: Vec<Parameters>,
}

/// The reason why lists cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListError {
    /// Two lists are for one die.
    SecondList {
        /// The die.
        die: DieId,
    },
    /// The die does not accept a command.
    Refused {
        /// The die.
        die: DieId,
        /// Index of the command in its list, from 0.
        at: usize,
        /// Why.
        why: Refusal,
    },
    /// A list ends within a sequence of cache reads.
    Unfinished {
        /// The die.
        die: DieId,
    },
}

impl fmt::Display for ListError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SecondList { die } => write!(out, "die {}: found two lists, wanted one", die.0),
            Self::Refused { die, at, why } => write!(out, "die {}, command {at}: {why}", die.0),
            Self::Unfinished { die } => {
                write!(out, "die {}: the list ends within a sequence of cache reads", die.0)
            }
        }
    }
}

impl std::error::Error for ListError {}

/// By list: the number of its first command in the spans. Commands are numbered list by list. All commands
/// are checked before the first one begins.
pub(crate) fn first_command_numbers(
    part: &Part,
    geometry: Geometry,
    lists: &[List],
    sets: usize,
) -> Result<Vec<u32>, ListError> {
    let pools = Pools::of_pages(part.clone(), geometry);
    let (mut first, mut serials) = (0, Vec::new());
    for (n, (die, commands)) in lists.iter().enumerate() {
        if lists[..n].iter().any(|(other, _)| other == die) {
            return Err(ListError::SecondList { die: *die });
        }
        check_list(&pools, *die, commands, sets)?;
        serials.push(first);
        first += commands.len() as u32;
    }
    Ok(serials)
}

/// Checks that the die has the pages and planes of each command. Checks also that each cache read that names
/// a next page is followed by the cache read that moves this page out, and vice versa.
fn check_list(pools: &Pools, die: DieId, commands: &[Command], sets: usize) -> Result<(), ListError> {
    let mut expected = None;
    for (at, command) in commands.iter().enumerate() {
        let refused = |why| ListError::Refused { die, at, why };
        fits(pools, die, command, &|_| command.mode.unwrap_or_default()).map_err(refused)?;
        if usize::from(command.parameters) > sets {
            return Err(refused(Refusal::NoSuchParameters { set: command.parameters }));
        }
        let (goes_on, next) = match command.operation {
            Operation::ReadCache { first, next } => (!first, next),
            _ => (false, None),
        };
        let wanted = goes_on.then_some((command.page, command.planes));
        if expected != wanted {
            return Err(refused(Refusal::Sequence { sensed: expected.map(|(page, _)| page) }));
        }
        expected = next.map(|page| (page, command.planes));
    }
    if expected.is_none() { Ok(()) } else { Err(ListError::Unfinished { die }) }
}
