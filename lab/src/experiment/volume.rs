//! Volumes of papers' trace tables as what a point of a sweep asks of its device.

use std::path::Path;

use wordline_kernel::{Bytes, Seed};

use super::sweep::Volume;
use crate::error::Result;
use crate::run::Precondition;
use crate::summary::{Source, SourceKind};
use crate::trace::{self, Fit, Request};
use crate::workload::{RealOrProfile, resolve};

/// The requests of a volume on a device.
pub(super) struct VolumeRequests {
    /// What they are.
    pub source: Source,
    /// The requests, all within the device.
    pub requests: Box<dyn Iterator<Item = Request> + Send>,
    /// How many there are.
    pub total: u64,
    /// The byte after the last one that any of them touches before it is wrapped.
    pub extent: Bytes,
}

impl Volume {
    /// Its requests for a device of `capacity` logical bytes: those of the recorded trace in the folder `traces`, or else
    /// generated.
    pub(super) fn requests(
        &self,
        traces: Option<&Path>,
        seed: u64,
        capacity: Bytes,
    ) -> Result<VolumeRequests> {
        match resolve(&self.profile, traces)? {
            RealOrProfile::Real(path) => {
                let mut trace = trace::read(&path, &trace::Options::default())?;
                let count = (trace.requests.len() as f64 * self.scale).ceil() as usize;
                trace.requests.truncate(count);
                let source = trace.source();
                let report = trace::fit(&mut trace.requests, capacity, Fit::Wrap)?;
                let total = trace.requests.len() as u64;
                let requests = Box::new(trace.requests.into_iter());
                Ok(VolumeRequests { source, requests, total, extent: report.extent })
            }
            RealOrProfile::Profile(profile) => {
                let generator = profile.generator(Seed(seed), self.scale);
                let source = Source { name: profile.name.clone(), kind: SourceKind::Profile };
                let (extent, total) = (generator.span(), generator.size_hint().0 as u64);
                // No request of a profile is as long as any device is large.
                let requests = Box::new(generator.map(move |mut request| {
                    trace::wrap(&mut request, capacity);
                    request
                }));
                Ok(VolumeRequests { source, requests, total, extent })
            }
        }
    }
}

/// The state before, where all addresses up to `extent` are to hold data.
pub(super) fn covering(before: Precondition, extent: Bytes, capacity: Bytes) -> Precondition {
    let reached = (extent.0 as f64 / capacity.0 as f64).min(1.0);
    match before {
        Precondition::SteadyTo(fraction) if reached > fraction => Precondition::SteadyTo(reached),
        before => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: Bytes = Bytes(1 << 30);

    fn volume(scale: f64) -> Volume {
        Volume { profile: "centaur/proj_0".into(), queue_depth: Some(32), scale }
    }

    #[test]
    fn a_volume_larger_than_the_device_is_wrapped_into_it_request_by_request() {
        let found = volume(0.001).requests(None, 1, Bytes::mib(1)).expect("a profile");
        assert!(found.extent > Bytes::mib(1) && found.source.kind == SourceKind::Profile);
        let requests: Vec<Request> = found.requests.collect();
        assert_eq!(requests.len() as u64, found.total);
        assert!(requests.iter().all(|request| request.offset + request.size <= Bytes::mib(1)));
        // 0.527 and 3.697 million requests, Centaur, table 1.
        assert_eq!(found.total, 527 + 3_697);
    }

    #[test]
    fn a_recorded_trace_goes_before_the_profile_and_is_cut() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let line = |n: u64| format!("{},proj,0,Write,{},4096,100\n", 128_166_372_000_000_000 + n, n * 4096);
        let text: String = (0..10).map(line).collect();
        std::fs::write(folder.path().join("proj_0.csv"), text).expect("the folder can be written");
        let found = volume(0.35).requests(Some(folder.path()), 1, GIB).expect("a trace");
        assert_eq!((found.total, found.source.kind), (4, SourceKind::RealTrace));
        assert_eq!(found.extent, Bytes(4 * 4096));
    }

    #[test]
    fn a_device_is_filled_as_far_as_its_volume_reaches_and_no_less_than_was_asked() {
        let before = Precondition::SteadyTo(0.5);
        assert_eq!(covering(before, Bytes::mib(100), GIB), before);
        assert_eq!(covering(before, Bytes::mib(768), GIB), Precondition::SteadyTo(0.75));
        assert_eq!(covering(before, Bytes::gib(7), GIB), Precondition::SteadyTo(1.0));
        assert_eq!(covering(Precondition::Steady, Bytes::gib(7), GIB), Precondition::Steady);
    }
}
