//! Benchmarks: `cargo bench -p wordline-bench`. `benches/` documents what each measures; `make bench` runs
//! them all, after the speeds of whole runs. They tell a change of this program from noise;
//! `docs/VALIDATION.md` has the speeds.
