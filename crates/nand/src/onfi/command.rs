//! The ONFI command table: bytes, address cycles, data, legality and busy time of each command.
//!
//! Sources:
//!
//! * Command bytes and address cycles: the ONFI headers of Xilinx (`xnandpsu_onfi.h`, ONFI 3.1) and the
//!   OmBhatt18/ONFi_VIP model.
//! * Legality: the public ONFI specification, from memory, and the data sheets of Hynix H27(U_S)4G8_6F2D and
//!   Micron M40A where they specify it.
//! * Vendor rows: documented vendor features. If no public data sheet gives their byte, it is chosen from the
//!   bytes that ONFI leaves to vendors.
//! * The four data bytes of ODT Configure: from memory.

use Address::{Byte, Column, Full, LunByte, Nothing, Row};
use BusyTime as T;
use Data::{In, Out};
use Operation as O;
use Source::{Chosen, Headers, HynixSheet, Memory};
use SupportLevel::{Mandatory, Optional, Vendor};

/// The operation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is described by the name in its row of the table")]
pub enum Operation {
    Read,
    QueueRead,
    CopybackRead,
    ChangeReadColumn,
    ChangeReadColumnEnhanced,
    CacheReadRandom,
    IndependentRead,
    CacheReadSequential,
    CacheReadEnd,
    Erase,
    QueueErase,
    Status,
    StatusEnhanced,
    Program,
    QueueProgram,
    CacheProgram,
    NextPage,
    CopybackProgram,
    QueueCopybackProgram,
    ChangeWriteColumn,
    ChangeRowAddress,
    ReadId,
    ParameterPage,
    UniqueId,
    GetFeatures,
    SetFeatures,
    LunGetFeatures,
    LunSetFeatures,
    ResetLun,
    SynchronousReset,
    Reset,
    VolumeSelect,
    OdtConfigure,
    ZqLong,
    ZqShort,
    ExtendedStatus,
    SuspendProgram,
    ResumeProgram,
    SuspendErase,
    ResumeErase,
    SlcMode,
    MlcMode,
    Reprogram,
}

/// The address cycles after the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// No address.
    Nothing,
    /// One byte: an identity, a feature, a volume or a LUN.
    Byte,
    /// The LUN and one byte.
    LunByte,
    /// C1 C2.
    Column,
    /// R1 R2 R3.
    Row,
    /// C1 C2 R1 R2 R3.
    Full,
}

impl Address {
    /// Number of cycles, with `row` cycles for a row address: three, or four in parts with more than 2^24
    /// rows.
    pub const fn cycles(self, row: usize) -> usize {
        match self {
            Nothing => 0,
            Byte => 1,
            LunByte | Column => 2,
            Row => row,
            Full => 2 + row,
        }
    }
}

/// The data of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// No data within the sequence.
    None,
    /// Data in: any number of bytes into a register.
    In,
    /// Four bytes of a feature.
    Four,
    /// Data out of the register that the command selects.
    Out,
}

/// The busy time of the LUN or target after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyTime {
    /// No busy time: the command completes at once.
    None,
    /// Sensing (tR).
    Read,
    /// Between the planes of a read (tPLRBSY).
    PlaneRead,
    /// Moving a page to the cache register (tRCBSY).
    CacheRead,
    /// Programming (tPROG).
    Program,
    /// Between the planes of a program (tPLPBSY, formerly tDBSY).
    PlaneProgram,
    /// Moving the page out of the cache register (tPCBSY, formerly tCBSY).
    CacheProgram,
    /// Erasing (tBERS).
    Erase,
    /// Between the planes of an erase (tPLEBSY).
    PlaneErase,
    /// Reading or writing a feature (tFEAT).
    Features,
    /// Resetting (tRST).
    Reset,
    /// Calibrating, long (tZQCL).
    ZqLong,
    /// Calibrating, short (tZQCS).
    ZqShort,
    /// Suspending or resuming an operation: the time of the part.
    Suspend,
}

/// Whether a part must support a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportLevel {
    /// Every ONFI part.
    Mandatory,
    /// ONFI parts that list it in their parameter page.
    Optional,
    /// A vendor's feature.
    Vendor,
}

/// The source of the bytes of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Xilinx' `xnandpsu_onfi.h` (ONFI 3.1), OmBhatt18/ONFi_VIP and barebox' `nand_base.c`.
    Headers,
    /// The data sheet of Hynix H27(U_S)4G8_6F2D.
    HynixSheet,
    /// Public data sheets, from memory: Micron's for suspend, Toshiba's for SLC mode and the pages of a word
    /// line.
    Memory,
    /// Chosen from the bytes that ONFI leaves to vendors, as no public data sheet gives one.
    Chosen,
}

/// When a command may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Legality {
    /// While the addressed LUN is busy (RDY low).
    pub while_busy: bool,
    /// While another LUN of the target is busy.
    pub while_other_busy: bool,
    /// The command addresses the whole target.
    pub target_level: bool,
    /// While the addressed LUN accepts commands but its array works (RDY high, ARDY low).
    pub behind: DuringCache,
}

/// The cache operation of the array during which a command may still be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuringCache {
    /// No cache operation: the array must be idle.
    Nothing,
    /// A cache read.
    CacheRead,
    /// A cache program.
    CacheProgram,
}

/// The activity of a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Idle (RDY and ARDY high).
    Idle,
    /// The LUN accepts commands while its array senses the next page.
    CacheReading,
    /// The LUN accepts commands while its array programs.
    CacheProgramming,
    /// RDY is low.
    Busy,
}

impl Legality {
    /// Whether a LUN accepts the command during `activity`.
    pub fn allows(self, activity: Activity) -> bool {
        self.while_busy
            || match activity {
                Activity::Idle => true,
                Activity::CacheReading => self.behind == DuringCache::CacheRead,
                Activity::CacheProgramming => self.behind == DuringCache::CacheProgram,
                Activity::Busy => false,
            }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The operation.
    pub operation: Operation,
    /// Name in the specification or the data sheet.
    pub name: &'static str,
    /// The first byte.
    pub first: u8,
    /// The address cycles.
    pub address: Address,
    /// The data after the address.
    pub data: Data,
    /// The second byte (confirm).
    pub second: Option<u8>,
    /// When the command may be sent.
    pub legal: Legality,
    /// The kind of busy time that follows.
    pub busy: BusyTime,
    /// Whether a part must support it.
    pub need: SupportLevel,
    /// The source of its bytes.
    pub source: Source,
}

impl Command {
    /// Whether the command continues a program and opens no operation.
    pub fn continues_program(&self) -> bool {
        matches!(self.operation, O::ChangeWriteColumn | O::ChangeRowAddress)
    }

    /// Whether the command is a prefix for the cell mode. The next command addresses the LUN.
    pub fn is_prefix(&self) -> bool {
        matches!(self.operation, O::SlcMode | O::MlcMode | O::Reprogram)
    }

    /// Whether its address selects the LUN.
    pub fn selects_lun(&self) -> bool {
        matches!(self.address, Row | Full | LunByte) || matches!(self.operation, O::ZqLong | O::ZqShort)
    }
}

const fn legal(
    while_busy: bool,
    while_other_busy: bool,
    target_level: bool,
    behind: DuringCache,
) -> Legality {
    Legality { while_busy, while_other_busy, target_level, behind }
}

/// Array commands: the LUN must be idle, other LUNs may be busy.
const ARRAY: Legality = legal(false, true, false, DuringCache::Nothing);
/// Array commands that may also continue a cache read.
const READ_ON: Legality = legal(false, true, false, DuringCache::CacheRead);
/// Array commands that may also continue a cache program.
const WRITE_ON: Legality = legal(false, true, false, DuringCache::CacheProgram);
/// Commands to a busy LUN.
const ALWAYS: Legality = legal(true, true, false, DuringCache::Nothing);
/// Commands to a target whose LUNs are all idle.
const TARGET: Legality = legal(false, false, true, DuringCache::Nothing);
/// Resets of the target.
const RESETS: Legality = legal(true, true, true, DuringCache::Nothing);

#[allow(clippy::too_many_arguments, reason = "the columns of a table")]
const fn row(
    operation: Operation,
    name: &'static str,
    first: u8,
    address: Address,
    data: Data,
    second: i16,
    legal: Legality,
    busy: BusyTime,
    need: SupportLevel,
    source: Source,
) -> Command {
    let second = if second < 0 { None } else { Some(second as u8) };
    Command { operation, name, first, address, data, second, legal, busy, need, source }
}

/// No second byte.
const __: i16 = -1;
const NO: Data = Data::None;

/// All commands.
///
/// * Suspend and resume have the bytes of Micron's suspend feature (84h, 13h, 61h, D2h, from memory of public
///   data sheets), and a row that selects the LUN.
/// * A2h puts one operation into SLC mode, and 1Ah is the confirm byte that continues with the next page of a
///   word line. Both are from Toshiba's parts, from memory.
/// * A3h and A4h for MLC mode and reprograms (ReSSD), and 3Eh for independent plane reads, are chosen.
/// * F2h to F5h are from the Hynix data sheet. Their assignment to LUNs 0 to 3 is chosen: the sheet gives
///   only the bytes.
#[rustfmt::skip]
pub static COMMANDS: [Command; 46] = [
    row(O::Read,                     "Read",                          0x00, Full,    NO,  0x30, ARRAY,    T::Read,         Mandatory, Headers),
    row(O::QueueRead,                "Multi-plane Read",              0x00, Full,    NO,  0x32, READ_ON,  T::PlaneRead,    Optional,  Headers),
    row(O::CopybackRead,             "Copyback Read",                 0x00, Full,    NO,  0x35, ARRAY,    T::Read,         Optional,  Headers),
    row(O::CacheReadRandom,          "Read Cache Random",             0x00, Full,    NO,  0x31, READ_ON,  T::CacheRead,    Optional,  Headers),
    row(O::IndependentRead,          "Independent Plane Read",        0x00, Full,    NO,  0x3E, READ_ON,  T::PlaneRead,    Vendor,    Chosen),
    row(O::ChangeReadColumn,         "Change Read Column",            0x05, Column,  Out, 0xE0, READ_ON,  T::None,         Mandatory, Headers),
    row(O::ChangeReadColumnEnhanced, "Change Read Column Enhanced",   0x06, Full,    Out, 0xE0, READ_ON,  T::None,         Optional,  Headers),
    row(O::CacheReadSequential,      "Read Cache Sequential",         0x31, Nothing, NO,  __,   READ_ON,  T::CacheRead,    Optional,  Headers),
    row(O::CacheReadEnd,             "Read Cache End",                0x3F, Nothing, NO,  __,   READ_ON,  T::CacheRead,    Optional,  Headers),
    row(O::Erase,                    "Block Erase",                   0x60, Row,     NO,  0xD0, ARRAY,    T::Erase,        Mandatory, Headers),
    row(O::QueueErase,               "Multi-plane Block Erase",       0x60, Row,     NO,  0xD1, ARRAY,    T::PlaneErase,   Optional,  Headers),
    row(O::Status,                   "Read Status",                   0x70, Nothing, Out, __,   ALWAYS,   T::None,         Mandatory, Headers),
    row(O::StatusEnhanced,           "Read Status Enhanced",          0x78, Row,     Out, __,   ALWAYS,   T::None,         Optional,  Headers),
    row(O::Program,                  "Page Program",                  0x80, Full,    In,  0x10, WRITE_ON, T::Program,      Mandatory, Headers),
    row(O::QueueProgram,             "Multi-plane Program",           0x80, Full,    In,  0x11, WRITE_ON, T::PlaneProgram, Optional,  Headers),
    row(O::CacheProgram,             "Page Cache Program",            0x80, Full,    In,  0x15, WRITE_ON, T::CacheProgram, Optional,  Headers),
    row(O::NextPage,                 "Program Next Page of Word Line", 0x80, Full,   In,  0x1A, WRITE_ON, T::PlaneProgram, Vendor,    Memory),
    row(O::CopybackProgram,          "Copyback Program",              0x85, Full,    In,  0x10, ARRAY,    T::Program,      Optional,  Headers),
    row(O::QueueCopybackProgram,     "Multi-plane Copyback Program",  0x85, Full,    In,  0x11, ARRAY,    T::PlaneProgram, Optional,  Headers),
    row(O::ChangeWriteColumn,        "Change Write Column",           0x85, Column,  In,  __,   WRITE_ON, T::None,         Mandatory, Headers),
    row(O::ChangeRowAddress,         "Change Row Address",            0x85, Full,    In,  __,   WRITE_ON, T::None,         Optional,  Headers),
    row(O::ReadId,                   "Read ID",                       0x90, Byte,    Out, __,   TARGET,   T::None,         Mandatory, Headers),
    row(O::ParameterPage,            "Read Parameter Page",           0xEC, Byte,    Out, __,   TARGET,   T::Read,         Mandatory, Headers),
    row(O::UniqueId,                 "Read Unique ID",                0xED, Byte,    Out, __,   TARGET,   T::Read,         Optional,  Headers),
    row(O::GetFeatures,              "Get Features",                  0xEE, Byte,    Out, __,   TARGET,   T::Features,     Optional,  Headers),
    row(O::SetFeatures,              "Set Features",                  0xEF, Byte,    Data::Four, __, TARGET, T::Features,  Optional,  Headers),
    row(O::LunGetFeatures,           "LUN Get Features",              0xD4, LunByte, Out, __,   ARRAY,    T::Features,     Optional,  Headers),
    row(O::LunSetFeatures,           "LUN Set Features",              0xD5, LunByte, Data::Four, __, ARRAY,  T::Features,  Optional,  Headers),
    row(O::ResetLun,                 "Reset LUN",                     0xFA, Row,     NO,  __,   ALWAYS,   T::Reset,        Optional,  Headers),
    row(O::SynchronousReset,         "Synchronous Reset",             0xFC, Nothing, NO,  __,   RESETS,   T::Reset,        Optional,  Headers),
    row(O::Reset,                    "Reset",                         0xFF, Nothing, NO,  __,   RESETS,   T::Reset,        Mandatory, Headers),
    row(O::VolumeSelect,             "Volume Select",                 0xE1, Byte,    NO,  __,   ALWAYS,   T::None,         Optional,  Headers),
    row(O::OdtConfigure,             "ODT Configure",                 0xE2, Byte,    Data::Four, __, TARGET, T::None,      Optional,  Headers),
    row(O::ZqLong,                   "ZQ Calibration Long",           0xF9, Byte,    NO,  __,   ARRAY,    T::ZqLong,       Optional,  Headers),
    row(O::ZqShort,                  "ZQ Calibration Short",          0xD9, Byte,    NO,  __,   ARRAY,    T::ZqShort,      Optional,  Headers),
    row(O::ExtendedStatus,           "Extended Read Status, LUN 0",   0xF2, Nothing, Out, __,   ALWAYS,   T::None,         Vendor,    HynixSheet),
    row(O::ExtendedStatus,           "Extended Read Status, LUN 1",   0xF3, Nothing, Out, __,   ALWAYS,   T::None,         Vendor,    HynixSheet),
    row(O::ExtendedStatus,           "Extended Read Status, LUN 2",   0xF4, Nothing, Out, __,   ALWAYS,   T::None,         Vendor,    HynixSheet),
    row(O::ExtendedStatus,           "Extended Read Status, LUN 3",   0xF5, Nothing, Out, __,   ALWAYS,   T::None,         Vendor,    HynixSheet),
    row(O::SuspendProgram,           "Program Suspend",               0x84, Row,     NO,  __,   ALWAYS,   T::Suspend,      Vendor,    Memory),
    row(O::ResumeProgram,            "Program Resume",                0x13, Row,     NO,  __,   ARRAY,    T::Suspend,      Vendor,    Memory),
    row(O::SuspendErase,             "Erase Suspend",                 0x61, Row,     NO,  __,   ALWAYS,   T::Suspend,      Vendor,    Memory),
    row(O::ResumeErase,              "Erase Resume",                  0xD2, Row,     NO,  __,   ARRAY,    T::Suspend,      Vendor,    Memory),
    row(O::SlcMode,                  "SLC Mode for One Operation",    0xA2, Nothing, NO,  __,   WRITE_ON, T::None,         Vendor,    Memory),
    row(O::MlcMode,               "Two-bit Mode for One Operation", 0xA3, Nothing, NO, __,   WRITE_ON, T::None,         Vendor,    Chosen),
    row(O::Reprogram,                "Reprogram Word Line",           0xA4, Nothing, NO,  __,   WRITE_ON, T::None,         Vendor,    Chosen),
];

/// The rows that begin with a byte.
pub fn starting_with(first: u8) -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(move |c| c.first == first)
}

/// The row of a first byte, an address and a second byte.
pub fn find(first: u8, address: Address, second: Option<u8>) -> Option<&'static Command> {
    starting_with(first).find(|c| c.address == address && c.second == second)
}

/// The first bytes that a prefix for the cell mode may precede.
pub const MODE_PREFIX_TARGETS: [u8; 4] = [0x00, 0x60, 0x80, 0x85];

/// Whether a prefix for the cell mode may precede a first byte.
pub fn accepts_mode_prefix(first: u8) -> bool {
    MODE_PREFIX_TARGETS.contains(&first)
}

/// Whether data can be read out after an operation.
pub fn has_data_out(operation: Operation) -> bool {
    matches!(
        operation,
        O::Read
            | O::CopybackRead
            | O::CacheReadRandom
            | O::IndependentRead
            | O::CacheReadSequential
            | O::CacheReadEnd
    )
}

/// Whether a byte is the second byte of a command.
pub fn is_confirm_byte(code: u8) -> bool {
    COMMANDS.iter().any(|c| c.second == Some(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_spelled_alike() {
        for (n, a) in COMMANDS.iter().enumerate() {
            for b in &COMMANDS[n + 1..] {
                assert!(
                    (a.first, a.address.cycles(3), a.second) != (b.first, b.address.cycles(3), b.second),
                    "{} and {}",
                    a.name,
                    b.name
                );
            }
        }
    }

    #[test]
    fn only_status_resets_volumes_and_suspends_go_to_a_busy_lun() {
        let to_busy: Vec<u8> = COMMANDS.iter().filter(|c| c.legal.while_busy).map(|c| c.first).collect();
        assert_eq!(
            to_busy,
            [0x70, 0x78, 0xFA, 0xFC, 0xFF, 0xE1, 0xF2, 0xF3, 0xF4, 0xF5, 0x84, 0x61],
            "Hynix H27(U_S)4G8_6F2D: FFh, 70h, 78h, F2h to F5h; ONFI adds FCh, FAh, E1h; the vendor row suspends"
        );
    }

    #[test]
    fn commands_to_the_target_want_every_lun_at_rest() {
        let target: Vec<u8> = COMMANDS
            .iter()
            .filter(|c| c.legal.target_level && !c.legal.while_busy)
            .map(|c| c.first)
            .collect();
        assert_eq!(target, [0x90, 0xEC, 0xED, 0xEE, 0xEF, 0xE2]);
        assert!(
            COMMANDS
                .iter()
                .all(|c| c.legal.while_other_busy != (c.legal.target_level && !c.legal.while_busy))
        );
    }

    #[test]
    fn a_cache_operation_is_continued_only_by_its_own_kind() {
        let read = find(0x00, Full, Some(0x31)).expect("the row is in the table");
        let program = find(0x80, Full, Some(0x10)).expect("the row is in the table");
        assert!(read.legal.allows(Activity::CacheReading) && !read.legal.allows(Activity::CacheProgramming));
        assert!(
            program.legal.allows(Activity::CacheProgramming) && !program.legal.allows(Activity::CacheReading)
        );
        assert!(!read.legal.allows(Activity::Busy));
    }
}
