//! The decisions that research changes: one folder a seam, one file a policy. A policy looks at a read-only view
//! and answers; the mechanism checks the answer and acts.

pub mod background;
pub mod balancer;
pub mod eviction;
pub mod failure;
pub mod frontier;
pub mod mapper;
pub mod placement;
pub mod relocator;
pub mod router;
pub mod tuner;
pub mod victim;
pub mod wear;
