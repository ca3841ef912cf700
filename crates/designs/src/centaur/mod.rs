//! Centaur, an SSD of 2D SLC and 3D TLC chips (Centaur, section 5), and the hybrid that it is compared with (section 6.2.5).
//! Both are routers: they say which pool a piece of a unit goes to. Stealing (algorithm 2) and migration (algorithm 3) are the
//! built-in policies `valid-share` of the seams balancer and relocator, which a device names beside the design.

mod dispatcher;
mod hybrid;
mod sizes;

use wordline_ssd::pools::PoolState;

pub use dispatcher::{Dispatcher, DispatcherFile};
pub use hybrid::{Hybrid, HybridFile};
pub use sizes::Sizes;

/// Streams of the routers of this folder: one for each pool.
pub const STREAMS: u8 = 2;
/// The first pool and its stream: 3D, or MLC.
const LARGE: u8 = 0;
/// The second pool and its stream: 2D, or SLC.
const SMALL: u8 = 1;

/// Spent lifetimes of the 2D chips and of the 3D chips (equation 1).
fn spent(pools: &[PoolState]) -> [f64; 2] {
    [SMALL, LARGE].map(|pool| pools[usize::from(pool)].spent())
}
