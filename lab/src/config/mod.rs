//! Configuration: TOML layered from preset, file and command line, checked all at once.
