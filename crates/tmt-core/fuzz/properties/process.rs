//! Tables of processes as they are read from files: a table is refused, or its process prints, reads back and erases the same
//! slots in one call and in two.

use tmt_core::channel::{FAMILIES, SlotChannel, Use, with_files};
use tmt_core::types::{Slot, Span, Time};

/// Any text is refused, or is a process of each family that reads files.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let files = FAMILIES
        .iter()
        .filter(|family| family.make.content.is_some());
    for family in files {
        let named = format!("{}:table.csv", family.name);
        let read = with_files(&named, FAMILIES, &mut |_| Ok(text.to_owned()));
        let Ok(Ok(process)) = read.map(|read| read.parse::<SlotChannel>()) else {
            continue;
        };
        assert_eq!(process.to_string().parse(), Ok(process.clone()));
        runs(&process);
    }
    // The text of a process as typed, without a file.
    if let Ok(process) = text.parse::<SlotChannel>() {
        assert_eq!(process.to_string().parse(), Ok(process.clone()));
        runs(&process);
    }
}

fn runs(process: &SlotChannel) {
    let slot = |number: u64| Slot::new(Time::from_nanos(number * 100_000)?, Span::NANOSECOND);
    let mut whole: Vec<Slot> = (0..200).filter_map(slot).collect();
    let mut halves = whole.clone();
    let on_air = Span::from_micros(100);
    process.begin(1, Use::Forward).erase(0, on_air, &mut whole);
    let mut running = process.begin(1, Use::Forward);
    let (first, second) = halves.split_at_mut(100);
    running.erase(100, on_air, second);
    running.erase(0, on_air, first);
    assert_eq!(whole, halves);
}
