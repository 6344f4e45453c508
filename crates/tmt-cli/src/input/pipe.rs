//! Pipes at stdin and stdout.

/// Bytes that a pipe at stdin or stdout holds: both programs work on with fewer waits, and the bytes are still in a cache when they
/// are read.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 18;

/// Lets a pipe hold [`PIPE`] bytes if it holds fewer and the system allows it; other files stay as they are.
#[cfg(target_os = "linux")]
pub(crate) fn widen(file: impl std::os::fd::AsFd) {
    let size = rustix::pipe::fcntl_getpipe_size(&file);
    if size.is_ok_and(|size| size < PIPE) {
        let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn widen<T>(_: T) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_widened_and_never_narrowed() {
        let size = |pipe| rustix::pipe::fcntl_getpipe_size(pipe).unwrap();
        let (reading, writing) = rustix::pipe::pipe().unwrap();
        assert!(size(&reading) < PIPE);
        widen(&writing);
        assert_eq!(size(&reading), PIPE);
        rustix::pipe::fcntl_setpipe_size(&writing, 2 * PIPE).unwrap();
        widen(&reading);
        assert_eq!(size(&writing), 2 * PIPE);
    }
}
