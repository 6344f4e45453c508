//! A trace in every form there is: written, read again, and summed up. With a file's name, that file instead.

use std::fs::File;
use std::io::{Seek as _, Write as _};

use tmt_core::channel::synth::ConstantRate;
use tmt_core::format::{FORMS, Options, Rows, TraceReader, TraceWriter};
use tmt_core::stats::TraceTally;
use tmt_core::types::{EndLine, Metadata};
use tmt_core::{BitRate, Bytes, Slot, Span, Time};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    if let Some(path) = std::env::args().nth(1) {
        return summarise(&path, File::open(&path)?);
    }
    let second = Span::from_secs(1);
    let slots = ConstantRate::new(
        BitRate(1_000_000),
        Bytes(125),
        second,
        Span::from_millis(36),
    );
    let slots: Vec<Slot> = slots.ok_or("no such link")?.collect();
    let mut head = Metadata::new();
    head.set("tool", "example");
    head.set("rtt_ns", Span::from_millis(500).as_nanos().to_string());
    let rows = slots.len() as u64;
    let usable_until = slots.last().map_or(Time::ZERO, Slot::tx_time);
    let end = EndLine {
        rows,
        slots: rows,
        usable_until,
    };
    for (name, form) in FORMS {
        let mut writer = TraceWriter::new(nameless_file()?, form, &head)?;
        for slots in slots.chunks(300) {
            writer.write(slots)?;
        }
        let mut file = writer.finish(&end)?;
        file.flush()?;
        file.rewind()?;
        summarise(name, file)?;
    }
    Ok(())
}

fn summarise(name: &str, file: File) -> Result<()> {
    let mut trace = TraceReader::seekable(file, Options::default())?;
    let (mut rows, mut tally) = (Rows::default(), TraceTally::default());
    while trace.next_rows(&mut rows)? {
        tally.slots(&rows.slots, &rows.attempts);
    }
    let stats = tally.finish(trace.metadata(), None, None);
    let delay = stats.delay_s.and_then(|delay| delay.mean);
    println!(
        "{name}: {} slots, mean delay {:?} s",
        stats.slots,
        delay.unwrap_or(f64::NAN)
    );
    Ok(())
}

/// A file that goes when it is closed.
fn nameless_file() -> Result<File> {
    let path = std::env::temp_dir().join(format!("tmt-example-{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}
