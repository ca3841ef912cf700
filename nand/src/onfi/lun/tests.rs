//! Operations of a LUN: contents, overlap, status and limits.
