//! The pace of a recorded trace, given to requests without times.

use wordline_kernel::{Duration, Instant};

use crate::{Request, Requests, Result};

/// Upper bound on arrivals held; a longer trace repeats them. Chosen: the length up to which a trace is read
/// once; they take 8 MiB.
const MAX_TIMES: usize = crate::MAX_HELD_REQUESTS;

/// Arrival times of a trace, repeated.
#[derive(Clone, Debug)]
pub struct Times {
    times: Vec<Instant>,
    /// Time from one pass to the next.
    period: Duration,
}

impl Times {
    /// Takes the arrivals of the first requests of a trace, at most a million. `None` for a trace with fewer
    /// than two distinct times.
    ///
    /// # Errors
    /// The errors of the trace.
    pub fn of(requests: Requests) -> Result<Option<Self>> {
        let times: Vec<Instant> = requests
            .take(MAX_TIMES)
            .map(|request| request.map(|request| request.arrival))
            .collect::<Result<_>>()?;
        let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
            return Ok(None);
        };
        if last <= first {
            return Ok(None);
        }
        let whole = last.since(first).ps();
        // The next pass begins the mean time between two arrivals after the last one.
        let period = Duration::from_ps(whole + whole / (times.len() as u64 - 1));
        let times = times.into_iter().map(|time| Instant::from_ps(time.ps() - first.ps())).collect();
        Ok(Some(Self { times, period }))
    }

    /// Returns the arrival of request `number`. Far beyond the time limit, where no run accepts it, the clock
    /// saturates.
    fn at(&self, number: u64) -> Instant {
        let (pass, within) = (number / self.times.len() as u64, number % self.times.len() as u64);
        let begin = self.period.ps().saturating_mul(pass);
        Instant::from_ps(begin.saturating_add(self.times[within as usize].ps()))
    }

    /// Gives the requests these times.
    pub fn pace(self, requests: Requests) -> Requests {
        let mut number = 0;
        Box::new(requests.map(move |request| {
            let arrival = self.at(number);
            number += 1;
            request.map(|request| Request { arrival, ..request })
        }))
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::super::Workload;
    use super::*;

    fn requests(arrival: &str, count: u64) -> Requests {
        let text = format!(
            "description = \"a test\"\nrequests = {count}\nread_share = 1.0\nsizes = [{{ size = \"4KiB\", weight = 1 }}]\n\
             pattern = {{ kind = \"uniform\" }}\narrival = {arrival}\nprecondition = \"empty\"\n"
        );
        let workload: Workload = toml::from_str(&text).expect("a workload");
        let generator = workload.generator(Seed(1), wordline_kernel::Bytes::mib(1)).expect("it has room");
        Box::new(generator.map(Ok))
    }

    #[test]
    fn requests_take_the_times_of_a_trace_over_and_over() {
        let bursts = "{ kind = \"bursts\", on = \"20us\", off = \"80us\", interval = \"10us\" }";
        let times = Times::of(requests(bursts, 4)).expect("no trace").expect("four times");
        let closed = requests("{ kind = \"closed\", queue_depth = 1 }", 6);
        let paced: Vec<u64> = times
            .pace(closed)
            .map(|request| request.expect("a generator").arrival.ps() / 1_000_000)
            .collect();
        // Arrivals at 0, 10, 100 and 110 us have a mean gap of 36.7 us, after which the first arrival
        // repeats.
        assert_eq!(paced, [0, 10, 100, 110, 146, 156]);
    }

    #[test]
    fn a_trace_without_times_has_no_pace() {
        assert!(
            Times::of(requests("{ kind = \"closed\", queue_depth = 1 }", 5)).expect("no trace").is_none()
        );
        assert!(Times::of(Box::new(std::iter::empty())).expect("no trace").is_none());
    }
}
