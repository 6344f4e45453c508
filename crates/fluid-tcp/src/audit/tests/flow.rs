//! Rules `causality` and `acked`: sender and receiver of a flow.

use super::{on_timeline, without_timeline};

#[test]
fn causality_finds_wrong_numbers_of_copies() {
    assert_eq!(on_timeline(&[("1,0,2,", "1,0,3,")]), ["causality 19"]);
    assert_eq!(on_timeline(&[("0,0,1,", "0,0,2,")]), ["causality 14"]);
}

#[test]
fn causality_finds_a_packet_that_was_skipped() {
    assert_eq!(on_timeline(&[("1,2,1,", "1,3,1,")]), ["causality 22"]);
}

#[test]
fn causality_accepts_a_timeout_at_the_time_of_the_previous_copy() {
    let twice = "0,2,1,0.225000000,0.225000000,0.230000000,0.231000000,12,13,,open,\n\
        0,2,2,0.225000000,0.225000000,,,,,,open,\n";
    let once = twice.split_inclusive('\n').next().unwrap();
    assert_eq!(
        without_timeline(&[(once, twice), ("rows=9", "rows=10")]),
        [""; 0]
    );
    let thrice = format!("{twice}0,2,3,0.225000000,0.225000000,,,,,,open,\n");
    assert_eq!(
        without_timeline(&[(once, &thrice), ("rows=9", "rows=11")]),
        ["causality 23"]
    );
}

#[test]
fn causality_finds_a_packet_sent_again_after_its_ack() {
    // Packet 0 of flow 0 was acknowledged at 0.111.
    let late = |acked: &str| {
        let row = format!("0,0,2,0.278000000,0.278000000,,,,,,open,{acked}\n1,2,1,");
        without_timeline(&[("1,2,1,", &row), ("rows=9", "rows=10")])
    };
    assert_eq!(late("0.111000000"), ["causality 22 22"]);
    assert_eq!(
        late("0.280000000"),
        ["causality 22"],
        "an ACK of its own does not help"
    );
}

#[test]
fn acked_finds_an_ack_that_is_back_too_early() {
    assert_eq!(on_timeline(&[("0.111000000", "0.110999999")]), ["acked 14"]);
    let early = ("delivered,0.226000000", "delivered,0.225999999");
    assert_eq!(
        on_timeline(&[("0.226000000", "0.225999999"), early]),
        ["acked 20"]
    );
}

#[test]
fn acked_finds_an_ack_of_a_packet_that_was_never_received() {
    assert_eq!(
        on_timeline(&[("12,13,,open,", "12,13,,open,0.280000000")]),
        ["acked 21"]
    );
}

#[test]
fn acked_finds_acks_that_go_back_or_skip_a_packet() {
    assert_eq!(on_timeline(&[("0.111000000", "0.133000000")]), ["acked 18"]);
    assert_eq!(
        on_timeline(&[("delivered,0.111000000", "delivered,")]),
        ["acked 18"]
    );
}

#[test]
fn acked_is_the_same_on_all_copies() {
    assert_eq!(
        on_timeline(&[("4,5,,link,0.224000000", "4,5,,link,0.225000000")]),
        ["acked 19"]
    );
}

#[test]
fn causality_accepts_a_copy_sent_at_the_time_of_its_ack() {
    let at_once = "0,1,3,0.132000000,0.132000000,,,,,,open,0.132000000\n1,2,1,";
    let changes = [
        (
            "0,2,1,0.225000000,0.225000000",
            "0,2,1,0.132000000,0.132000000",
        ),
        ("1,2,1,", at_once),
        ("rows=9", "rows=10"),
    ];
    assert_eq!(without_timeline(&changes), [""; 0]);
}

#[test]
fn acked_finds_an_ack_of_a_packet_that_was_never_sent() {
    let skipped = [
        ("1,2,1,", "1,3,1,"),
        ("1,1,1,", "1,2,1,"),
        ("1,1,2,", "1,2,2,"),
    ];
    assert_eq!(on_timeline(&skipped), ["causality 17", "acked 20 20"]);
}
