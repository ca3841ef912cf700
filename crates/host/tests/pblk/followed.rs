//! The contents of sectors, as reported to layers above.

use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::{Calendar, Schedule};

use super::rig::{SECTORS, build, tiny};

#[test]
fn each_page_of_a_write_has_the_contents_that_it_carries_and_a_cut_forgets_what_reads_found() {
    let mut device = build(tiny(), 1);
    device.follow_contents();
    let mut calendar = Calendar::new();
    let command = |operation, tag| Command {
        operation,
        tag,
        sector: 5 * SECTORS,
        sectors: 3 * SECTORS,
        ..Command::default()
    };
    let contents: Vec<Content> = (100..100 + 3 * SECTORS as u32).map(Content::of).collect();
    device.submit_with(command(Operation::Write, 1), &contents, &mut calendar);
    for tag in 2..4 {
        device.submit(command(Operation::Read, tag), &mut calendar);
        while device.outstanding() > 0 {
            let event = calendar.advance().expect("something is under way");
            device.handle(event, &mut calendar);
        }
    }
    assert_eq!(device.take_contents(2), Some(contents));
    device.power_cut(calendar.now());
    assert_eq!(device.take_contents(3), None);
}
