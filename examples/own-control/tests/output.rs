//! Output of the program, to the byte.

use std::process::Command;

#[test]
fn the_own_control_fills_the_link_like_ours() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-control")).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, include_str!("output.txt"));
}
