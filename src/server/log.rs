//! The server's log: one line an event, in the layout of Redis, so that harnesses find what they wait for.

use crate::settings::LogLevel;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

static LOG: OnceLock<Log> = OnceLock::new();

struct Log {
    level: AtomicU8,
    sink: Mutex<Sink>,
}

enum Sink {
    Stdout,
    File { path: PathBuf, file: File },
}

/// Starts logging to `file`, or to standard output.
pub fn start(level: LogLevel, file: Option<&Path>) -> io::Result<()> {
    let sink = match file {
        None => Sink::Stdout,
        Some(path) => Sink::File {
            path: path.to_path_buf(),
            file: open(path)?,
        },
    };
    let log = Log {
        level: AtomicU8::new(level as u8),
        sink: Mutex::new(sink),
    };
    if LOG.set(log).is_ok() {
        // Fails only when another subscriber is set, as in a test that brings its own.
        let _ = tracing::subscriber::set_global_default(Lines);
    }
    Ok(())
}

/// Changes the level while running.
pub fn set_level(level: LogLevel) {
    if let Some(log) = LOG.get() {
        log.level.store(level as u8, Relaxed);
    }
}

/// Opens the log file anew, after it was moved away.
pub fn reopen() -> io::Result<()> {
    if let Some(log) = LOG.get() {
        let mut sink = log.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if let Sink::File { path, file } = &mut *sink {
            *file = open(path)?;
        }
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Turns events into lines.
struct Lines;

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let Some(log) = LOG.get() else {
            return false;
        };
        let level = log.level.load(Relaxed);
        let needed = match *metadata.level() {
            Level::ERROR | Level::WARN => LogLevel::Warning,
            Level::INFO => LogLevel::Notice,
            Level::DEBUG => LogLevel::Verbose,
            Level::TRACE => LogLevel::Debug,
        };
        metadata.target().starts_with("rankd")
            && (needed as u8) >= level
            && level != LogLevel::Nothing as u8
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let Some(log) = LOG.get() else {
            return;
        };
        let mut text = Text(String::new());
        event.record(&mut text);
        let mark = match *event.metadata().level() {
            Level::ERROR | Level::WARN => '#',
            Level::INFO => '*',
            Level::DEBUG => '-',
            Level::TRACE => '.',
        };
        let line = format!(
            "{}:M {} {} {}\n",
            std::process::id(),
            local_time(),
            mark,
            text.0
        );
        let mut sink = log.sink.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written must not stop the server.
        let _ = match &mut *sink {
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout
                    .write_all(line.as_bytes())
                    .and_then(|()| stdout.flush())
            }
            Sink::File { file, .. } => file.write_all(line.as_bytes()),
        };
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0.push_str(&format!("{value:?}"));
        } else {
            self.0.push_str(&format!(" {}={value:?}", field.name()));
        }
    }
}

/// `30 Nov 2026 22:35:06.123` in the machine's time zone.
fn local_time() -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = since.as_secs() as libc::time_t;
    // SAFETY: `tm` is plain data, and both pointers are valid for the call.
    let tm = unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        libc::localtime_r(&seconds, &mut tm);
        tm
    };
    format!(
        "{:02} {} {} {:02}:{:02}:{:02}.{:03}",
        tm.tm_mday,
        MONTHS[tm.tm_mon.clamp(0, 11) as usize],
        tm.tm_year + 1900,
        tm.tm_hour,
        tm.tm_min,
        tm.tm_sec,
        since.subsec_millis()
    )
}
