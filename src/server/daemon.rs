//! Going into the background (`daemonize yes`).

use std::io;

/// Lets the caller of this program go on, and goes on in the background without its terminal and its standard streams.
///
/// Call it while this is the only thread: others would stay behind with the parent.
pub fn detach() -> io::Result<()> {
    const KEEP_FOLDER: libc::c_int = 1;
    const LEAVE_STREAMS: libc::c_int = 0;
    // SAFETY: takes two numbers; with a single thread the child is a whole copy of the process.
    if unsafe { libc::daemon(KEEP_FOLDER, LEAVE_STREAMS) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
