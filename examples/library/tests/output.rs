//! Output of the programs, to the byte: `cargo run --bin NAME` in this folder prints the same.

use std::process::Command;

#[track_caller]
fn prints(program: &str, expected: &str) {
    let output = Command::new(program).output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn a_scheme_runs_over_slots_in_memory() {
    prints(env!("CARGO_BIN_EXE_scheme"), include_str!("scheme.txt"));
}

#[test]
fn flows_run_over_a_synthetic_link_and_a_timeline() {
    prints(env!("CARGO_BIN_EXE_tcp"), include_str!("tcp.txt"));
}

#[test]
fn a_trace_is_written_and_read_in_every_form() {
    prints(env!("CARGO_BIN_EXE_trace"), include_str!("trace.txt"));
}

#[test]
fn a_closed_form_is_swept() {
    prints(
        env!("CARGO_BIN_EXE_closed-form"),
        include_str!("closed-form.txt"),
    );
}
