//! Write sizes of a paper's volumes, and the distribution of updates over the addresses.

use std::path::Path;

use serde::{Deserialize, Serialize};
use wordline_kernel::Seed;

use crate::options::Options;
use crate::sweep::axes::Axis;
use wordline_lab::error::Result;
use wordline_lab::trace::workload::{Profile, RealOrProfile, resolve};
use wordline_lab::trace::{self, Op, Request, Statistics};

/// All volumes of a paper's trace table, or some of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volumes {
    /// Volumes, `PAPER/VOLUME`.
    pub volumes: Vec<String>,
}

/// Distribution of a volume's writes by size, and of its updates by address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WriteSizes {
    /// Number of writes.
    pub writes: u64,
    /// Mean size of a write in KiB.
    pub mean_kib: f64,
    /// Share of writes of up to 4 KiB.
    pub up_to_4k: f64,
    /// Share of writes of up to 8 KiB.
    pub up_to_8k: f64,
    /// Share of writes of up to 16 KiB.
    pub up_to_16k: f64,
    /// Share of writes of up to 32 KiB.
    pub up_to_32k: f64,
    /// Share of writes of less than 64 KiB.
    pub below_64k: f64,
    /// Share of the updates that go to the most rewritten fifth of the written addresses; see
    /// [`Statistics::hottest_fifth`].
    pub hottest_fifth: f64,
}

impl WriteSizes {
    /// Measures `requests`.
    pub fn of(requests: impl Iterator<Item = Request>) -> Self {
        let (mut writes, mut bytes, mut counts) = (0, 0, [0_u64; 5]);
        // A write of less than 64 KiB is at least a sector shorter.
        let bounds = [4 << 10, 8 << 10, 16 << 10, 32 << 10, (64 << 10) - 512];
        let count = |request: &Request| {
            writes += 1;
            bytes += request.size.0;
            for (count, bound) in counts.iter_mut().zip(bounds) {
                *count += u64::from(request.size.0 <= bound);
            }
        };
        let all = requests.filter(|request| request.op == Op::Write).inspect(count);
        let hottest_fifth = Statistics::of(all).hottest_fifth;
        let [up_to_4k, up_to_8k, up_to_16k, up_to_32k, below_64k] =
            counts.map(|count| count as f64 / writes.max(1) as f64);
        let mean_kib = bytes as f64 / 1024.0 / writes.max(1) as f64;
        Self { writes, mean_kib, up_to_4k, up_to_8k, up_to_16k, up_to_32k, below_64k, hottest_fifth }
    }
}

impl Volumes {
    /// The varied key of the experiment, which selects the points of expected values.
    pub(crate) fn axis(&self) -> Axis {
        let values = self.volumes.iter().map(|name| short(name).into()).collect();
        Axis { key: "volume".into(), values, sets: toml::Table::new() }
    }

    /// The fault of the volumes: key, value found, and value wanted.
    pub(crate) fn complaint(&self) -> Option<(&'static str, String, String)> {
        if self.volumes.is_empty() {
            return Some(("volumes", "none".into(), "volumes of a paper".into()));
        }
        let known = Profile::names();
        let unknown = self.volumes.iter().find(|volume| !known.contains(volume))?;
        Some(("volumes", format!("`{unknown}`"), format!("some of {}", known.join(", "))))
    }
}

/// Name of a volume without the name of the paper.
pub(crate) fn short(volume: &str) -> &str {
    volume.rsplit('/').next().unwrap_or(volume)
}

/// Measures the writes of `volume`: of the recorded trace if `traces` has it, otherwise of the profile.
pub(crate) fn measure(volume: &str, options: &Options) -> Result<WriteSizes> {
    let traces: Option<&Path> = options.traces.as_deref();
    Ok(match resolve(volume, traces)? {
        RealOrProfile::Real(path) => {
            WriteSizes::of(trace::read(&path, &trace::Options::default())?.requests.into_iter())
        }
        RealOrProfile::Profile(profile) => {
            WriteSizes::of(profile.generator(Seed(options.seed), options.scale(&profile)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_kernel::Bytes;

    #[test]
    fn writes_are_counted_by_size_and_reads_are_not() {
        let mut requests = wordline_lab::trace::embedded().requests;
        requests.truncate(5);
        for (request, size) in requests.iter_mut().zip([4 << 10, 6 << 10, 32 << 10, 64 << 10, 512]) {
            (request.op, request.size) = (Op::Write, Bytes(size));
        }
        requests[4].op = Op::Read;
        let found = WriteSizes::of(requests.into_iter());
        assert_eq!((found.writes, found.mean_kib), (4, 106.0 / 4.0));
        assert_eq!(
            (found.up_to_4k, found.up_to_8k, found.up_to_32k, found.below_64k),
            (0.25, 0.5, 0.75, 0.75)
        );
    }

    #[test]
    fn updates_of_one_address_in_five_are_all_in_the_hottest_fifth_and_reads_are_none() {
        let first = wordline_lab::trace::embedded().requests[0];
        let at =
            |op: Op, granule: u64| Request { op, offset: Bytes(granule * 4096), size: Bytes(4096), ..first };
        let once: Vec<Request> = (0..5).map(|granule| at(Op::Write, granule)).collect();
        let of = |again: &[Request]| WriteSizes::of(once.iter().chain(again).copied()).hottest_fifth;
        assert_eq!(of(&[at(Op::Write, 3), at(Op::Write, 3), at(Op::Read, 1), at(Op::Read, 2)]), 1.0);
        // Two of three updates go to granule 3, which is a fifth of the written granules.
        assert_eq!(of(&[at(Op::Write, 3), at(Op::Write, 3), at(Op::Write, 1)]), 2.0 / 3.0);
    }
}
