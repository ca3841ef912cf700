//! The energy of the pin-level model: the time in each stage times its power, as for transactions.

use wordline_kernel::{Bytes, Duration, Energy, Power};
use wordline_nand::chips::Wiring as Transactions;
use wordline_nand::geometry::Layout;
use wordline_nand::onfi::{Bus, BusOptions, Wiring};
use wordline_nand::part::PowerDraw;
use wordline_nand::{Chips, Event};
use wordline_nand::{Command, DieId, EnergyReport, Operation, PageId, Part, Stage};

use super::host::{part_file, play, played};

/// The small part with a different power for each stage.
fn part() -> Part {
    let mut file = part_file();
    file.power = PowerDraw {
        read: Power(66_000),
        program: Power(71_000),
        erase: Power(83_000),
        latch: Some(Power(1_300)),
        idle: Power(37),
        per_plane: true,
        ..PowerDraw::even(Power(16_500))
    };
    file.check().expect("the part is sound")
}

fn bus(luns: u32) -> Bus {
    let wiring = Wiring { luns, ..Wiring::default() };
    Bus::new(&part(), wiring, BusOptions::default()).expect("the wiring is sound")
}

/// The energy of transactions with the same effect, over the same time.
fn transactions(commands: &[Command], elapsed: Duration) -> EnergyReport {
    let part = part();
    let geometry = Layout::on_one_channel(1, Some(2)).check(&part).expect("the layout is sound");
    let mut chips = Chips::counting(part, geometry, Transactions::default());
    let mut calendar = wordline_kernel::Calendar::<Event>::new();
    for command in commands {
        chips.start(DieId(0), *command, &mut calendar).expect("the die takes it");
        while let Some(event) = calendar.advance() {
            chips.handle(event, &mut calendar);
        }
    }
    chips.energy(elapsed)
}

fn command(operation: Operation, planes: u32) -> Command {
    Command::new(operation, PageId(0), planes, Bytes(512) * u64::from(planes))
}

#[test]
fn the_pins_take_what_transactions_take() {
    let data = "i".to_string() + &["5a"; 512].join(".");
    let both = |first: &str, more: &str, last: &str, data: &str| {
        format!("c{first} a00.00.00.00.00 {data} c{more} rb c{first} a00.00.08.00.00 {data} c{last} arb")
    };
    let select = |plane: &str| format!("c06 a00.00.{plane}.00.00 ce0 o512");
    for (cycles, done) in [
        ("c60 a00.00.00 cd0 arb".to_string(), command(Operation::Erase, 1)),
        (format!("c80 a00.00.00.00.00 {data} c10 arb"), command(Operation::Program, 1)),
        ("c00 a00.00.00.00.00 c30 arb ce o512".to_string(), command(Operation::Read, 1)),
        (both("80", "11", "10", &data), command(Operation::Program, 2)),
        (
            format!("{} ce {} {}", both("00", "32", "30", ""), select("00"), select("08")),
            command(Operation::Read, 2),
        ),
    ] {
        let mut bus = bus(1);
        for word in cycles.split_whitespace() {
            match word {
                "ce" => bus.select(0).expect("there is a target"),
                _ => _ = played(&mut bus, word),
            }
        }
        let elapsed = bus.now().since(wordline_kernel::Instant::ZERO);
        let (pins, transactions) = (bus.energy(), transactions(&[done], elapsed));
        for stage in Stage::ALL {
            assert_eq!(pins.of(stage), transactions.of(stage), "{} of {cycles:.40}", stage.name());
        }
    }
}

#[test]
fn what_overlaps_leaves_no_less_time_idle() {
    let mut bus = bus(2);
    let program = "c80 a00.00.00.00.00 i01 c15 rb c80 a00.00.01.00.00 i02 c10";
    played(&mut bus, program);
    bus.wait(Duration::from_us(50));
    let early = bus.energy();
    // The energy in the middle of a program, and 50 us later: the array has programmed for 50 us in between.
    assert!(early.of(Stage::Tin) > Energy(0) && early.of(Stage::Idle) > Energy(0));
    bus.wait(Duration::from_us(50));
    let more = Energy(bus.energy().of(Stage::Tin).0 - early.of(Stage::Tin).0);
    assert_eq!(more, Power(71_000).over(Duration::from_us(50)));
    bus.wait_array_ready();
    let (spans, elapsed) = (bus.spans(), bus.now().since(wordline_kernel::Instant::ZERO));
    // LUN 1 is always idle; LUN 0 whenever it has no span.
    let mut busy: Vec<(u64, u64)> = spans.iter().map(|span| (span.begin.ps(), span.end().ps())).collect();
    busy.sort_unstable();
    let (mut until, mut covered) = (0, 0);
    for (begin, end) in busy {
        covered += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    let idle = u128::from(2 * elapsed.ps() - covered) * 37 / 1_000;
    assert_eq!(bus.energy().of(Stage::Idle), Energy(idle));
    let after = bus.energy();
    assert_eq!(after, bus.energy(), "asking changes nothing");
}

#[test]
fn a_refused_cycle_takes_no_energy() {
    let mut bus = bus(1);
    let before = bus.energy();
    play(&mut bus, "c10").expect_err("nothing was loaded");
    assert_eq!(bus.energy(), before);
}
