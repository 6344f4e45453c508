//! Helpers of the tests of the command line: running `tmt`, a folder of one's own, the measured traces.

pub(crate) mod schema;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The program under test.
pub(crate) const TMT: &str = env!("CARGO_BIN_EXE_tmt");

/// Time after which a run counts as hanging.
const PATIENCE: Duration = Duration::from_mins(1);

/// Result of a finished program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    /// Its stdout, as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Its stdout, as JSON that obeys its schema.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let document = serde_json::from_slice(&self.stdout).unwrap();
        schema::check(&document).unwrap();
        document
    }

    /// The `results` of the JSON that it wrote to stdout.
    #[track_caller]
    pub(crate) fn results(&self) -> serde_json::Value {
        self.json()["results"].take()
    }

    /// Asserts that it did its work.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Asserts that it ended with `code`, saying all of `words` on stderr.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        self.says(words)
    }

    /// Asserts that stderr holds all of `words`.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "no '{word}' in:\n{}",
                self.stderr
            );
        }
        self
    }
}

/// The rows of a table in CSV, by the names of its columns.
pub(crate) fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.comment(Some(b'#')).from_reader(text.as_bytes());
    let columns = reader.headers().unwrap().clone();
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        let cells = columns.iter().zip(&row);
        cells
            .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
            .collect()
    });
    rows.collect()
}

/// A run of `tmt` in the making.
pub(crate) struct Tmt {
    command: Command,
    input: Vec<u8>,
    /// Sizes of the pieces in which the input is written, again and again.
    pieces: Vec<usize>,
    patience: Duration,
}

/// `tmt` with these arguments, which hold no blanks; stdin is empty.
pub(crate) fn tmt(arguments: &str) -> Tmt {
    let mut command = Command::new(TMT);
    command.args(arguments.split_whitespace());
    // Help is wrapped to the terminal's width.
    command.env("COLUMNS", "100");
    Tmt {
        command,
        input: Vec::new(),
        pieces: vec![usize::MAX],
        patience: PATIENCE,
    }
}

impl Tmt {
    /// One argument more, which may hold blanks.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Arguments more, which hold no blanks.
    pub(crate) fn arg_list(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split_whitespace());
        self
    }

    /// Runs in `folder`.
    pub(crate) fn within(mut self, folder: &Folder) -> Self {
        self.command.current_dir(folder.path(""));
        self
    }

    /// Runs with an environment variable.
    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }

    /// May run for this long.
    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets its stdin.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Writes the input in pieces of these sizes, over and over.
    pub(crate) fn pieces(mut self, sizes: &[usize]) -> Self {
        self.pieces = sizes.to_vec();
        self
    }

    /// Runs it with stdout going to `stdout`, which is then not part of the result.
    pub(crate) fn run_into(mut self, stdout: impl Into<Stdio>) -> Ran {
        self.command.stdout(stdout);
        self.go()
    }

    /// Runs it.
    pub(crate) fn run(mut self) -> Ran {
        self.command.stdout(Stdio::piped());
        self.go()
    }

    fn go(mut self) -> Ran {
        self.command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = thread::spawn(move || {
            let mut rest = &self.input[..];
            for size in self.pieces.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, behind) = rest.split_at((*size).min(rest.len()));
                // A program that has seen enough stops reading.
                if stdin.write_all(piece).is_err() {
                    break;
                }
                rest = behind;
            }
        });
        let ran = finish_within(child, self.patience);
        writer.join().unwrap();
        ran
    }
}

/// Runs a shell script with `pipefail` in `folder`, where `tmt` is the program under test.
pub(crate) fn bash(folder: &Folder, script: &str) -> Ran {
    let programs = Path::new(TMT).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs).chain(std::env::split_paths(&path));
    let child = Command::new("bash")
        .args(["-o", "pipefail", "-c", script])
        .current_dir(folder.path(""))
        .env("PATH", std::env::join_paths(paths).unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    finish(child)
}

/// Collects what `child` writes and waits for its end.
pub(crate) fn finish(child: Child) -> Ran {
    finish_within(child, PATIENCE)
}

fn finish_within(mut child: Child, patience: Duration) -> Ran {
    fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                pipe.read_to_end(&mut bytes).unwrap();
            }
            bytes
        })
    }
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait(&mut child, patience);
    Ran {
        code: status.code(),
        stdout: stdout.join().unwrap(),
        stderr: String::from_utf8_lossy(&stderr.join().unwrap()).into_owned(),
    }
}

/// Waits for `child`, which must not take for ever.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a test waits is no part of what it computes"
)]
fn wait(child: &mut Child, patience: Duration) -> ExitStatus {
    let start = Instant::now();
    while start.elapsed() < patience {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    panic!("still running after {patience:?}");
}

/// A folder that is gone after the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The path of `name` in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Reads a file of any kind.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Reads a text file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all that is in it, hidden files too, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// A file of the project, such as `fixtures/valid/headed.csv`.
pub(crate) fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The folder of measured traces, `$TMT_SHARED/traces` or `../shared/traces` beside the project.
///
/// Without it a test says so and returns, unless `TMT_SHARED_REQUIRED` is set.
pub(crate) fn traces() -> Option<PathBuf> {
    let shared = std::env::var_os("TMT_SHARED").unwrap_or_else(|| "../shared".into());
    let folder = project("").join(shared).join("traces");
    if folder.is_dir() {
        return Some(folder);
    }
    let reason = format!("no measured traces in {}", folder.display());
    assert!(
        std::env::var_os("TMT_SHARED_REQUIRED").is_none(),
        "{reason}, and TMT_SHARED_REQUIRED is set"
    );
    skipped(&reason);
    None
}

/// Says why a test leaves something out; the harness would keep what `eprintln!` says of a test that passes.
pub(crate) fn skipped(reason: &str) {
    let this = thread::current();
    let line = format!("{}: skipped: {reason}\n", this.name().unwrap_or("a test"));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A log as version 1 of its format had it, without a checksum, so that only the rules of the auditor can notice a change.
pub(crate) fn version_1(log: &str) -> String {
    let log = log
        .replace("# log: packets/2\n", "# log: packets\n")
        .replace("# log: slots/2\n", "# log: slots\n");
    let (rows, _) = log.split_once(" crc32=").unwrap();
    format!("{rows}\n")
}

/// A PHY trace of `slots` slots, 1 ms apart, with a head; every `every`-th slot is erased.
pub(crate) fn trace(slots: u32, every: u32) -> String {
    let mut text = String::from(
        "# tool: hand 1\n# rate_bps: 264000\n# lldu_bytes: 33\n# rtt_ns: 20000000\n# site: Livorno\n\
         tx_time,decode_delay\n",
    );
    for slot in 0..slots {
        let delay = if slot % every == every - 1 {
            "0".to_owned()
        } else {
            format!("0.{:09}", 2_000_000 + u64::from(slot % 7) * 1_000)
        };
        text += &format!("{}.{:03}000000,{delay}\n", slot / 1000, slot % 1000);
    }
    let last = u64::from(slots - 1) * 1_000_000;
    text + &format!("# end: rows={slots} slots={slots} usable_until_ns={last}\n")
}

/// The same trace without head and end line.
pub(crate) fn plain(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Asserts that each of the `forms` that help lists, such as `arq[:rounds=R]`, is among `texts`, but for `others`.
#[track_caller]
pub(crate) fn has_every_form(texts: &[&str], forms: &[String], others: &[&str]) {
    let name = |text: &str| text.split([':', ',', '[']).next().map(str::to_owned);
    assert!(!forms.is_empty());
    for form in forms.iter().map(|form| name(form)) {
        let known = texts.iter().chain(others);
        assert!(
            known.map(|text| name(text)).any(|text| text == form),
            "{form:?} is missing"
        );
    }
}
