//! Output of the program, to the byte.

use std::process::Command;

#[test]
fn own_parts_run_beside_ours() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-parts")).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, include_str!("output.txt"));
}
