//! Experiments: a published figure or table as data, and our numbers beside it.

pub mod analytic;
