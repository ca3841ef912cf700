//! A built-in pattern or application, selected by name, as the workload of a point.

use serde::{Deserialize, Serialize};
use wordline_host::Pace;
use wordline_kernel::{Bytes, Complaints, Duration, Seed};

use wordline_lab::Precondition;
use wordline_lab::arrivals::RequestSource;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::application::WaitsFor;
use wordline_lab::trace::workload::arrival::{Bursts, LONGEST_PAUSE};
use wordline_lab::trace::workload::list_all_names;
use wordline_lab::workload::recorded_times;
use wordline_lab::workload::{Generated, NO_LOAD};

/// A built-in pattern or application, with changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Name.
    pub name: String,
    /// Number of requests. Default: as many as the workload has.
    pub requests: Option<u64>,
    /// Number of outstanding requests. Of applications, only those that wait for any completion accept it.
    /// Default: the queue depth of the workload; for applications, one per thread.
    pub queue_depth: Option<u32>,
    /// The completion after which a thread of an application continues. Default: as the application says.
    /// Threads of the built-in applications wait for their own completion.
    pub waits_for: Option<WaitsFor>,
    /// Length of the bursts of a closed loop, and of the pauses between them. Default: the pauses of the
    /// workload; the built-in workloads have none.
    pub bursts: Option<Duration>,
    /// Time between a completion and the next request of a closed loop. Default: the workload's own; the
    /// built-in workloads have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<Duration>,
    /// Whether requests arrive at the times of the embedded recorded trace, multiplied by `time_scale`.
    #[serde(default)]
    pub recorded_times: bool,
    /// Factor on the recorded times. Default: 1.
    pub time_scale: Option<f64>,
    /// Share of an application's data that is cached above the device, from 0 to 0.9. Default: the
    /// application's own share.
    pub page_cache: Option<f64>,
}

/// Requests, their number, and their pace.
pub(crate) type NamedRequests = (RequestSource, u64, Pace);

impl Named {
    /// Whether it has no requests, for an array that is rebuilt without host load.
    pub(crate) fn is_none(&self) -> bool {
        self.name == NO_LOAD
    }

    /// Returns the workload with this name and these changes; `None` for an unknown name.
    fn generated(&self) -> Option<Generated> {
        let mut found = Generated::named(&self.name)?;
        match &mut found {
            Generated::Pattern(pattern) => pattern.requests = self.requests.unwrap_or(pattern.requests),
            Generated::Application(application) => {
                application.requests = self.requests.unwrap_or(application.requests);
                application.waits_for = self.waits_for.unwrap_or(application.waits_for);
                if let Some(share) = self.page_cache {
                    application.set_page_cache(share);
                }
            }
        }
        Some(found)
    }

    /// Initial state that the workload asks for.
    pub(crate) fn precondition(&self) -> Precondition {
        match self.generated() {
            Some(Generated::Pattern(pattern)) => pattern.precondition.into(),
            Some(Generated::Application(application)) => application.precondition.into(),
            None => Precondition::Filled(1.0),
        }
    }

    /// Returns the requests on a device of `capacity`. `beside` is the number of additional requests for a
    /// warm-up.
    pub(crate) fn requests(&self, seed: Seed, capacity: Bytes, beside: u64) -> Result<NamedRequests> {
        if self.is_none() {
            let pace = Pace::Closed { depth: 1, think: Duration::ZERO };
            return Ok((RequestSource::generated(std::iter::empty()), 0, pace));
        }
        let (requests, total, depth, bursts, think) = match self.generated().expect("a checked name") {
            Generated::Pattern(pattern) => {
                let requests = pattern.generator(seed, capacity).map_err(Error::Config)?;
                let depth = pattern.arrival.queue_depth();
                (
                    RequestSource::generated(requests.with_more(beside)),
                    pattern.requests,
                    depth,
                    pattern.bursts,
                    pattern.think_time,
                )
            }
            Generated::Application(mut application) => {
                let total = application.requests;
                application.requests = total.saturating_add(beside);
                let asked = RequestSource::of(&application, self.queue_depth, seed, capacity);
                let (requests, depth) = asked.map_err(Error::Config)?;
                (requests, total, Some(depth), application.bursts, None)
            }
        };
        let open = Pace::Open { time_scale: self.time_scale.unwrap_or(1.0) };
        if self.recorded_times {
            let times = recorded_times(None)?;
            return Ok((RequestSource::InOrder(times.pace(requests.in_order())), total, open));
        }
        let pace = match (self.queue_depth.or(depth), self.bursts.map(Bursts::halves).or(bursts)) {
            (None, _) => open,
            (Some(depth), None) => {
                Pace::Closed { depth, think: self.think_time.or(think).unwrap_or(Duration::ZERO) }
            }
            (Some(depth), Some(Bursts { on, off })) => Pace::Bursts { depth, on, off },
        };
        Ok((requests, total, pace))
    }

    pub(crate) fn check(&self, wrong: &mut Complaints) {
        if self.is_none() {
            let alone = Self { name: self.name.clone(), ..Self::default() };
            return wrong.require(
                *self == alone,
                "named",
                "keys beside none",
                "none, which has no requests, alone",
            );
        }
        let Some(found) = Generated::named(&self.name) else {
            return wrong.add("named.name", &self.name, list_all_names(&self.name));
        };
        wrong.require(self.requests != Some(0), "named.requests", 0, "at least 1");
        wrong.require(self.queue_depth != Some(0), "named.queue_depth", 0, "at least 1");
        if let Some(on) = self.bursts {
            let mut inner = Complaints::default();
            Bursts::halves(on).check(&mut inner);
            wrong.require(inner.0.is_empty(), "named.bursts", on, "from 1us to 1h");
        }
        if let Some(waits_for) = self.waits_for {
            let has_threads = matches!(found, Generated::Application(_));
            let has_loop = self.queue_depth.is_none() && !self.recorded_times;
            let holds = has_threads && (has_loop || waits_for == WaitsFor::AnyAnswer);
            let wanted = "none for a pattern, and no own-answer beside a queue depth or recorded_times";
            wrong.require(holds, "named.waits_for", waits_for, wanted);
        }
        if let Some(think) = self.think_time {
            let is_open =
                matches!(&found, Generated::Pattern(pattern) if pattern.arrival.queue_depth().is_none());
            let has_bursts = self.bursts.is_some() || self.recorded_times;
            let holds = !has_bursts && (self.queue_depth.is_some() || !is_open);
            let wanted = "none beside bursts or times: only a closed loop has think time (--queue-depth)";
            wrong.require(holds, "named.think_time", think, wanted);
            wrong.require(think <= LONGEST_PAUSE, "named.think_time", think, "at most 1h");
        }
        let is_closed = self.bursts.is_some() || self.queue_depth.is_some();
        let both = self.recorded_times && is_closed;
        wrong.require(!both, "named.recorded_times", true, "false beside a queue depth or bursts");
        if let Some(scale) = self.time_scale {
            let holds = self.recorded_times && scale.is_finite() && scale >= 0.0;
            wrong.require(holds, "named.time_scale", scale, "a factor of at least 0, with recorded_times");
        }
        let Some(share) = self.page_cache else { return };
        if matches!(found, Generated::Pattern(_)) {
            return wrong.add("named.page_cache", share, "none, for a pattern has no page cache");
        }
        wrong.require((0.0..=0.9).contains(&share), "named.page_cache", share, "a fraction from 0 to 0.9");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_and_keys_that_do_nothing_are_refused() {
        for (keys, wanted) in [
            ("name = \"mial\"", "mail, or another of"),
            ("name = \"mail\"\nrequests = 0", "named.requests: found 0"),
            ("name = \"mail\"\nbursts = \"0s\"", "named.bursts: found 0s, wanted from 1us to 1h"),
            ("name = \"mail\"\nbursts = \"1s\"\nrecorded_times = true", "named.recorded_times: found true"),
            ("name = \"mail\"\ntime_scale = 0.5", "named.time_scale: found 0.5"),
            ("name = \"mail\"\nthink_time = \"2h\"", "named.think_time: found 7200s, wanted at most 1h"),
            (
                "name = \"mail\"\nthink_time = \"1s\"\nbursts = \"1s\"",
                "named.think_time: found 1s, wanted none",
            ),
            ("name = \"mail\"\nqueue_depth = 0", "named.queue_depth: found 0"),
            (
                "name = \"mail\"\npage_cache = 1.0",
                "named.page_cache: found 1, wanted a fraction from 0 to 0.9",
            ),
            ("name = \"randread-4k\"\npage_cache = 0.5", "named.page_cache: found 0.5, wanted none"),
            (
                "name = \"randread-4k\"\nwaits_for = \"any-answer\"",
                "named.waits_for: found any-answer, wanted none for a pattern",
            ),
            (
                "name = \"mail\"\nwaits_for = \"own-answer\"\nqueue_depth = 2",
                "named.waits_for: found own-answer, wanted none",
            ),
        ] {
            let mut wrong = Complaints::default();
            toml::from_str::<Named>(keys).expect(keys).check(&mut wrong);
            assert!(wrong.to_string().contains(wanted), "{keys}: {wrong}");
        }
    }

    #[test]
    fn an_application_has_one_request_outstanding_for_each_thread_unless_told() {
        let pace = |keys: &str| {
            let named: Named =
                toml::from_str(&format!("name = \"mail\"\nrequests = 100\n{keys}")).expect(keys);
            let (requests, total, pace) = named.requests(Seed(1), Bytes::gib(1), 0).expect("it has room");
            assert_eq!(requests.in_order().count() as u64, total);
            pace
        };
        let (think, on) = (Duration::ZERO, Duration::from_ms(2));
        // The operating system counts as one more thread.
        assert_eq!(pace(""), Pace::Closed { depth: 17, think });
        assert_eq!(pace("waits_for = \"any-answer\""), Pace::Closed { depth: 16, think });
        assert_eq!(pace("queue_depth = 3"), Pace::Closed { depth: 3, think });
        assert_eq!(pace("think_time = \"2ms\""), Pace::Closed { depth: 17, think: on });
        assert_eq!(pace("bursts = \"2ms\""), Pace::Bursts { depth: 17, on, off: on });
        assert_eq!(pace("recorded_times = true\ntime_scale = 0.25"), Pace::Open { time_scale: 0.25 });
    }
}
