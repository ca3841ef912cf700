//! Illegal sequences: the typed failure, the status after it, and the preserved state.

use wordline_kernel::Duration;
use wordline_nand::DieId;
use wordline_nand::onfi::command::{COMMANDS, Operation};
use wordline_nand::onfi::support::CommandSupport;
use wordline_nand::onfi::{Bus, BusOptions, FailureKind, Fault, Limit, LunOptions, Pace, Status, Wiring};

use super::host::{bus, bus_with, fault, part, play, played, refusal, status};

const PAGE: &str = "a00.00.00.00.00";

/// Cycles, the last of which is rejected, and the reason.
fn vectors() -> Vec<(String, Fault)> {
    let confirm = |found| Fault::ConfirmWithoutSetUp { found };
    let missing = |command, found, wanted| Fault::AddressMissing { command, found, wanted };
    let mut vectors = vec![
        ("i01".into(), Fault::DataWithoutProgram),
        ("c00 a00.00.00.00.00 i01".into(), Fault::DataWithoutProgram),
        ("a00".into(), Fault::AddressWithoutCommand),
        ("o1".into(), Fault::OutputOfNothing),
        ("c31".into(), Fault::CacheReadWithoutRead),
        ("c3f".into(), Fault::CacheReadNotBegun),
        ("c00 a00.00.00.00.00 c31".into(), Fault::CacheReadWithoutRead),
        (format!("c00 {PAGE} c30 rb c3f"), Fault::CacheReadNotBegun),
        (format!("c00 {PAGE} c30 rb c31 rb c3f rb c3f"), Fault::CacheReadNotBegun),
        (format!("c00 {PAGE} c30 rb c60 a08.00.00 cd0 rb c31"), Fault::CacheReadWithoutRead),
        (format!("c85 {PAGE}"), Fault::CopybackWithoutRead { plane: 0 }),
        (format!("c00 {PAGE} c30 rb c85 {PAGE}"), Fault::CopybackWithoutRead { plane: 0 }),
        (format!("c00 {PAGE} c35 rb c85 a00.00.08.00.00"), Fault::CopybackWithoutRead { plane: 1 }),
        ("c00 a00.00.00.00 c30".into(), missing(0x00, 4, 5)),
        ("c00 c30".into(), missing(0x00, 0, 5)),
        ("c60 a00.00 cd0".into(), missing(0x60, 2, 3)),
        ("c80 a00.00 i01".into(), missing(0x80, 2, 5)),
        ("c85 a00.00 i01".into(), missing(0x85, 2, 5)),
        ("c05 a00 ce0".into(), missing(0x05, 1, 2)),
        ("c80 a00.00.00.00.00 a00".into(), Fault::AddressSurplus { command: 0x80, wanted: 5 }),
        ("c60 a00.00.00 a00".into(), Fault::AddressSurplus { command: 0x60, wanted: 3 }),
        ("c78 a00.00.00 a00".into(), Fault::AddressWithoutCommand),
        ("c80 a00.00.00.00.00 c30".into(), Fault::WrongConfirm { command: 0x80, found: 0x30 }),
        ("c60 a00.00.00 c10".into(), Fault::WrongConfirm { command: 0x60, found: 0x10 }),
        ("c60 a00.00.00 c60".into(), Fault::WrongConfirm { command: 0x60, found: 0x60 }),
        ("c00 a00.00.00.00.00 o1".into(), Fault::OutputInSequence { command: 0x00 }),
        ("cef a10 i01.02 c70".into(), Fault::DataMissing { found: 2 }),
        ("cef a10 i01.02.03.04.05".into(), Fault::DataSurplus),
        ("ca2 c70".into(), Fault::PrefixAlone { found: 0x70 }),
        (format!("c00 {PAGE} c32 rb c60 a08.00.00 cd0"), Fault::QueueBroken { queued: "a read" }),
        (
            format!("c80 {PAGE} i01 c11 rb c00 a00.00.08.00.00 c30"),
            Fault::QueueBroken { queued: "a program" },
        ),
        ("c60 a00.00.00 cd1 rb c80 a00.00.08.00.00".into(), Fault::QueueBroken { queued: "an erase" }),
    ];
    vectors.extend(
        [0x10, 0x11, 0x15, 0x30, 0x32, 0x35, 0xd0, 0xd1, 0xe0]
            .map(|code| (format!("c{code:02x}"), confirm(code))),
    );
    vectors
}

/// A bus with a page in block 4 and the same page in the register of plane 0.
fn prepared() -> Bus {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.20.00.00 i42.43 c10 rb c00 a00.00.20.00.00 c30 rb o1 cff rb");
    bus
}

#[test]
fn every_illegal_sequence_has_its_own_failure() {
    for (cycles, wanted) in vectors() {
        assert_eq!(fault(&mut bus(), &cycles), wanted, "{cycles}");
    }
}

#[test]
fn after_a_failure_the_target_waits_for_a_reset_and_keeps_everything() {
    for (cycles, _) in vectors() {
        for reset in ["cff", "cfc"] {
            let mut bus = prepared();
            fault(&mut bus, &cycles);
            played(&mut bus, "rb");
            let contents = bus.lun(DieId(0)).output(0, 528);
            assert_eq!(status(&mut bus), Status(0xe1), "{cycles}");
            assert_eq!(played(&mut bus, "c78 a00.00.00 o1"), [0xe1], "{cycles}");
            for refused in ["c00", "c80", "a00", "i00", "c90", "c05"] {
                assert_eq!(refusal(&mut bus, refused), FailureKind::AwaitingReset, "{cycles}");
            }
            played(&mut bus, &format!("{reset} rb"));
            assert_eq!(bus.lun(DieId(0)).output(0, 528), contents, "{cycles}");
            assert_eq!(status(&mut bus), Status::IDLE, "{cycles}");
            assert_eq!(played(&mut bus, "c00 a00.00.20.00.00 c30 rb o2"), [0x42, 0x43], "{cycles}");
        }
    }
}

/// The cycles of a command without its confirm command, for block 0 or LUN 0.
fn opening(command: &wordline_nand::onfi::command::Command) -> String {
    let address = ["", "a00", "a00.00", "a00.00.00", "", "a00.00.00.00.00"][command.address.cycles(3)];
    format!("c{:02x} {address}", command.first)
}

#[test]
fn a_busy_lun_takes_only_what_the_table_says() {
    let offers = CommandSupport::of(&part(), 1);
    for command in COMMANDS.iter().filter(|command| offers.has(command.operation)) {
        let mut bus = bus();
        let resume = matches!(command.operation, Operation::ResumeErase | Operation::ResumeProgram);
        // A suspend needs an operation in progress that it can suspend.
        let under_way = match command.operation {
            Operation::SuspendProgram => "c80 a00.00.08.00.00 i01 c10",
            _ => "c60 a08.00.00 cd0",
        };
        played(&mut bus, under_way);
        bus.wait(Duration::from_us(1));
        let found = play(&mut bus, &opening(command)).map_err(|failure| failure.kind);
        let busy = matches!(found, Err(FailureKind::Busy { .. }));
        let prefix =
            matches!(command.operation, Operation::SlcMode | Operation::MlcMode | Operation::Reprogram);
        let unknown_lun = matches!(found, Err(FailureKind::Limit(Limit::NoSuchLun { .. })));
        assert!(
            busy != command.legal.while_busy
                && (found.is_ok() == command.legal.while_busy || unknown_lun || resume),
            "{}: {found:?}, prefix {prefix}",
            command.name
        );
    }
}

#[test]
fn a_busy_time_ends_to_the_picosecond() {
    for cycles in [
        "c00 a00.00.00.00.00 c30",
        "c80 a00.00.00.00.00 i01 c10",
        "c80 a00.00.00.00.00 i01 c11",
        "c60 a00.00.00 cd0",
        "c60 a00.00.00 cd1",
        "cee a10",
        "cef a10 i00.00.00.00",
        "cec a00",
        "ced a00",
        "cd4 a00.10",
        "cff",
    ] {
        let next = match cycles.split_at(3).0 {
            "c80" => "c80 a00.00.08.00.00",
            _ => "c60 a08.00.00",
        };
        let ready = |bus: &mut Bus| {
            played(bus, cycles);
            bus.clone().wait_ready()
        };
        let mut early = bus();
        let at = ready(&mut early);
        let cycle = early.timing().t_wc;
        // The address selects the LUN. If there are several LUNs, its last cycle decides for array commands.
        // Here there is one LUN, so the command cycle itself is rejected.
        early.set_pace(Pace::Exact);
        early.wait_until(wordline_kernel::Instant::from_ps(at.ps() - 1));
        let refused = play(&mut early, next).map_err(|failure| failure.kind);
        assert!(
            matches!(refused, Err(FailureKind::Busy { until, .. }) if until == at),
            "{cycles}: {refused:?}"
        );
        let mut punctual = bus();
        let at = ready(&mut punctual);
        punctual.wait_until(at);
        played(&mut punctual, next);
        assert!(punctual.now() >= at + cycle);
    }
}

#[test]
fn behind_a_cache_operation_only_its_own_kind_goes_on() {
    let reading = format!("c00 {PAGE} c30 rb c31 rb");
    let programming = format!("c80 {PAGE} i01 c15 rb");
    for (begun, refused) in [
        (&reading, "c60"),
        (&reading, "c80"),
        (&reading, "c00 a00.00.02.00.00 c30"),
        (&programming, "c60"),
        (&programming, "c31"),
        (&programming, "c00"),
        (&programming, "c3f"),
    ] {
        let mut bus = bus();
        played(&mut bus, begun);
        let found = play(&mut bus, refused).expect_err(refused);
        assert!(matches!(found.kind, FailureKind::Busy { .. }), "{begun} {refused}: {found}");
    }
}

#[test]
fn addresses_that_the_part_does_not_have_are_refused() {
    let mut bus = bus();
    assert!(matches!(
        refusal(&mut bus, "c00 a10.02.00.00.00 c30"),
        FailureKind::Address { what: "column", found: 528, below: 528 }
    ));
    played(&mut bus, "cff rb");
    assert!(matches!(
        play(&mut bus, "c60 a00.01.00").expect_err("there is one LUN").kind,
        FailureKind::Limit(Limit::NoSuchLun { lun: 1, luns: 1 })
    ));
    played(&mut bus, "cff rb");
    let data = "c80 a0e.02.00.00.00 i01.02.03";
    assert!(matches!(refusal(&mut bus, data), FailureKind::Address { found: 528, .. }));
    played(&mut bus, "cff rb c00 a0e.02.00.00.00 c30 rb");
    assert!(matches!(refusal(&mut bus, "o3"), FailureKind::Address { found: 528, .. }));
}

#[test]
fn a_broken_limit_is_fatal_or_counted() {
    let cycles = "c80 a00.00.03.00.00 i01 c10 rb c80 a00.00.02.00.00 i01 c10";
    let mut strict = bus();
    assert!(matches!(refusal(&mut strict, cycles), FailureKind::Limit(Limit::ProgramOutOfOrder { .. })));
    assert_eq!(status(&mut strict), Status(0xe1));
    let lun = LunOptions { fatal: false, ..LunOptions::default() };
    let mut counting = bus_with(Wiring::default(), BusOptions { lun, ..BusOptions::default() });
    played(&mut counting, cycles);
    played(&mut counting, "rb");
    assert_eq!(status(&mut counting), Status(0xe1));
    assert_eq!(counting.lun(DieId(0)).broken().get("program-out-of-order"), Some(&1));
    // With counted limits, a copyback into another plane exceeds a limit, too.
    played(&mut counting, &format!("cff rb c00 {PAGE} c35 rb c85 a00.00.08.00.00 c10 rb"));
    assert_eq!(counting.lun(DieId(0)).broken().get("copyback-across-planes"), Some(&1));
}

#[test]
fn a_failure_names_rule_cycle_and_time() {
    let mut bus = bus();
    played(&mut bus, "c60 a00.00.00 cd0 rb");
    let failure = play(&mut bus, "cd0").expect_err("nothing is set up");
    assert_eq!((failure.cycle, failure.at), (6, bus.now()));
    let at = bus.now().since(wordline_kernel::Instant::ZERO);
    assert_eq!(
        failure.to_string(),
        format!(
            "cycle 6 at {at}: sequence: found D0h, wanted the command and the address that it confirms before it"
        )
    );
    assert_eq!(part().name, "small");
}
