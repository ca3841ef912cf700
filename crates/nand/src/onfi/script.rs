//! Scripts: cycles on the pins as text, with expected results.
//!
//! [`Script::parse`] parses a text or collects all complaints about it. [`Script::run`] drives a [`Bus`] and
//! returns a [`Transcript`] with one entry for each statement. `docs/nand-scripts.md` describes the grammar.

mod data;
mod expect;
mod parse;
mod run;
mod statement;
#[cfg(test)]
mod tests;
mod transcript;
mod words;

use wordline_kernel::Complaints;

pub use self::data::Data;
pub use self::expect::{STATES, State, StatusWanted, Wanted, rule};
pub use self::statement::{Action, Address, Begin, PageByte, Script, Setup, Statement};
pub use self::transcript::{Entry, Mismatch, Transcript};
use super::{Bus, BusOptions, Pace, RowAddressing};
use crate::Part;

impl Script {
    /// Parses a script; complaints have `name` and the line number as key.
    ///
    /// # Errors
    /// A complaint for every invalid line.
    pub fn parse(name: &str, text: &str) -> Result<Self, Complaints> {
        parse::parse(name, text)
    }

    /// The bus of the script, with LUNs of `part`.
    ///
    /// # Errors
    /// Complaints about the wiring, and about rows that the address cycles cannot express; `name` as
    /// for [`Self::parse`].
    pub fn bus(&self, name: &str, part: &Part) -> Result<Bus, Complaints> {
        let setup = &self.setup;
        let pace = if setup.exact { Pace::Exact } else { Pace::Earliest };
        let Setup { compatible, power_on, .. } = *setup;
        let options = BusOptions { pace, compatible, power_on, lun: setup.lun.clone() };
        let bus = Bus::new(part, setup.wiring, options).map_err(|wrong| {
            let mut all = Complaints::default();
            all.nest(&format!("{name}: wiring"), wrong);
            all
        })?;
        let mut wrong = Complaints::default();
        let addressing = RowAddressing::of(part, setup.wiring.luns);
        check_rows(&self.statements, &addressing, name, &mut wrong);
        wrong.into_result(bus)
    }

    /// Runs the script on `bus`, up to the first unexpected rejection of a cycle, and waits until the arrays
    /// are idle.
    pub fn run(&self, bus: &mut Bus) -> Transcript {
        run::run(self, bus)
    }
}

/// Checks that the components of row addresses fit their bits.
fn check_rows(statements: &[Statement], addressing: &RowAddressing, name: &str, wrong: &mut Complaints) {
    for Statement { line, action, .. } in statements {
        let row = match action {
            Action::Repeat(_, body) => {
                check_rows(body, addressing, name, wrong);
                continue;
            }
            Action::Status(Some(row), _) | Action::Erase(row, _) | Action::Address(Address::Row(row)) => *row,
            Action::Read(place, _) | Action::Program(place, _, _) | Action::Address(Address::Full(place)) => {
                place.row
            }
            _ => continue,
        };
        if let Some((field, found, most)) = addressing.find_overflow(row) {
            wrong.add(
                format!("{name}:{line}: {field}"),
                found,
                format!("at most {most}, as far as its bits of the row address go"),
            );
        }
    }
}
