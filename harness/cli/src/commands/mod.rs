//! The commands, one file each.

pub(crate) mod audit;
pub(crate) mod bless;
pub(crate) mod call;
pub(crate) mod cassette;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod contract;
pub(crate) mod gate;
pub(crate) mod hold;
mod hook;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod new;
mod outputs;
pub(crate) mod plan;
pub(crate) mod proxy;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod shards;
pub(crate) mod show;
pub(crate) mod slurm;
pub(crate) mod status;
pub(crate) mod transcript;
pub(crate) mod validate;
pub(crate) mod view;
