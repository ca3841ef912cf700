//! The device alone, without run loop and measurement, to count its instructions. Random pages with 32
//! outstanding commands on an SSD of a preset with 64 blocks a plane. Most blocks are spare, so that GC does
//! not run.
//!
//! ```sh
//! cargo bench -p wordline-bench --bench alone --no-run # names the program
//! valgrind --tool=callgrind alone cubeftl-factors write 20000
//! valgrind --tool=callgrind alone cubeftl-factors write 40000
//! ```
//!
//! A request costs the difference of the two counts, divided by 20,000.

use wordline_device::{BlockDevice, Command, Operation, SECTOR};
use wordline_kernel::{Calendar, Instant, Schedule, Seed};
use wordline_lab::devices::DeviceType;
use wordline_lab::{Device as Described, Selection};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Outstanding commands.
const DEPTH: u32 = 32;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` runs every benchmark without these arguments.
    let usage = || println!("usage: alone PRESET read|write COMMANDS [KEY=VALUE ...]");
    let [preset, kind, count, set @ ..] = &arguments[..] else { return usage() };
    let operation = match kind.as_str() {
        "read" => Operation::Read,
        "write" => Operation::Write,
        _ => return usage(),
    };
    let small = ["part.geometry.blocks_per_plane=64", "ftl.over_provisioning=0.6"].map(str::to_owned);
    let set = small.iter().chain(set).cloned().collect();
    let selection = Selection { preset: Some(preset.clone()), set, ..Selection::default() };
    let described = Described::load(&selection).expect("a preset and its settings");
    let mut device = described.ssd().expect("a preset of an SSD").build(Seed(1));
    device.fill(1.0);
    play(&mut device, operation, count.parse().expect("a number of commands"));
}

/// Submits `count` commands and runs until all have completed.
fn play(device: &mut wordline_ssd::Device, operation: Operation, count: u32) {
    let (shape, mut calendar) = (device.shape(), Calendar::new());
    let (pages, sectors) = (shape.capacity.0 / shape.logical_page.0, shape.logical_page.0 / SECTOR.0);
    let (mut random, mut given, mut completed) = (Seed(1).stream("alone", 0), 0, 0);
    while completed < count {
        while given < count && given - completed < DEPTH {
            let sector = random.below(pages) * sectors;
            let command = Command { operation, sector, sectors, tag: given, ..Command::default() };
            device.submit(command, &mut calendar);
            given += 1;
        }
        let event = calendar.advance().expect("a command is outstanding");
        device.handle(event, &mut calendar);
        completed += device.completions().len() as u32;
        device.clear_completions();
    }
    device.audit(calendar.now() - Instant::ZERO);
}
