//! A pattern or an application by its name, as what a point of a sweep asks of its device.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Seed};

use crate::run::Precondition;
use crate::trace::Request;
use crate::workload::{Generated, one_of_all};

/// A pattern or an application that comes with the program, with changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// How many requests; left out: as many as it has.
    pub requests: Option<u64>,
    /// Requests outstanding; left out: its own, of an application one a thread.
    pub queue_depth: Option<u32>,
    /// Share of an application's data that is cached above the device, from 0 to 0.9; left out: its own.
    pub page_cache: Option<f64>,
}

/// Its requests, how many they are, and how many are outstanding if that does not follow from their times.
pub(super) type NamedRequests = (Box<dyn Iterator<Item = Request> + Send>, u64, Option<u32>);

impl Named {
    /// What it is, with these changes; none where there is no such name.
    fn generated(&self) -> Option<Generated> {
        let mut found = Generated::named(&self.name)?;
        match &mut found {
            Generated::Pattern(pattern) => pattern.requests = self.requests.unwrap_or(pattern.requests),
            Generated::Application(application) => {
                application.requests = self.requests.unwrap_or(application.requests);
                if let Some(share) = self.page_cache {
                    application.set_page_cache(share);
                }
            }
        }
        Some(found)
    }

    /// The state of the device that it asks for.
    pub(super) fn precondition(&self) -> Precondition {
        match self.generated() {
            Some(Generated::Pattern(pattern)) => pattern.precondition.into(),
            Some(Generated::Application(application)) => application.precondition.into(),
            None => Precondition::Filled(1.0),
        }
    }

    /// The requests, on a device of `capacity`.
    pub(super) fn requests(&self, seed: Seed, capacity: Bytes) -> Result<NamedRequests, Complaints> {
        let (requests, total, depth): NamedRequests = match self.generated().expect("a checked name") {
            Generated::Pattern(pattern) => {
                let requests = pattern.generator(seed, capacity)?;
                (Box::new(requests), pattern.requests, pattern.arrival.queue_depth())
            }
            Generated::Application(application) => {
                let requests = application.generator(seed, capacity)?;
                (Box::new(requests), application.requests, Some(application.queue_depth()))
            }
        };
        Ok((requests, total, self.queue_depth.or(depth)))
    }

    pub(super) fn check(&self, wrong: &mut Complaints) {
        let Some(found) = Generated::named(&self.name) else {
            return wrong.add("named.name", &self.name, one_of_all(&self.name));
        };
        wrong.require(self.requests != Some(0), "named.requests", 0, "at least 1");
        wrong.require(self.queue_depth != Some(0), "named.queue_depth", 0, "at least 1");
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
            ("name = \"mial\"", "did you mean mail?"),
            ("name = \"mail\"\nrequests = 0", "named.requests: found 0"),
            ("name = \"mail\"\nqueue_depth = 0", "named.queue_depth: found 0"),
            (
                "name = \"mail\"\npage_cache = 1.0",
                "named.page_cache: found 1, wanted a fraction from 0 to 0.9",
            ),
            ("name = \"randread-4k\"\npage_cache = 0.5", "named.page_cache: found 0.5, wanted none"),
        ] {
            let mut wrong = Complaints::default();
            toml::from_str::<Named>(keys).expect(keys).check(&mut wrong);
            assert!(wrong.to_string().contains(wanted), "{keys}: {wrong}");
        }
    }

    #[test]
    fn an_application_has_one_request_outstanding_for_each_thread_unless_told() {
        let depth = |keys: &str| {
            let named: Named = toml::from_str(keys).expect(keys);
            let (requests, total, depth) = named.requests(Seed(1), Bytes::gib(1)).expect("it has room");
            assert_eq!(requests.count() as u64, total);
            depth
        };
        assert_eq!(depth("name = \"mail\"\nrequests = 100"), Some(16));
        assert_eq!(depth("name = \"mail\"\nrequests = 100\nqueue_depth = 3"), Some(3));
    }
}
