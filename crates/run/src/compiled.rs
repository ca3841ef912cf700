//! The devices whose runs are compiled with this crate in development builds.
//!
//! A run is generic over its device, and a device over its calendar, so their code is compiled with the crate
//! that names the device. Naming the devices here compiles it once, with the optimization of this crate. The
//! crates above use that code in their tests, and need no optimization of their own.

use std::hint::black_box;

use wordline_device::{BlockDevice, FixedLatency};
use wordline_host::{direct::Direct, pblk::Pblk, raid5::Raid5};
use wordline_open_channel::{OpenChannel, Zoned};
use wordline_ssd::Device;

use crate::change::Change;
use crate::prepare::Prepared;
use crate::running;

/// The devices whose runs are compiled here.
pub static COMPILED: [fn(); 6] = [
    compile::<Device>,
    compile::<FixedLatency>,
    compile::<Direct<OpenChannel>>,
    compile::<Pblk<OpenChannel>>,
    compile::<Pblk<Zoned<OpenChannel>>>,
    compile::<Raid5<Device>>,
];

/// Names the functions that the crates above call for a device, so that they are compiled.
fn compile<D>()
where
    D: BlockDevice<Event: Send, Mark: Send> + Send + 'static,
{
    black_box(Prepared::<D>::preconditioned as fn(_, _, _, _, _) -> _);
    black_box(Prepared::<D>::restored as fn(_, _) -> _);
    black_box(Prepared::<D>::save as fn(_, _, _, _, _) -> _);
    black_box(Change::apply::<D> as fn(_, _, _) -> _);
    black_box(running::begin::<D> as fn(_, _, _, _, _) -> _);
}
