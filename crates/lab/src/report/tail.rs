//! Sentences about the slowest requests.

use wordline_run::quantity::Quantity;

use crate::summary::Summary;
use crate::tail::{SlowRequest, Slowest, TailDie, TailPart, work_in_words as work};

/// Greatest number of parts that a sentence names. Chosen: easy to take in.
const NAMED: usize = 3;

/// Least share of the time that a sentence names. Chosen.
const LEAST: f64 = 0.05;

/// A part of the latency of a request, in words.
pub(super) fn part(name: &str) -> String {
    match name {
        "raid_wait" => "waiting for rows of the array".into(),
        "raid_reads" => "reading for parity".into(),
        "raid_log" => "writing the parity log".into(),
        "rate_limiter" => "in the rate limiter".into(),
        "line_wait" => "waiting for a line or a chunk".into(),
        "queue" => "in the queue".into(),
        "link" => "on the link".into(),
        "controller" => "in the controller".into(),
        "buffer" => "waiting for the buffer".into(),
        "mapping" => "looking up the map".into(),
        "bus" => "bus".into(),
        "array" => "flash array".into(),
        "decoding" => "decoding".into(),
        "retries" => "read retries".into(),
        "behind_other" => "waiting for a die".into(),
        name => match name.strip_prefix("behind_") {
            Some(of) => format!("behind {}", work(of, true)),
            None => work(name, true),
        },
    }
}

/// The greatest parts of a latency, with their shares.
fn shares(parts: &[TailPart]) -> String {
    let all: f64 = parts.iter().map(|part| part.us).sum();
    let mut sorted: Vec<&TailPart> = parts.iter().collect();
    sorted.sort_by(|a, b| b.us.total_cmp(&a.us));
    let named = sorted.iter().take(NAMED).filter(|part| part.us >= LEAST * all);
    let named = named.map(|one| format!("{:.0} % {}", 100.0 * one.us / all, part(&one.name)));
    named.collect::<Vec<_>>().join(", ")
}

/// One or two sentences about the slowest requests; empty without a tail attribution.
pub(super) fn sentences(run: &Summary) -> Vec<String> {
    let Some(tail) = &run.tail else { return Vec::new() };
    let together = tail.slowest.iter().map(all);
    together.chain(tail.requests.first().map(first)).collect()
}

fn all(slowest: &Slowest) -> String {
    let Slowest { requests, reads, writes, least_us, most_us, time, buffer_while, dies } = slowest;
    let kind = match requests {
        all if all == reads => "reads",
        all if all == writes => "writes",
        _ => "requests",
    };
    let [least, most] = [least_us, most_us].map(|us| Quantity::Latency(*us));
    let mut text =
        format!("the {} slowest {kind} took {least} to {most}: {}", Quantity::Count(*requests), shares(time));
    let of_buffer = time.iter().find(|part| part.name == "buffer").map_or(0.0, |part| part.us);
    if !buffer_while.is_empty() && of_buffer >= LEAST * time.iter().map(|part| part.us).sum::<f64>() {
        text += &format!("; while they waited for the buffer, the dies spent {}", shares(buffer_while));
    }
    match dies.as_slice() {
        // Chosen: two dies are named if more than four are involved and the two cause half of the waits.
        [one, other, _, _, _, ..] if one.part + other.part >= 0.5 => {
            let (percent, [one, other]) = (100.0 * (one.part + other.part), [one, other].map(place));
            text += &format!("; {percent:.0} % of the waits for dies at {one} and {other}");
        }
        _ => {}
    }
    text
}

/// The name of a die. In an array it includes the device.
fn die(device: Option<u16>, die: u32) -> String {
    match device {
        Some(device) => format!("die {die} of device {device}"),
        None => format!("die {die}"),
    }
}

fn place(of: &TailDie) -> String {
    die(of.device, of.die)
}

fn first(slow: &SlowRequest) -> String {
    let SlowRequest { operation, offset, bytes, submitted_seconds, latency_us, longest, .. } = slow;
    let mut text = format!(
        "the slowest, a {} of {} at {} submitted at {}, took {}",
        operation.replace('_', " "),
        Quantity::Bytes(*bytes as f64),
        Quantity::Bytes(*offset as f64),
        Quantity::Seconds(*submitted_seconds),
        Quantity::Latency(*latency_us)
    );
    match longest {
        Some(longest) => {
            let (of, us) = (work(&longest.work, false), Quantity::Latency(longest.us));
            let at = die(longest.device, longest.die);
            text += &format!(", {us} of it behind one {of} in block {} of {at}", longest.block);
        }
        None => text += &format!(": {}", shares(&slow.time)),
    }
    text
}
