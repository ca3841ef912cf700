//! The tests of SSD controllers from outside, as one program: each file is a module, and linked once.

mod ageing;
mod birth;
mod block_map;
mod buffer;
mod closed_form;
mod collection;
mod common;
mod designs;
mod elsewhere;
mod faults;
mod front_end;
mod ftl_oracle;
mod hangs;
mod long_life;
mod mode_streams;
mod placing;
mod policy_contract;
mod pools;
mod power_cut;
mod recovery;
mod rewrites;
mod scheduling;
mod slc_cache;
mod snapshot;
mod tuning;
mod wear;
