//! Evaluation of the samples: elasticities, and the bottleneck that they show.

use wordline_host::Pace;

use super::sample::{BATCHES, Sample};
use super::{Baseline, Cause, ChangeResult, Effect, Elasticity, Experiment, Why};
use crate::student::Mean;

/// Gain from doubling the demand at or above which the host can be the bottleneck: a fifth.
const GAIN: f64 = 1.2;

/// Least elasticity of a bottleneck. Chosen: a tenth less time then gains one per cent.
const LEAST: f64 = 0.1;

/// A change, its effect on all requests, and its effect on each batch.
struct MeasuredEffect {
    effect: Effect,
    /// Elasticities of the batches; empty if unknown.
    batches: Vec<f64>,
}

/// The answer from all samples.
pub fn of(asked: &Experiment<'_>, first: &Baseline, samples: Vec<(Cause, ChangeResult)>) -> Why {
    let Baseline { sample: first, pace, queues, source, .. } = first;
    let (pace, queues) = (*pace, usize::from(*queues));
    let count = comparable(first, pace, queues, &samples);
    let times = first.batches(count);
    let seconds: f64 = times.iter().sum();
    let measured: Vec<MeasuredEffect> =
        samples.into_iter().map(|(cause, sample)| measured(cause, sample, pace, first, count)).collect();
    let (bound, text) = bound(&measured);
    let p99 = |kind| first.p99(kind, count).map(|(value, _)| value);
    Why {
        device: asked.device.name.clone(),
        workload: source.clone(),
        seed: asked.options.seed,
        queue_depth: match pace {
            Pace::Closed { depth, .. } | Pace::Bursts { depth, .. } | Pace::Bounded { depth, .. } => {
                Some(depth)
            }
            Pace::Open { .. } | Pace::SourcePaced { .. } => None,
        },
        left_out: first.left_out,
        requests: count as u64,
        batches: BATCHES,
        iops: count as f64 / seconds.max(1e-12),
        read_p99_us: p99(0),
        write_p99_us: p99(1),
        bound,
        text,
        effects: measured.into_iter().map(|measured| measured.effect).collect(),
        verdict: first.verdict.clone(),
    }
}

/// The number of completions to compare, which is the same for all runs. It leaves out the last completions,
/// at which fewer requests are outstanding.
fn comparable(first: &Sample, pace: Pace, queues: usize, samples: &[(Cause, ChangeResult)]) -> usize {
    let lengths = samples.iter().filter_map(|(_, sample)| Some(sample.as_ref().ok()?.completions.len()));
    let least = lengths.fold(first.completions.len(), usize::min);
    let outstanding = match pace {
        Pace::Closed { depth, .. } | Pace::Bursts { depth, .. } | Pace::Bounded { depth, .. } => {
            2 * depth as usize * queues
        }
        Pace::Open { .. } | Pace::SourcePaced { .. } => 0,
    };
    // At least half of the completions are compared, even if a run is short relative to its queue depth.
    least.saturating_sub(outstanding).max(least / 2)
}

fn measured(cause: Cause, sample: ChangeResult, pace: Pace, first: &Sample, count: usize) -> MeasuredEffect {
    let change = cause.change();
    // `whole` is the logarithm of the gain that would result if only the changed part took time. For a
    // changed time, that gain is the inverse of its factor.
    let (factor, whole) = match change.ratio(pace) {
        Ok(ratio) if change.demand != 1.0 => (ratio, libm::log(ratio)),
        Err(_) if change.demand != 1.0 => (change.demand, libm::log(change.demand)),
        _ => (0.9, libm::log(1.0 / 0.9)),
    };
    let nothing = |unknown: Option<String>| Effect {
        cause,
        factor,
        iops: None,
        elasticity: None,
        read_p99: None,
        write_p99: None,
        unknown,
    };
    let sample = match sample {
        Ok(sample) => sample,
        Err(reason) => return MeasuredEffect { effect: nothing(Some(reason)), batches: Vec::new() },
    };
    let (before, after) = (first.batches(count), sample.batches(count));
    let gain = before.iter().sum::<f64>() / after.iter().sum::<f64>().max(1e-12);
    let batches = elasticities(&before, &after, whole);
    let p99 = |kind| {
        let ((before, of_before), (after, of_after)) = (first.p99(kind, count)?, sample.p99(kind, count)?);
        let half = half(&elasticities(&of_before, &of_after, whole));
        (before > 0.0 && after > 0.0).then(|| Elasticity { value: libm::log(before / after) / whole, half })
    };
    let elasticity = Elasticity { value: libm::log(gain) / whole, half: half(&batches) };
    let effect = Effect {
        iops: Some(gain),
        elasticity: Some(elasticity),
        read_p99: p99(0),
        write_p99: p99(1),
        ..nothing(None)
    };
    MeasuredEffect { effect, batches }
}

/// The elasticities of batches, from their durations before and after a change. Empty if a batch took no
/// time.
fn elasticities(before: &[f64], after: &[f64], whole: f64) -> Vec<f64> {
    let pairs = before.iter().zip(after);
    let each = pairs
        .map(|(before, after)| (*before > 0.0 && *after > 0.0).then(|| libm::log(before / after) / whole));
    each.collect::<Option<_>>().unwrap_or_default()
}

fn half(batches: &[f64]) -> Option<f64> {
    if batches.is_empty() { None } else { Mean::of(batches).half }
}

/// The bottleneck, if a cause leads, and a sentence about it.
fn bound(all: &[MeasuredEffect]) -> (Option<Cause>, String) {
    let twice = all.iter().find(|one| one.effect.cause == Cause::HostTwice).and_then(|one| one.effect.iops);
    let is_host = twice.is_some_and(|gain| gain >= GAIN);
    let value = |one: &MeasuredEffect| one.effect.elasticity.map_or(f64::NEG_INFINITY, |known| known.value);
    let may = |one: &&MeasuredEffect| {
        let Effect { cause, elasticity, .. } = &one.effect;
        cause.is_candidate() && elasticity.is_some() && (*cause != Cause::Host || is_host)
    };
    let mut candidates: Vec<&MeasuredEffect> = all.iter().filter(may).collect();
    candidates.sort_by(|a, b| value(b).total_cmp(&value(a)));
    let twice = twice.map_or_else(
        || "whether more requests outstanding would bring more is not known".to_owned(),
        |gain| format!("twice the demand of the host brings {}", percent(gain)),
    );
    let [best, rest @ ..] = &candidates[..] else {
        return (None, "not known: nothing could be changed".into());
    };
    let name = best.effect.cause.name();
    if value(best) < LEAST {
        return (None, format!("not known: no change of a tenth brings a hundredth; {twice}"));
    }
    if best.batches.is_empty() {
        return (None, format!("not known: too few requests to tell an effect from chance; {twice}"));
    }
    match rest.iter().find(|other| !leads(best, other)) {
        Some(other) => {
            let (first, second) = (value(best), value(other));
            let other = other.effect.cause.name();
            let text = format!(
                "not known: {name} or {other}, whose elasticities {first:.2} and {second:.2} differ by no more than chance; {twice}"
            );
            (None, text)
        }
        None => {
            let text = format!("{name}: an elasticity of {:.2}; {twice}", value(best));
            (Some(best.effect.cause), text)
        }
    }
}

/// Whether an elasticity exceeds another by more than chance, by comparison of the batches.
fn leads(best: &MeasuredEffect, other: &MeasuredEffect) -> bool {
    let value = |one: &MeasuredEffect| one.effect.elasticity.map_or(0.0, |known| known.value);
    let lead = value(best) - value(other);
    let differences: Vec<f64> =
        best.batches.iter().zip(&other.batches).map(|(best, other)| best - other).collect();
    half(&differences).is_some_and(|half| lead > half)
}

/// A ratio as a gain in percent.
pub fn percent(gain: f64) -> String {
    let more = (gain - 1.0) * 100.0;
    format!("{more:+.1} %")
}
