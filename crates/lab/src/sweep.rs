//! Independent runs in parallel on several cores. Results are in the order of the points, whatever the number
//! of threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Options of a sweep. None of them affects a result.
pub struct SweepOptions<'a> {
    /// Number of threads; 0 for the number of cores.
    pub threads: usize,
    /// Set when the user stops the sweep. Points that have not begun are then skipped.
    pub stop: &'a AtomicBool,
    /// Called after each point, with the number of completed points and their total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Calls `work` for every point. The result is `None` for points that were skipped after the user stopped.
/// The first error of a point ends the sweep.
pub fn run<P: Sync, R: Send>(
    points: &[P],
    conduct: &SweepOptions<'_>,
    work: impl Fn(&P) -> Result<R> + Sync,
) -> Result<Vec<Option<R>>> {
    // A thread without a point would only cost its start.
    let threads = conduct.threads.min(points.len().max(1));
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|reason| Error::Argument {
            what: "threads".into(),
            found: format!("{} ({reason})", conduct.threads),
            wanted: "as many as the system allows".into(),
        })?;
    let done = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let one = |point: &P| -> Option<Result<R>> {
        if conduct.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = match work(point) {
            // A point that the user stopped counts as skipped.
            Err(Error::Stopped) => return None,
            result => result,
        };
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        (conduct.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, points.len());
        Some(result)
    };
    // One point at a time and in order, because points differ much in length.
    let results: Vec<_> = pool.install(|| points.par_iter().with_max_len(1).map(one).collect());
    results.into_iter().map(Option::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn squares(threads: usize, stop: &AtomicBool) -> Result<Vec<Option<u64>>> {
        let points: Vec<u64> = (0..40).collect();
        let conduct = SweepOptions { threads, stop, progress: &|_, _| () };
        run(&points, &conduct, |n| {
            std::thread::sleep(Duration::from_micros((40 - n) * 20)); // later points end first
            Ok(n * n)
        })
    }

    #[test]
    fn the_order_of_results_does_not_depend_on_the_number_of_threads() {
        let stop = AtomicBool::new(false);
        let alone = squares(1, &stop).expect("no point fails");
        assert_eq!(alone, (0..40).map(|n| Some(n * n)).collect::<Vec<_>>());
        for threads in [2, 3, 8] {
            assert_eq!(squares(threads, &stop).expect("no point fails"), alone);
        }
    }

    /// A thread takes some 2 ms to start, so that as many as asked for would take a minute.
    #[test]
    fn there_are_no_more_threads_than_points() {
        let (stop, most) = (AtomicBool::new(false), AtomicUsize::new(0));
        let conduct = SweepOptions { threads: 30_000, stop: &stop, progress: &|_, _| () };
        let work = |_: &u64| Ok(most.fetch_max(rayon::current_num_threads(), Ordering::Relaxed));
        run(&[1, 2], &conduct, work).expect("no point fails");
        assert_eq!(most.into_inner(), 2);
    }

    #[test]
    fn a_stop_leaves_out_the_points_that_have_not_begun() {
        let results = squares(2, &AtomicBool::new(true)).expect("no point fails");
        assert!(results.iter().all(Option::is_none) && results.len() == 40);
    }

    #[test]
    fn an_error_ends_the_sweep_and_every_finished_point_is_reported() {
        let (stop, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        let progress = |_, of| {
            assert_eq!(of, 3);
            seen.fetch_add(1, Ordering::Relaxed);
        };
        let conduct = SweepOptions { threads: 1, stop: &stop, progress: &progress };
        let failing = |n: &u64| match n {
            2 => Err(Error::Invariant("two".into())),
            n => Ok(*n),
        };
        assert!(matches!(run(&[1, 2, 3], &conduct, failing), Err(Error::Invariant(text)) if text == "two"));
        assert_eq!(seen.load(Ordering::Relaxed), 2);
    }
}
