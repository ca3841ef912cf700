//! Front end: the latency over a link must add up, the link must be the bottleneck where it should be, and
//! every command must complete once, with any queues and arbitration.

use proptest::prelude::*;
use wordline_device::link::PcieFile;
use wordline_device::times::Component;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_ftl::policy::router::RouterKind;
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::{Interface, NamespaceFile};
use wordline_ssd::front::config::Arbitration;

use crate::common::{Rig, small};

/// Pages of 4 KiB on four channels with eight dies each: far more flash throughput than a link has. A buffer
/// access takes no time.
fn file(interface: Interface) -> DeviceFile {
    let mut file = small();
    file.layout.channels = 4;
    file.layout.dies_per_package = 8;
    file.layout.planes_per_row = Some(1);
    file.buffer.access_time = Duration::ZERO;
    file.buffer.flush_interval = Duration::ZERO;
    file.front.interface = interface;
    file
}

/// Read of 4 KiB from an idle chip. See `closed_form.rs`.
const FLASH_READ: Duration = Duration::from_ns(295 + 25_000 + 50 + 10_240);

/// Time of `bytes` on a PCIe generation 3 link with four lanes: 32 bits in a nanosecond, with 128b/130b
/// coding, rounded up for each message.
fn pcie(bytes: u64) -> Duration {
    Duration::from_ps((bytes * 8 * 130 * 1_000).div_ceil(128 * 32))
}

/// Time of a Serial ATA frame of `bytes` bytes with its start, checksum and end, at 6 Gb/s with 10 bits for
/// each byte, plus its handshake.
fn frame(bytes: u64) -> Duration {
    Duration::from_ps(((bytes + 12) * 10_000).div_ceil(6)) + Duration::from_ns(100)
}

#[test]
fn an_unloaded_read_over_pcie_takes_the_sum_of_its_parts() {
    let mut file = file(Interface::Nvme);
    file.front.command_time = Duration::from_us(2);
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let one_way = Duration::from_ns(250);
    let doorbell = pcie(24 + 4) + one_way;
    let fetch = pcie(24) + pcie(20 + 64) + one_way * 2;
    let data = pcie(4096 + 16 * 24);
    let completion = pcie(24 + 16 + 24 + 4) + one_way;
    let wanted = doorbell + fetch + Duration::from_us(2) + FLASH_READ + data + completion;
    assert_eq!(rig.alone(Operation::Read, false, 0, 8), wanted);
    let spent = |component: Component| rig.device.totals().times.spent[0][component as usize];
    assert_eq!(spent(Component::Link), u128::from((doorbell + fetch + data + completion).ps()));
    assert_eq!(spent(Component::Controller), 2_000_000);
    assert_eq!((spent(Component::Queue), spent(Component::Buffer)), (0, 0));
}

#[test]
fn a_prefetched_lookup_may_be_of_no_sectors_at_the_end_of_the_device() {
    let mut rig = Rig::new(file(Interface::Direct), 1);
    rig.device.fill(1.0);
    let sector = rig.device.config().ftl.capacity().0 / 512;
    let at_the_end = Command { operation: Operation::Read, sector, sectors: 0, ..Command::default() };
    rig.device.prefetch_lookups([Some(&at_the_end), Some(&at_the_end)]);
    rig.submit_command(at_the_end);
    rig.run_down_to(0);
    assert!(!rig.completions[0].1.failed);
}

#[test]
fn an_unloaded_write_over_pcie_fetches_its_data() {
    let mut rig = Rig::new(file(Interface::Nvme), 1);
    let one_way = Duration::from_ns(250);
    let command = pcie(24 + 4) + one_way + pcie(24) + pcie(20 + 64) + one_way * 2;
    // The read request, its latency and that of its completion, and sixteen packets.
    let data = pcie(24) + one_way * 2 + pcie(4096 + 16 * 20);
    let completion = pcie(24 + 16 + 24 + 4) + one_way;
    assert_eq!(rig.alone(Operation::Write, false, 0, 8), command + data + completion);
    assert!(rig.alone(Operation::Flush, false, 0, 0) > command + completion, "the write goes to flash");
    // With nothing to destage, a flush is a command without data.
    assert_eq!(rig.alone(Operation::Flush, false, 0, 0), command + completion);
}

#[test]
fn an_unloaded_read_over_sata_takes_its_frames() {
    let mut rig = Rig::new(file(Interface::Sata), 1);
    rig.device.fill(1.0);
    // Frames: command, release, setup of the transfer, data with their header, and set device bits.
    let frames = frame(20) + frame(20) + frame(28) + frame(4 + 4096) + frame(8);
    assert_eq!(rig.alone(Operation::Read, false, 0, 8), frames + FLASH_READ);
}

/// Reads or writes `sectors` at a time at queue depth `depth`. Returns the time of `count` commands in the
/// steady state.
fn steady(rig: &mut Rig, operation: Operation, sectors: u64, depth: usize, count: u64) -> Duration {
    let places = u64::from(rig.device.config().ftl.logical_pages) * 8 / sectors;
    let warm = 4 * depth as u64;
    let mut start = Instant::ZERO;
    for n in 0..warm + count {
        rig.run_down_to(depth - 1);
        if n == warm {
            start = rig.calendar_now();
        }
        let command = Command {
            operation,
            sector: n % places * sectors,
            sectors,
            queue: n as u16,
            ..Command::default()
        };
        rig.submit_command(command);
    }
    rig.run_down_to(depth - 1);
    rig.calendar_now() - start
}

#[test]
fn sequential_reads_are_bound_by_the_pcie_link() {
    let mut file = file(Interface::Nvme);
    file.front.nvme.link = PcieFile { generation: 1, lanes: 1, ..PcieFile::default() };
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let time = steady(&mut rig, Operation::Read, 256, 32, 500);
    // To the host: 512 packets of 256 B with 24 B around each, the fetch of 24 B, and 68 B of completion and
    // interrupt, at 4 ns for each byte.
    let wanted = Duration::from_ns((512 * 280 + 24 + 68) * 4) * 500;
    let ratio = time.ps() as f64 / wanted.ps() as f64;
    assert!((ratio - 1.0).abs() < 0.01, "{time} for {wanted}");
    let elapsed = rig.calendar_now();
    let port = rig.device.front().link().expect("the interface has a link");
    let busy: Vec<f64> = port.busy(elapsed).map(|busy| busy.seconds() / elapsed.seconds()).collect();
    assert!(busy[1] > 0.98 && busy[1] <= 1.0 && busy[0] < 0.01, "{busy:?}");
}

#[test]
fn reads_and_writes_share_nothing_of_pcie_and_all_of_sata() {
    let time = |interface, mixed: bool| {
        let mut file = file(interface);
        file.front.nvme.link = PcieFile { generation: 1, lanes: 1, ..PcieFile::default() };
        file.buffer.size = Bytes::mib(8);
        let mut rig = Rig::new(file, 1);
        rig.device.fill(0.5);
        let sectors = u64::from(rig.device.config().ftl.logical_pages) * 8;
        for n in 0..400 {
            // Writes go to a few pages that stay in the buffer, so the flash is not the bottleneck.
            let (operation, sector) = if n % 2 == 0 || !mixed {
                (Operation::Read, n * 64 % (sectors / 2))
            } else {
                (Operation::Write, 0)
            };
            rig.run_down_to(31);
            rig.submit(operation, false, sector / 64 * 64, 64);
        }
        rig.run_down_to(0);
        (rig.calendar_now() - Instant::ZERO).seconds()
    };
    let (alone, mixed) = (time(Interface::Nvme, false), time(Interface::Nvme, true));
    assert!(mixed < 0.55 * alone, "half the reads beside as many writes: {mixed} s of {alone} s");
    let (alone, mixed) = (time(Interface::Sata, false), time(Interface::Sata, true));
    assert!((mixed / alone - 1.0).abs() < 0.02, "one thing at a time: {mixed} s, reads alone {alone} s");
}

#[test]
fn sata_reads_are_bound_by_its_frames() {
    let mut rig = Rig::new(file(Interface::Sata), 1);
    rig.device.fill(1.0);
    let time = steady(&mut rig, Operation::Read, 64, 32, 500);
    let frames = frame(20) + frame(20) + frame(28) + frame(4 + 8192) * 4 + frame(8);
    let ratio = time.ps() as f64 / (frames * 500).ps() as f64;
    assert!((ratio - 1.0).abs() < 0.01, "{time} for {}", frames * 500);
}

#[test]
fn sata_works_on_32_commands_and_the_host_holds_the_rest() {
    let mut file = file(Interface::Sata);
    file.front.queue_depth = 1000;
    file.front.command_time = Duration::from_ms(1);
    let mut rig = Rig::new(file, 1);
    (0..70).for_each(|n| rig.submit(Operation::Read, false, n * 8, 8));
    rig.run_down_to(0);
    let first =
        rig.completions.iter().filter(|(at, _)| at.since(Instant::ZERO) < Duration::from_ms(2)).count();
    let second =
        rig.completions.iter().filter(|(at, _)| at.since(Instant::ZERO) < Duration::from_ms(3)).count();
    assert_eq!((first, second - first), (32, 32));
}

#[test]
fn a_flush_is_alone_in_a_sata_device() {
    let mut file = file(Interface::Sata);
    file.front.command_time = Duration::from_us(100);
    let mut rig = Rig::new(file, 1);
    for operation in [Operation::Read, Operation::Flush, Operation::Read, Operation::Read] {
        rig.submit(operation, false, 0, 8);
    }
    rig.run_down_to(0);
    let operations: Vec<_> =
        rig.completions.iter().map(|(_, completion)| completion.command.operation).collect();
    assert_eq!(operations[..2], [Operation::Read, Operation::Flush]);
    let times: Vec<u64> =
        rig.completions.iter().map(|(at, _)| at.since(Instant::ZERO).ns() / 100_000).collect();
    assert_eq!(times, [1, 2, 3, 3], "one after another in steps of the firmware's time, then two at once");
}

#[test]
fn commands_start_in_the_proportion_of_their_weights() {
    let mut file = file(Interface::Nvme);
    file.front.queue_depth = 1;
    file.front.nvme.queues = 3;
    file.front.nvme.arbitration =
        Arbitration::WeightedRoundRobin { burst: 1, priorities: "HML".into(), high: 5, medium: 3, low: 2 };
    let mut rig = Rig::new(file, 1);
    for n in 0..3_000 {
        rig.submit_command(Command { queue: n % 3, tag: u32::from(n % 3), sectors: 8, ..Command::default() });
    }
    // The first command is alone when it arrives. All others arrive before it completes.
    rig.run_down_to(3_000 - 1_001);
    let count =
        |queue| rig.completions[1..].iter().filter(|(_, completion)| completion.command.tag == queue).count();
    let counts = [0, 1, 2].map(count);
    assert_eq!(counts.iter().sum::<usize>(), 1_000);
    // One command of tolerance, for the round that the first command began.
    assert!(
        counts[0].abs_diff(500) <= 1 && counts[1].abs_diff(300) <= 1 && counts[2].abs_diff(200) <= 1,
        "{counts:?}"
    );
}

#[test]
fn each_namespace_has_addresses_of_its_own() {
    let mut file = file(Interface::Direct);
    let half = NamespaceFile { size: Some(Bytes::mib(2)), fraction: None };
    file.namespaces = vec![half.clone(), half];
    let mut rig = Rig::new(file, 1);
    assert_eq!(rig.device.config().ftl.capacity(), Bytes::mib(4));
    let last = 2 * 2048 - 8;
    let write = Command { operation: Operation::Write, sector: last, sectors: 8, ..Command::default() };
    rig.submit_command(Command { namespace: 1, ..write });
    rig.submit_command(write);
    rig.submit_command(write);
    rig.run_down_to(0);
    assert_eq!(
        rig.completions[0].1.command,
        Command { namespace: 1, ..write },
        "the answer has the host's address"
    );
    let version = |page| rig.device.version(wordline_ftl::map::LogicalPage(page));
    assert_eq!((version(511), version(1023)), (Some(2), Some(1)));
}

#[test]
#[should_panic(expected = "a command beyond the capacity")]
fn a_command_beyond_its_namespace_is_a_bug() {
    let mut file = file(Interface::Direct);
    file.namespaces = vec![NamespaceFile { size: Some(Bytes::mib(2)), fraction: None }];
    let mut rig = Rig::new(file, 1);
    rig.submit(Operation::Read, false, 4096 - 7, 8);
}

#[test]
fn zeroes_forget_whole_pages_and_write_parts_of_others() {
    let mut rig = Rig::new(file(Interface::Nvme), 1);
    rig.device.fill(1.0);
    rig.alone(Operation::WriteZeroes, true, 4, 24);
    let version = |page| rig.device.version(wordline_ftl::map::LogicalPage(page));
    assert_eq!([0, 1, 2, 3, 4].map(version), [Some(2), None, None, Some(2), Some(1)]);
}

#[test]
fn a_comparison_fails_when_a_page_is_of_another_version() {
    let mut rig = Rig::new(file(Interface::Nvme), 1);
    rig.device.fill(1.0);
    rig.alone(Operation::Write, true, 8, 8);
    let mut compare = |sector, sectors, expected| {
        rig.compare(sector, sectors, expected);
        rig.run_down_to(0);
        !rig.completions.last().expect("it was answered").1.failed
    };
    assert!(compare(0, 32, 0), "what the host wrote last is there");
    assert!(compare(8, 8, 2) && compare(16, 8, 1));
    assert!(!compare(8, 8, 1) && !compare(8, 16, 2), "page 1 is of version 2, page 2 of version 1");
}

/// Pages that GC relocates if one write in sixteen, in stream 1, is to a page that is never written again.
fn moved_with_streams(streams: u8) -> u64 {
    let mut file = file(Interface::Direct);
    (file.layout.channels, file.layout.dies_per_package) = (1, 1);
    file.ftl.router = RouterKind::Host { streams };
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (5, 5);
    file.ftl.over_provisioning = 0.5;
    let mut rig = Rig::new(file, 1);
    for n in 0..3_200 {
        let (stream, page) = if n % 16 == 0 { (1, n / 16) } else { (0, 300 + n % 8) };
        rig.run_down_to(3);
        let (operation, sector) = (Operation::Write, page * 8);
        rig.submit_command(Command {
            operation,
            fua: true,
            stream,
            sector,
            sectors: 8,
            ..Command::default()
        });
    }
    rig.run_down_to(0);
    rig.audit();
    rig.device.totals().gc_programs
}

#[test]
fn writes_of_two_streams_fill_blocks_of_their_own() {
    // Blocks with only frequently rewritten pages have no valid pages when they are collected.
    let (together, apart) = (moved_with_streams(1), moved_with_streams(2));
    assert!(apart * 10 < together, "{apart} pages moved with two streams, {together} with one");
}

fn arbitration() -> impl Strategy<Value = Arbitration> {
    let burst = prop::sample::select(vec![0u32, 1, 2, 8]);
    prop_oneof![
        burst.clone().prop_map(|burst| Arbitration::RoundRobin { burst }),
        (burst, "[UHML]{1,6}", 1u32..5, 1u32..5, 1u32..5).prop_map(
            |(burst, priorities, high, medium, low)| {
                Arbitration::WeightedRoundRobin { burst, priorities, high, medium, low }
            }
        ),
    ]
}

prop_compose! {
    fn device()(
        interface in prop::sample::select(vec![Interface::Direct, Interface::Nvme, Interface::Sata]),
        queues in 1u32..70,
        entries in 2u32..6,
        depth in 1u32..9,
        arbitration in arbitration(),
        command_time in 0u64..3,
        latency in 0u64..300,
        lanes in prop::sample::select(vec![1u32, 4]),
    ) -> DeviceFile {
        let mut file = small();
        file.front.interface = interface;
        file.front.queue_depth = depth;
        file.front.command_time = Duration::from_us(command_time);
        file.front.nvme.queues = queues;
        file.front.nvme.entries = entries;
        file.front.nvme.arbitration = arbitration;
        file.front.nvme.link = PcieFile { lanes, latency: Duration::from_ns(latency), ..PcieFile::default() };
        file
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_command_completes_once_and_its_time_adds_up(
        file in device(),
        steps in prop::collection::vec((0usize..6, any::<u16>(), 1u64..60, any::<u16>(), any::<bool>()), 1..300),
        depth in 1usize..64,
    ) {
        let mut rig = Rig::new(file, 1);
        rig.device.fill(0.5);
        let sectors = u64::from(rig.device.config().ftl.logical_pages) * 8;
        for (n, (operation, place, count, queue, fua)) in steps.iter().enumerate() {
            rig.run_down_to(depth - 1);
            let sector = u64::from(*place) * 31 % sectors;
            rig.submit_command(Command {
                operation: Operation::ALL[*operation],
                fua: *fua,
                queue: *queue,
                sector,
                sectors: (*count).min(sectors - sector),
                tag: n as u32,
                ..Command::default()
            });
        }
        rig.run_down_to(0);
        rig.audit();
        let mut tags: Vec<u32> = rig.completions.iter().map(|(_, completion)| completion.command.tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..steps.len() as u32).collect::<Vec<_>>());
        for (kind, operation) in [Operation::Read, Operation::Write].into_iter().enumerate() {
            let of_kind = rig.completions.iter().filter(|(_, completion)| completion.command.operation == operation);
            let latency: u128 = of_kind.map(|(_, completion)| u128::from(completion.latency.ps())).sum();
            prop_assert_eq!(rig.device.totals().times.spent[kind].iter().sum::<u128>(), latency);
        }
    }
}
