//! Volumes of a paper's trace table as the workload of a point.

use std::path::Path;

use wordline_host::Pace;
use wordline_kernel::{Bytes, Complaints, Duration, Instant, Seed};

use crate::sweep::{ProfileDuration, Settle, Volume};
use wordline_lab::error::Result;
use wordline_lab::summary::{Source, SourceKind};
use wordline_lab::trace::workload::{Bursts, Profile, RealOrProfile, resolve};
use wordline_lab::trace::{self, Fit, Request};
use wordline_lab::{Precondition, Settling};

/// The requests of a volume on a device.
pub(crate) struct VolumeRequests {
    /// Source of the requests.
    pub source: Source,
    /// The requests, all within the device.
    pub requests: Box<dyn Iterator<Item = Request> + Send>,
    /// Number of measured requests.
    pub total: u64,
    /// The passes that settle the device before the measured requests, if there are any.
    pub settling: Option<Settling>,
    /// Byte after the last one that the requests address, before addresses are wrapped into the device.
    pub extent: Bytes,
}

impl Volume {
    /// The pace of the requests.
    pub(crate) fn pace(&self) -> Pace {
        match (self.queue_depth, self.time_scale) {
            (None, time_scale) => Pace::Open { time_scale: time_scale.unwrap_or(1.0) },
            (Some(depth), None) => Pace::Closed { depth, think: Duration::ZERO },
            (Some(depth), Some(time_scale)) => Pace::Bounded { depth, time_scale },
        }
    }

    /// Rejects volumes that no device can run.
    pub(crate) fn check(&self, wrong: &mut Complaints) {
        let Self { profile, queue_depth, time_scale, bursts, scale, requests, duration, settle } = self;
        if let Some(Err(trace::Error::Argument { found, wanted, .. })) = bursts.as_deref().map(Bursts::named)
        {
            wrong.add("volume.bursts", found, wanted);
        }
        if let Some(Settle { columns, within, most }) = settle {
            if columns.is_empty() {
                wrong.add("volume.settle.columns", "none", "columns of the result of a pass");
            }
            if !(*within > 0.0 && *within < 1.0) {
                wrong.add("volume.settle.within", within, "a fraction above 0 and below 1");
            }
            if *most < 2 {
                wrong.add("volume.settle.most", most, "at least 2 passes, which are compared");
            }
        }
        let has_no_times = |found: &Profile| found.chosen.duration.is_none();
        match Profile::named(profile) {
            // If all requests came at once, queueing would be unbounded.
            Ok(found) if queue_depth.is_none() && has_no_times(&found) => wrong.add(
                "volume.queue_depth",
                "none",
                format!("a queue depth, for the requests of `{profile}` have no times"),
            ),
            Ok(found) if time_scale.is_some() && has_no_times(&found) => {
                let wanted = format!("none: the requests of `{profile}` have no times");
                wrong.add("volume.time_scale", "a factor", wanted);
            }
            Ok(found)
                if *duration == ProfileDuration::AsExtract && found.chosen.recorded_requests.is_none() =>
            {
                let wanted =
                    format!("as-chosen: how many requests were recorded of `{profile}` is not known");
                wrong.add("volume.duration", "as-extract", wanted);
            }
            Err(trace::Error::Argument { found, wanted, .. }) => {
                wrong.add("volume.profile", found, wanted);
            }
            _ => {}
        }
        wrong.require(*queue_depth != Some(0), "volume.queue_depth", 0, "at least 1");
        wrong.require(*requests != Some(0), "volume.requests", 0, "at least 1");
        let holds = *scale > 0.0 && *scale <= 1.0;
        wrong.require(holds, "volume.scale", scale, "a fraction above 0, up to 1");
        if let Some(factor) = time_scale {
            let holds = factor.is_finite() && *factor > 0.0;
            wrong.require(
                holds,
                "volume.time_scale",
                factor,
                "a factor above 0, such as 0.5 for twice as fast",
            );
        }
    }

    /// Returns the requests for a device of `capacity` logical bytes: the requests of the recorded trace in
    /// the folder `traces`, or generated requests.
    pub(crate) fn requests(
        &self,
        traces: Option<&Path>,
        seed: u64,
        capacity: Bytes,
    ) -> Result<VolumeRequests> {
        let limit = self.requests.map_or(usize::MAX, |requests| requests as usize);
        match resolve(&self.profile, traces)? {
            RealOrProfile::Real(path) => {
                let mut trace = trace::read(&path, &trace::Options::default())?;
                let count = (trace.requests.len() as f64 * self.scale).ceil() as usize;
                trace.requests.truncate(count.min(limit));
                let source = trace.source().recorded();
                let report = trace::fit(&mut trace.requests, capacity, Fit::Wrap)?;
                let total = trace.requests.len() as u64;
                let pass = move || trace.requests.clone().into_iter();
                let requests = Box::new(ReplayPasses::of(pass, self.passes_before()));
                Ok(VolumeRequests {
                    source,
                    requests,
                    total,
                    settling: self.settling(total),
                    extent: report.extent,
                })
            }
            RealOrProfile::Profile(profile) => {
                let mut profile = match self.duration {
                    ProfileDuration::AsChosen => *profile,
                    ProfileDuration::AsExtract => profile.as_extract(),
                };
                profile.bursts = self.bursts.as_deref().map(Bursts::named).transpose()?;
                let source = Source { name: profile.name.clone(), kind: SourceKind::Profile };
                let (extent, scale) = (profile.generator(Seed(seed), self.scale).span(), self.scale);
                let pass = move || profile.generator(Seed(seed), scale).take(limit);
                let total = pass().size_hint().0 as u64;
                // No request of a profile is longer than a device, so wrapping suffices.
                let requests =
                    Box::new(ReplayPasses::of(pass, self.passes_before()).map(move |mut request| {
                        trace::wrap(&mut request, capacity);
                        request
                    }));
                Ok(VolumeRequests { source, requests, total, settling: self.settling(total), extent })
            }
        }
    }

    /// Maximum number of passes before the measured one.
    fn passes_before(&self) -> u32 {
        self.settle.as_ref().map_or(0, |settle| settle.most)
    }

    /// The settings for settling the device, with `pass` requests in a pass.
    fn settling(&self, pass: u64) -> Option<Settling> {
        let Settle { columns, within, most } = self.settle.clone()?;
        Some(Settling { pass, most, columns, within })
    }
}

/// Requests of a volume, pass after pass. Each pass begins at the last arrival of the previous pass.
struct ReplayPasses<I, F> {
    /// Makes the requests of a pass.
    pass: F,
    /// The remaining requests of the current pass.
    now: I,
    /// Number of passes that remain.
    left: u32,
    /// Begin of the current pass.
    begin: Duration,
    /// Arrival of the last request.
    last: Instant,
}

impl<I, F: FnMut() -> I> ReplayPasses<I, F> {
    fn of(mut pass: F, replays: u32) -> Self {
        Self { now: pass(), pass, left: replays, begin: Duration::ZERO, last: Instant::ZERO }
    }
}

impl<I: Iterator<Item = Request>, F: FnMut() -> I> Iterator for ReplayPasses<I, F> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        loop {
            if let Some(request) = self.now.next() {
                self.last = request.arrival + self.begin;
                return Some(Request { arrival: self.last, ..request });
            }
            self.left = self.left.checked_sub(1)?;
            self.begin = self.last.since(Instant::ZERO);
            self.now = (self.pass)();
        }
    }
}

/// Extends a precondition so that all addresses up to `extent` contain data.
pub(crate) fn covering(before: Precondition, extent: Bytes, capacity: Bytes) -> Precondition {
    let reached = (extent.0 as f64 / capacity.0 as f64).min(1.0);
    match before {
        Precondition::SteadyTo(fraction) if reached > fraction => Precondition::SteadyTo(reached),
        before => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Kind, Library, Options, Point, Points, Workload};

    const GIB: Bytes = Bytes(1 << 30);

    fn volume(scale: f64) -> Volume {
        Volume {
            profile: "centaur/proj_0".into(),
            queue_depth: Some(32),
            time_scale: None,
            bursts: None,
            duration: ProfileDuration::default(),
            scale,
            requests: None,
            settle: None,
        }
    }

    #[test]
    fn an_extract_lasts_as_long_as_its_share_of_the_recording() {
        let last = |duration| {
            let volume = Volume {
                profile: "ressd/prn_1".into(),
                queue_depth: None,
                time_scale: None,
                bursts: None,
                duration,
                scale: 0.01,
                requests: None,
                settle: None,
            };
            let found = volume.requests(None, 1, GIB).expect("a profile");
            found.requests.last().expect("there are requests").arrival.since(wordline_kernel::Instant::ZERO)
        };
        let ratio = last(ProfileDuration::AsExtract).seconds() / last(ProfileDuration::AsChosen).seconds();
        // 31.1 % of the writes of 13.8 KiB, 4.05 GiB in total, are 0.99 of 11.2 million requests.
        assert!((0.087..0.090).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_volume_has_its_times_scaled_and_a_bound_beside_them() {
        let pace = |queue_depth, time_scale| Volume { queue_depth, time_scale, ..volume(1.0) }.pace();
        assert_eq!(pace(None, None), Pace::Open { time_scale: 1.0 });
        assert_eq!(pace(None, Some(0.1)), Pace::Open { time_scale: 0.1 });
        assert_eq!(pace(Some(8), None), Pace::Closed { depth: 8, think: Duration::ZERO });
        assert_eq!(pace(Some(8), Some(0.1)), Pace::Bounded { depth: 8, time_scale: 0.1 });
    }

    #[test]
    fn a_volume_that_settles_its_device_comes_again_from_its_last_request_on() {
        let settle = Settle { columns: vec!["flash.programs".into()], within: 0.02, most: 2 };
        let [once, thrice] = [None, Some(settle)]
            .map(|settle| Volume { settle, ..volume(0.001) }.requests(None, 1, GIB).expect("a profile"));
        let settling = thrice.settling.expect("it was asked for");
        assert_eq!((thrice.total, settling.pass, settling.most), (once.total, once.total, 2));
        let once: Vec<Request> = once.requests.collect();
        let last = once.last().expect("there are requests").arrival.since(Instant::ZERO);
        let of_pass =
            |pass: u64| once.iter().map(move |one| Request { arrival: one.arrival + last * pass, ..*one });
        assert!(thrice.requests.eq((0..3).flat_map(of_pass)));
    }

    #[test]
    fn a_volume_larger_than_the_device_is_wrapped_into_it_request_by_request() {
        let found = volume(0.001).requests(None, 1, Bytes::mib(1)).expect("a profile");
        assert!(found.extent > Bytes::mib(1) && found.source.kind == SourceKind::Profile);
        let requests: Vec<Request> = found.requests.collect();
        assert_eq!(requests.len() as u64, found.total);
        assert!(requests.iter().all(|request| request.offset + request.size <= Bytes::mib(1)));
        // 0.527 and 3.697 million requests: Centaur, table 1.
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

    #[test]
    fn requests_without_times_are_not_run_at_their_own_times() {
        let text = |volume: &str| {
            format!(
                "title = \"T\"\nsource = \"S\"\nclaims = []\n[kind.sweep]\npreset = \"centaur-3d\"\n\
                 [kind.sweep.workload.volume]\nprofile = \"{volume}\"\n\
                 [[expect]]\nwhat = \"W\"\ncolumn = \"host.iops\"\nunit = \"1\"\nshown = true\nsource = \"S\"\n"
            )
        };
        let parse =
            |volume| Experiment::parse("paper/name", Path::new("dir/experiment.toml"), &text(volume), None);
        parse("centaur/hm_1").expect("its requests have times");
        let error = parse("nandflashsim/web").expect_err("they have none").to_string();
        assert!(error.contains("volume.queue_depth: found none, wanted a queue depth"), "{error}");
        let error = parse("nandflashsim/web\"\nqueue_depth = 1\ntime_scale = 0.5 # \"")
            .expect_err("the same")
            .to_string();
        assert!(error.contains("volume.time_scale: found a factor, wanted none"), "{error}");
        let error = parse("centaur/hm_1\"\ntime_scale = 0.0 # \"").expect_err("all at once").to_string();
        assert!(error.contains("volume.time_scale: found 0, wanted a factor above 0"), "{error}");
    }

    /// Experiments of Centaur that run devices, with their points.
    fn of_centaur(quick: bool) -> Vec<(String, Vec<Point>)> {
        let library = Library::open(None).expect("well formed");
        let options = Options { quick, ..Options::default() };
        let points = |experiment: &Experiment| match &experiment.kind {
            Kind::Sweep(sweep) => sweep.points(&experiment.path, &options).expect("sound"),
            _ => Vec::new(),
        };
        let all = library.iter().filter(|experiment| experiment.id.starts_with("centaur/"));
        all.map(|experiment| (experiment.id.clone(), points(experiment))).collect()
    }

    /// Number of outstanding requests, if a point replays a volume or a trace. The inner value is `None` if
    /// it has its own times.
    fn depth(point: &Point) -> Option<Option<u32>> {
        match &point.workload {
            Workload::Volume(Volume { queue_depth, .. }) | Workload::Replayed { queue_depth, .. } => {
                Some(*queue_depth)
            }
            _ => None,
        }
    }

    #[test]
    fn every_volume_of_centaur_is_run_at_its_own_times_first_and_then_with_32_requests_outstanding() {
        let mut found = 0;
        for (id, points) in [of_centaur(false), of_centaur(true)].concat() {
            let replayed: Vec<&Point> = points.iter().filter(|point| depth(point).is_some()).collect();
            for (pace, wanted) in [("recorded", None), ("saturated", Some(32))] {
                let at =
                    |point: &&&Point| point.settings.get("pace").and_then(toml::Value::as_str) == Some(pace);
                let of_pace: Vec<&&Point> = replayed.iter().filter(at).collect();
                assert!(of_pace.iter().all(|point| depth(point) == Some(wanted)), "{id}, {pace}");
                assert_eq!(2 * of_pace.len(), replayed.len(), "{id}, {pace}");
            }
            if let Some(first) = replayed.first() {
                assert_eq!(depth(first), Some(None), "{id} begins with the recorded pace");
                found += 1;
            }
        }
        assert_eq!(found, 2 * 15, "figures 11 to 23, section 5.4 and the recorded traces");
    }

    /// Each plane group can have two program units in flight from the buffer at once. The pages that wait in
    /// the buffer must suffice for that.
    #[test]
    fn a_scaled_down_buffer_of_centaur_holds_two_program_units_of_each_row_below_its_mark() {
        for (id, points) in of_centaur(true) {
            for point in points {
                let (config, settings) = (point.config(), &point.settings);
                let pages: u32 =
                    config.ftl.pools.all_groups().map(|row| config.ftl.pools.per_program(row)).sum();
                let on_the_way = (config.ftl.unit * u64::from(2 * pages)).0 as f64;
                let below = config.file.buffer.size.0 as f64 * config.file.buffer.flush_above;
                assert!(on_the_way <= below, "{id} at {settings}: {on_the_way} of {below} bytes");
            }
        }
    }
}
