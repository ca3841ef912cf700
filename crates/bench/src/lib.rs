//! Benchmarks: `cargo bench -p wordline-bench`. Each file in `benches/` documents what it measures. `make
//! bench` runs them all, after the speeds of whole runs. They separate the effect of a change from noise;
//! `docs/VALIDATION.md` has the speeds.
