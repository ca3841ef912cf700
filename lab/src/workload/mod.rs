//! Generated workloads: patterns, named workloads, and profiles fitted to published statistics.
