//! The stages of the latency of a request, in words.

/// The name of a stage of [`Summary::time`](crate::Summary::time), in words.
pub fn stage(name: &str) -> String {
    match name {
        "raid_wait" => "wait in the array".to_owned(),
        "raid_reads" => "reads for parity".to_owned(),
        "raid_log" => "parity log".to_owned(),
        "line_wait" => "wait for line".to_owned(),
        "buffer" => "write buffer".to_owned(),
        "gc_wait" => "wait for GC".to_owned(),
        "die_wait" => "wait for die".to_owned(),
        "array" => "flash array".to_owned(),
        other => other.replace('_', " "),
    }
}
