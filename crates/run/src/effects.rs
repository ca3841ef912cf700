//! Effect of discards, write zeroes and FUA: a device discards in units, and the rest of a range has another
//! effect, or none.

use wordline_device::block_device::Shape;
use wordline_device::{Command, Operation, SECTOR};
use wordline_kernel::{Bytes, counted};

use crate::quantity::Quantity;

/// Counts of completed commands whose effect the counts of the host do not show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effects {
    /// Sectors of a unit that the device discards as a whole.
    per_unit: u64,
    /// Whether write zeroes discard such units.
    deallocates_zeroes: bool,
    discards: Ranges,
    zeroes: Ranges,
    /// Writes with forced unit access.
    fua: u64,
    writes: u64,
}

/// Ranges of one operation.
#[derive(Clone, Copy, Debug, Default)]
struct Ranges {
    commands: u64,
    /// Commands that cover no unit as a whole.
    without_unit: u64,
    sectors: u64,
    /// Sectors in units that are covered as a whole.
    in_units: u64,
}

/// Number of units of `per_unit` sectors that a command covers as a whole.
fn whole_units(command: &Command, per_unit: u64) -> u64 {
    let (first, end) = (command.sector, command.sector + command.sectors);
    (end / per_unit).saturating_sub(first.div_ceil(per_unit))
}

impl Ranges {
    fn add(&mut self, command: &Command, per_unit: u64) {
        let units = whole_units(command, per_unit);
        self.commands += 1;
        self.without_unit += u64::from(units == 0);
        self.sectors += command.sectors;
        self.in_units += units * per_unit;
    }
}

impl Effects {
    /// Effects on a device of this shape.
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            per_unit: (shape.discard_unit.0 / SECTOR.0).max(1),
            deallocates_zeroes: shape.deallocates_zeroes,
            ..Self::default()
        }
    }

    /// Sectors of a command that the device writes: of write zeroes those that it does not deallocate.
    pub(crate) fn written_sectors(&self, command: &Command) -> u64 {
        match command.operation {
            Operation::Write | Operation::ZoneAppend => command.sectors,
            Operation::WriteZeroes if self.deallocates_zeroes => {
                command.sectors - whole_units(command, self.per_unit) * self.per_unit
            }
            Operation::WriteZeroes => command.sectors,
            _ => 0,
        }
    }

    /// Counts a completed command.
    pub(crate) fn add(&mut self, command: &Command) {
        match command.operation {
            Operation::Discard => self.discards.add(command, self.per_unit),
            Operation::WriteZeroes => self.zeroes.add(command, self.per_unit),
            Operation::Write => self.writes += 1,
            _ => {}
        }
        let writes = matches!(command.operation, Operation::Write | Operation::WriteZeroes);
        self.fua += u64::from(writes && command.fua);
    }

    /// Notes for the user. A trace without these commands has none.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Self { discards, zeroes, fua, .. } = *self;
        let unit = Bytes(self.per_unit * SECTOR.0);
        let bytes = |sectors: u64| Bytes(sectors * SECTOR.0);
        let mut notes = Vec::new();
        if discards.without_unit > 0 {
            notes.push(format!(
                "{} of {} had no effect: they cover no whole unit of {unit}, the least that the device discards",
                Quantity::Count(discards.without_unit),
                counted(discards.commands, "discard"),
            ));
        }
        if discards.in_units < discards.sectors {
            notes.push(format!(
                "discards cover {}; {} of it, in whole units of {unit}, was discarded",
                bytes(discards.sectors),
                bytes(discards.in_units),
            ));
        }
        if zeroes.commands > 0 {
            let discarded = if self.deallocates_zeroes { zeroes.in_units } else { 0 };
            let (discarded, written) = (bytes(discarded), bytes(zeroes.sectors - discarded));
            let commands = counted(zeroes.commands, "command");
            notes.push(match self.deallocates_zeroes {
                true => format!("{commands} of write zeroes: {discarded} was discarded, in whole units of {unit}, and {written} written"),
                false => format!("{commands} of write zeroes: {written} was written as data"),
            });
        }
        if fua > 0 {
            let zeroes = (zeroes.commands > 0).then(|| format!(" and {} write zeroes", zeroes.commands));
            notes.push(format!(
                "{} with forced unit access (FUA), of {}{}: each completed when its data were non-volatile",
                counted(fua, "command"),
                counted(self.writes, "write"),
                zeroes.unwrap_or_default(),
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_of_an_array_are_data_and_its_discards_are_of_stripes() {
        let mut effects = Effects { per_unit: 384, ..Effects::default() };
        for operation in [Operation::Discard, Operation::WriteZeroes] {
            effects.add(&Command { operation, sectors: 128, ..Command::default() });
        }
        assert_eq!(
            effects.notes(),
            [
                "1 of 1 discard had no effect: they cover no whole unit of 192KiB, the least that the device discards",
                "discards cover 64KiB; 0B of it, in whole units of 192KiB, was discarded",
                "1 command of write zeroes: 64KiB was written as data",
            ]
        );
    }

    #[test]
    fn zeroes_that_are_not_deallocated_are_written() {
        let array = Effects { per_unit: 8, ..Effects::default() };
        let ssd = Effects { deallocates_zeroes: true, ..array };
        let written = |operation| {
            let command = Command { operation, sector: 7, sectors: 17, ..Command::default() };
            [array, ssd].map(|effects| effects.written_sectors(&command))
        };
        assert_eq!(written(Operation::WriteZeroes), [17, 1]);
        assert_eq!([Operation::Write, Operation::ZoneAppend].map(written), [[17, 17]; 2]);
        assert_eq!([Operation::Read, Operation::Discard].map(written), [[0, 0]; 2]);
    }

    #[test]
    fn parts_of_mapping_units_and_fua_are_named() {
        let mut effects = Effects { per_unit: 8, deallocates_zeroes: true, ..Effects::default() };
        assert!(effects.notes().is_empty());
        let command =
            |operation, sector, sectors| Command { operation, sector, sectors, ..Command::default() };
        for command in [
            command(Operation::Discard, 0, 8),
            command(Operation::Discard, 1, 8),
            command(Operation::Discard, 4, 16),
            command(Operation::WriteZeroes, 7, 17),
            Command { fua: true, ..command(Operation::Write, 0, 8) },
            command(Operation::Write, 0, 8),
            command(Operation::Read, 0, 8),
        ] {
            effects.add(&command);
        }
        assert_eq!(
            effects.notes(),
            [
                "1 of 3 discards had no effect: they cover no whole unit of 4KiB, the least that the device discards",
                "discards cover 16KiB; 8KiB of it, in whole units of 4KiB, was discarded",
                "1 command of write zeroes: 8KiB was discarded, in whole units of 4KiB, and 512B written",
                "1 command with forced unit access (FUA), of 2 writes and 1 write zeroes: each completed when its data were non-volatile",
            ]
        );
    }
}
