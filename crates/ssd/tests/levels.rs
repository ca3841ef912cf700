//! Buffer occupancy that designs see: in total, and for each pool.

use wordline_device::{BlockDevice, Operation};
use wordline_ftl::Design;
use wordline_ftl::design::{BufferOccupancy, DeviceEvent, EventMask, Needs, View};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Bytes, Metric, state};
use wordline_ssd::DeviceFile;
use wordline_ssd::config::BufferSpace;

use crate::common::{Rig, small, two_pools};

const fn most(name: &'static str) -> Metric {
    Metric::new(name, Unit::Pages, "The most pages of a pool in the buffer at once.")
}

static MOST: [Metric; 2] = [most("watch.first"), most("watch.second")];

/// Design that watches a buffer of `room` pages. It checks that the occupancies of the pools add up to the
/// total.
struct Watch {
    room: u32,
    most: [u32; 2],
}

state!(Watch { values { most } fixed { room } });

impl Design for Watch {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn needs(&self) -> Needs {
        Needs { observes: EventMask::BUFFER, ..Needs::of(&[]) }
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        let DeviceEvent::Buffer { level } = *seen else { return };
        assert_eq!((level, level.capacity), (view.buffer(), self.room));
        let pools: Vec<BufferOccupancy> =
            (0..view.pools().count()).map(|pool| view.buffer_of(pool)).collect();
        assert_eq!(pools.iter().map(|pool| pool.used).sum::<u32>(), level.used);
        let room: u32 = pools.iter().map(|pool| pool.capacity).sum();
        assert!(room <= level.capacity && room + pools.len() as u32 > level.capacity, "{room} of {level:?}");
        self.most.iter_mut().zip(&pools).for_each(|(most, pool)| *most = pool.used.max(*most));
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        MOST.iter().zip(self.most).map(|(metric, most)| (metric, Value::Count(most.into()))).collect()
    }
}

/// Greatest number of buffered pages of the first and of the second pool, during consecutive writes of
/// `sectors` sectors.
fn most_of(file: &DeviceFile, sectors: u64) -> [u64; 2] {
    let unit = file.ftl.mapping.unit.unwrap_or(file.part.geometry.page_size);
    let room = (file.buffer.size.0 / unit.0) as u32;
    let mut rig = Rig::with(file, Box::new(Watch { room, most: [0; 2] }), 1).expect("the device is sound");
    let new = rig.device.mark(rig.calendar_now());
    for n in 0..200 {
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, n * sectors, sectors);
    }
    rig.alone(Operation::Flush, false, 0, 0);
    let metrics = rig.device.metrics(&new, rig.calendar_now());
    MOST.each_ref().map(|metric| match metrics.get(metric.name) {
        Some(Value::Count(most)) => most,
        other => panic!("{} is {other:?}", metric.name),
    })
}

#[test]
fn the_buffer_of_one_pool_is_the_whole_buffer() {
    let [first, second] = most_of(&small(), 8);
    assert!(first > 0 && second == 0, "{first} and {second} pages");
}

#[test]
fn where_written_sectors_are_counted_the_buffer_is_full_when_they_fill_it() {
    let mut file = small();
    file.ftl.mapping.unit = Some(Bytes::kib(8));
    (file.buffer.flush_above, file.buffer.space) = (0.9, BufferSpace::Written);
    let room = file.buffer.size.0 >> 13;
    for (sectors, part) in [(16, 1), (8, 2)] {
        let [most, _] = most_of(&file, sectors);
        assert!(
            most * 10 > room * 8 && most <= room + 1,
            "1 part in {part} of a page: {most} of {room} pages"
        );
    }
}

#[test]
fn pages_on_their_way_to_a_pool_fill_its_part_of_the_buffer() {
    let [_, second] = most_of(&two_pools(1 << 20), 8);
    assert!(second > 1, "no piece is large enough for the first pool");
    let [first, none] = most_of(&two_pools(0), 8);
    assert!(first > 1 && none == 0, "each is: {first} and {none} pages");
}
