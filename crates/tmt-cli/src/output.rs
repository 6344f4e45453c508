//! Outputs. A file is written atomically: it appears complete, or not at all.

pub(crate) mod document;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tempfile::{Builder, TempPath};
use tmt_core::format::table::TableForm;
use tmt_core::format::{Compression, FORMS, Form, Format, Row, TraceWriter};
use tmt_core::types::{EndLine, Metadata, Time};

use crate::exit::{Failure, Outcome, print_line, print_usage_error};
use crate::host::{Here, STOPPED, here};
use crate::input::pipe;
use crate::progress;
use crate::stderr::{controls, safe};

/// Size of the write buffer. Blocks of rows are larger and bypass it.
const BUFFER: usize = 1 << 16;

/// An output: a file with a temporary name until [`Output::finish`], a stream, or what the program that calls the command gets.
pub(crate) struct Output {
    name: String,
    here: Here,
    /// `None` once the file is complete and closed.
    writer: Option<Target>,
    temporary: Option<Temporary>,
}

/// Where bytes go.
enum Target {
    File(BufWriter<File>),
    /// To the program that calls the command, when they are complete.
    Memory(Vec<u8>),
}

/// Temporary and final path of a file.
type Temporary = (TempPath, PathBuf);

/// Temporary files, to be removed on a signal.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes temporary files on a signal that ends the program, and then ends it with the code that shells report for
/// that signal. A file that reaches the limit of file sizes becomes an error of the write instead of a signal.
#[cfg(unix)]
pub(crate) fn clean_up_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;

    // Without a handler a signal leaves temporary files, which is acceptable.
    let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGXCPU]) else {
        return;
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let text =
                std::mem::take(&mut *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner));
            if !text.is_empty() {
                progress::clear();
                print_line(format_args!("{text}"));
            }
            // The lock waits for a file that is being renamed.
            for file in temporary().iter() {
                let _ = fs::remove_file(file);
            }
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(not(unix))]
pub(crate) fn clean_up_on_signals() {}

/// Text that a signal that ends the program prints.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Sets what a signal that ends the program prints; nothing if empty.
pub(crate) fn on_signal(text: String) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

fn temporary() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Canonical path, which identifies a file under any of its names. The file need not exist.
pub(crate) fn identity(path: &str) -> PathBuf {
    let path = follow_links(Path::new(path));
    fs::canonicalize(&path).unwrap_or_else(|_| {
        match (fs::canonicalize(folder_of(&path)), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    })
}

/// Refuses two names of the same regular file. Streams can be shared.
pub(crate) fn refuse_shared_files<'a>(paths: impl IntoIterator<Item = &'a str>) -> Outcome {
    let mut taken = BTreeSet::new();
    for path in paths.into_iter().filter(|path| *path != "-") {
        let is_stream = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        if !is_stream && !taken.insert(identity(path)) {
            return Err(Failure::usage(format!(
                "{path} is given more than once: a file can be only one input or output"
            )));
        }
    }
    Ok(())
}

/// Refuses the file of `flag` on stdout if the report goes there, too.
pub(crate) fn refuse_two_on_stdout(
    flag: &str,
    path: Option<&str>,
    report: Option<&str>,
) -> Outcome {
    if path.is_some_and(is_stdout) && report.is_none_or(is_stdout) {
        return Err(Failure::usage(format!(
            "{flag} - and the report cannot both go to stdout; add --output"
        )));
    }
    Ok(())
}

/// The target of a chain of symbolic links, whether it exists or not.
fn follow_links(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

impl Output {
    /// Opens `path`, or stdout for `None` or `-`.
    ///
    /// An existing path that is not a regular file (a pipe, a terminal, `/dev/null`) is written in place, as is one that
    /// the shell has opened (`/dev/stdout`, `/dev/fd/3`). The file that stdin reads is refused.
    pub(crate) fn create(path: Option<&str>) -> Outcome<Self> {
        let name = shown(path).to_owned();
        let here = here();
        if here.host().is_some() && path.is_none_or(is_stdout) {
            return Ok(Self {
                name,
                here,
                writer: Some(Target::Memory(Vec::new())),
                temporary: None,
            });
        }
        // The operating system refuses a directory that is there.
        let path_is_new = |path: &&str| !Path::new(path).is_dir();
        path.filter(path_is_new).map_or(Ok(()), refuse_directory)?;
        let opened = match path.filter(|path| !is_stdout(path)) {
            None => stdout().map(|stdout| {
                pipe::widen(&stdout);
                (stdout, None)
            }),
            Some(path) => open(path),
        };
        let (target, temporary) = opened.map_err(|error| {
            let folder = folder_of(Path::new(&name));
            if error.kind() == io::ErrorKind::NotFound && !folder.is_dir() {
                let folder = folder.display();
                return Failure::failed(format!(
                    "{name}: {error}: the directory {folder} does not exist"
                ));
            }
            Failure::io(&name, &error)
        })?;
        let replaced = match &temporary {
            Some((_, path)) => fs::metadata(path),
            None => target.metadata(),
        };
        if replaced.is_ok_and(|replaced| is_stdin(&replaced)) {
            return Err(Failure::usage(format!(
                "{name} is the file that stdin reads: a file can be only one input or output"
            )));
        }
        Ok(Self {
            name,
            here,
            writer: Some(Target::File(BufWriter::with_capacity(BUFFER, target))),
            temporary,
        })
    }

    /// Name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes all buffered bytes and closes the file, so that only the rename can still fail.
    pub(crate) fn close(&mut self) -> Outcome {
        self.settle()?;
        if let (Some(Target::Memory(bytes)), Some(host)) = (self.writer.take(), self.here.host()) {
            host.print(bytes);
        }
        Ok(())
    }

    /// Writes all buffered bytes.
    pub(crate) fn settle(&mut self) -> Outcome {
        self.flush()
            .map_err(|error| Failure::io(&self.name, &error))
    }

    /// Writes text for people, without what controls a terminal.
    pub(crate) fn show(&mut self, text: &str) -> Outcome {
        self.write(safe(text).as_bytes())
    }

    /// Writes `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome {
        self.write_all(bytes)
            .map_err(|error| Failure::io(&self.name, &error))
    }

    /// Completes the output: renames a temporary file to its final path.
    pub(crate) fn finish(mut self) -> Outcome {
        self.close()?;
        let Some((file, path)) = self.temporary else {
            return Ok(());
        };
        // Under the lock, so that a signal finds the file either temporary or final.
        let mut known = temporary();
        known.remove::<Path>(&file);
        let named = file.persist(path);
        named.map_err(|error| Failure::io(&self.name, &without_temporary_name(error.error)))
    }
}

/// Stdout. Unlike [`io::stdout`], which takes a descriptor that cannot be written for a sink, it reports every error.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd as _;

    let mut file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // Fails on a descriptor that was opened for reading.
    let _ = file.write(&[])?;
    if STDOUT_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other(
            "it is closed; use -o FILE, or > /dev/null",
        ));
    }
    Ok(file)
}

/// Whether stdout was closed when the program started.
#[cfg(unix)]
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks at stdout before the runtime starts, which opens `/dev/null` in the place of a closed descriptor. Afterwards that
/// cannot be told from a parent that did so, as Python's `subprocess.DEVNULL` does.
///
/// `unsafe` for `ctor`: it runs before `main`, where the standard library may not be relied on. This reads one descriptor
/// flag by a system call and stores a bool; it allocates nothing, cannot panic and touches no other state.
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn look_at_stdout() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    STDOUT_CLOSED.store(flags.is_err(), Ordering::Relaxed);
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;

    io::stdout()
        .as_handle()
        .try_clone_to_owned()
        .map(File::from)
}

/// Prints a message of clap and returns its exit code. Help and version are not errors, unless stdout cannot be written.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        print_usage_error(error);
        return ExitCode::from(2);
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    // `io::stdout` does not report a descriptor that was opened for reading.
    match printed.and_then(|()| stdout()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            print_line(format_args!("tmt: <stdout>: {error}"));
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Whether this is the regular file that stdin reads.
#[cfg(unix)]
fn is_stdin(file: &fs::Metadata) -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;

    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let stdin = stdin.and_then(|stdin| stdin.metadata());
    let same = |stdin: fs::Metadata| (stdin.dev(), stdin.ino()) == (file.dev(), file.ino());
    file.is_file() && stdin.is_ok_and(same)
}

#[cfg(not(unix))]
fn is_stdin(_: &fs::Metadata) -> bool {
    false
}

/// Refuses a name that no file can have.
pub(crate) fn refuse_directory(path: &str) -> Outcome {
    let shown = if path.is_empty() { "''" } else { path };
    let is_directory = path.ends_with('/') || Path::new(path).is_dir();
    let found = match path {
        "" => "an empty name",
        _ if is_directory => "a directory",
        _ => return Ok(()),
    };
    let text = format!("{shown}: found {found}, expected the name of a file");
    Err(Failure::failed(text))
}

/// Fails as [`Output::create`] would, for work that takes long: a process that is killed leaves no temporary file then.
pub(crate) fn check_writable(path: &str) -> Outcome {
    if !is_stream(path) {
        drop(Output::create(Some(path))?);
    }
    Ok(())
}

/// Opens `path` for writing. For a regular file also returns its temporary and final path.
fn open(path: &str) -> io::Result<(File, Option<Temporary>)> {
    let existing = match fs::metadata(path) {
        Ok(existing) => Some(existing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if is_stream(path) {
        let stream = OpenOptions::new().append(true).open(path)?;
        return Ok((stream, None));
    }
    // A symbolic link stays: its target is written.
    let path = follow_links(Path::new(path));
    if existing.is_some() {
        // A file without write permission must not be replaced.
        drop(OpenOptions::new().append(true).open(&path)?);
    }
    let mut builder = Builder::new();
    builder.prefix(".tmt-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut known = temporary();
    let file = builder
        .tempfile_in(folder_of(&path))
        .map_err(without_temporary_name)?;
    known.insert(file.path().to_path_buf());
    drop(known);
    let (file, name) = file.into_parts();
    if let Some(existing) = existing {
        inherit(&file, &existing)?;
    }
    Ok((file, Some((name, path))))
}

/// Gives `file` the owner, the group and the permissions of the file that it replaces.
#[cfg(unix)]
fn inherit(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

    let own = file.metadata()?;
    let mut mode = replaced.mode();
    // Only root may give a file away, and the owner may choose among its groups.
    let owner = Some(replaced.uid()).filter(|owner| *owner != own.uid());
    let group = Some(replaced.gid()).filter(|group| *group != own.gid());
    let given = fchown(file, owner, group).or_else(|_| fchown(file, None, group));
    let kept = given.is_ok() && file.metadata()?.uid() == replaced.uid();
    if !kept {
        // These bits would pass on the rights of another user or group.
        mode &= 0o1777;
    }
    // After the owner, whose change clears them.
    file.set_permissions(fs::Permissions::from_mode(mode & 0o7777))
}

#[cfg(not(unix))]
fn inherit(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// The message of the operating system, without the name of the temporary file.
fn without_temporary_name(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((message, _)) => io::Error::new(error.kind(), message),
        None => error,
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.here.is_stopped() {
            return Err(io::Error::other(STOPPED));
        }
        match self.writer.as_mut() {
            Some(Target::File(file)) => file.write(bytes),
            Some(Target::Memory(all)) => all.write(bytes),
            None => Err(io::Error::other("written after it was closed")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.writer.as_mut() {
            Some(Target::File(file)) => file.flush(),
            Some(Target::Memory(_)) | None => Ok(()),
        }
    }
}

/// Flags of every command that writes one trace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The flag of every command that writes traces.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FormatArgs {
    /// Format of the output: csv, arrow (a file), arrows (a stream) or parquet; csv and arrow also with .gz or .zst
    /// appended. Into a pipe, arrow is a stream [default: by the extension of the output's name; csv without an extension
    /// and for pipes]
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = PossibleValuesParser::new(FORMS.map(|(name, _)| name)).try_map(|form| form.parse::<Form>())
    )]
    format: Option<Form>,
    /// Write neither the metadata at the start (`# key: value`) nor the end line, for programs that take no comments; later
    /// stages then need flags, and do not notice a cut
    #[arg(long)]
    no_head: bool,
}

impl FormatArgs {
    /// The head that is written: `head`, or none.
    pub(crate) fn head(&self, head: Metadata) -> Metadata {
        if self.no_head { Metadata::new() } else { head }
    }

    /// The flag that is given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        match (self.format, self.no_head) {
            (Some(_), _) => Some("--format"),
            (None, true) => Some("--no-head"),
            (None, false) => None,
        }
    }

    /// Format and compression of the output at `path`: those of the flag, else of the name. If the flag has no
    /// compression, that of the name applies.
    pub(crate) fn of(&self, path: Option<&str>) -> Outcome<Form> {
        let is_stream = path.is_none_or(is_stream);
        let name = path.filter(|path| !is_stdout(path));
        let form = match (self.format, name) {
            (Some(flag), Some(name)) if flag.compression.is_none() => {
                let compression = Compression::from_file_name(name);
                if let Some(compression) = compression.filter(|_| flag.format == Format::Parquet) {
                    return Err(Failure::usage(format!(
                        "--format parquet compresses its columns itself: expected a name for --output without {}",
                        compression.extension()
                    )));
                }
                flag.compressed(compression)
            }
            (Some(flag), _) => flag,
            (None, None) => Form::default(),
            (None, Some(name)) => match Form::from_file_name(name) {
                Ok(form) => form.unwrap_or_default(),
                Err(_) if is_stream => Form::default(),
                Err(error) => return Err(Failure::usage(format!("{error}; or give --format"))),
            },
        };
        Ok(if is_stream { form.streamed() } else { form })
    }
}

/// The form of the table at `path`: that of the name, or text for a pipe or device of any name.
pub(crate) fn table_form(path: &str) -> Outcome<TableForm> {
    match TableForm::from_file_name(path) {
        Err(_) if is_stream(path) => Ok(TableForm::Text(None)),
        form => form.map_err(Failure::usage),
    }
}

/// Whether an output is written in place: stdout, a pipe, a device, or what the shell has opened.
pub(crate) fn is_stream(path: &str) -> bool {
    let mut inherited = ["/dev/fd", "/dev/stderr", "/proc/self/fd"].iter();
    is_stdout(path)
        || fs::metadata(path).is_ok_and(|existing| !existing.is_file())
        || inherited.any(|place| Path::new(path).starts_with(place))
}

impl OutputArgs {
    /// Name of the output in messages.
    pub(crate) fn name(&self) -> &str {
        shown(self.output.as_deref())
    }

    /// Format and compression of the output.
    pub(crate) fn form(&self) -> Outcome<Form> {
        self.format.of(self.output.as_deref())
    }

    /// Opens the output for rows after `head`.
    pub(crate) fn create<T: Row>(&self, head: &Metadata) -> Outcome<TraceWriter<T, Output>> {
        let head = self.format.head(head.clone());
        writer(self.output.as_deref(), self.form()?, &head)
    }
}

/// Name of an output in messages.
pub(crate) fn shown(path: Option<&str>) -> &str {
    path.filter(|path| !is_stdout(path)).unwrap_or("<stdout>")
}

/// Whether a path means stdout.
pub(crate) fn is_stdout(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdout")
}

/// Opens `path` for rows in `form` after `head`.
pub(crate) fn writer<T: Row>(
    path: Option<&str>,
    form: Form,
    head: &Metadata,
) -> Outcome<TraceWriter<T, Output>> {
    TraceWriter::new(Output::create(path)?, form, head)
        .map_err(|error| Failure::io(shown(path), &error))
}

/// The end line of a PHY trace of `rows` slots, the last at `last`.
pub(crate) fn end_of_slots(rows: u64, last: Time) -> EndLine {
    EndLine {
        rows,
        slots: rows,
        usable_until: last,
    }
}

/// Writes `value` as indented JSON with a final line break. Characters that control a terminal are escaped.
pub(crate) fn json(output: &mut Output, value: &impl serde::Serialize) -> Outcome {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    // Most text is plain, as its bytes show at once.
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if !text.bytes().all(is_plain) && text.contains(controls) {
        let escaped = |c: char| {
            if controls(c) {
                format!("\\u{:04x}", u32::from(c))
            } else {
                c.to_string()
            }
        };
        text = text.chars().map(escaped).collect();
    }
    text.push('\n');
    output.write(text.as_bytes())
}
