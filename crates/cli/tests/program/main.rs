//! The program itself, as a user or a script meets it: output, errors, exit codes, and the store afterwards.
//!
//! Asserts no rate and no time: the machine that runs these tests may be slow and busy.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[path = "../shared/alone.rs"]
mod alone;
mod bad_files;
mod bad_places;
mod ceilings;
mod clocks;
mod compare;
mod descriptors;
mod doctor;
mod endings;
mod footprint;
mod full_disk;
mod harness;
mod help;
mod live;
mod measure;
mod mesh;
mod peer;
mod programs;
mod proof;
mod reproduce;
mod screen;
mod service;
mod site;
mod stack_command;
mod stacks;
mod stored;
mod strangers;
mod study;
mod tables;
mod version_1;
mod waiting;
