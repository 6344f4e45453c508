//! `tmt` at the command line, one program: `cargo test -p tmt-cli --test cli convert::` runs the tests of `convert.rs`.
//!
//! Each program links Arrow and Parquet, which takes longer than most of these tests run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod acm;
mod advise;
mod architecture;
mod audit;
mod bad_input;
mod calibration;
mod calibration_tables;
mod captures;
mod code;
mod common;
mod compare_log;
mod convert;
mod corpus;
mod coverage;
mod damage;
mod determinism;
mod diff;
mod documents;
mod export;
mod extremes;
mod figures;
mod files;
mod fit;
mod foreign_tables;
mod formats;
mod glossary;
mod goldens;
mod good_input;
mod importers;
mod kernel;
mod links;
mod lint;
mod listed;
mod memory;
mod metadata;
mod metrics;
mod models;
mod mutations;
mod order;
mod packing;
mod pages;
mod params;
mod pipes;
mod plots;
mod processes;
mod quiet;
mod readme;
#[cfg(target_os = "linux")]
mod replay;
mod reports;
mod results;
mod resume;
mod samples;
mod scenario_loads;
mod scenarios;
mod schemas;
mod screen;
mod sizes;
mod slice;
#[cfg(unix)]
mod slurm;
mod sweep;
mod traces;
mod usability;
