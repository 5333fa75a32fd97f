//! The title of the process that ps shows (`proc-title-template`).
//!
//! The kernel shows the memory that the arguments were put into, so a title is written over them. It may run on
//! into the memory of the environment, which is moved away first. Where the kernel does not say where that memory
//! is, the process keeps the title it has.

use crate::settings::Settings;
use std::sync::Mutex;

/// The memory that holds the title; by default there is none, and the title stays as it is.
#[derive(Default)]
pub struct ProcessTitle {
    /// What the program was called by.
    program: String,
    memory: Mutex<&'static mut [u8]>,
}

impl ProcessTitle {
    /// Takes the memory of the arguments and the environment; nobody may read the arguments from then on.
    ///
    /// Call it once, while this is the only thread that reads or changes the environment.
    pub fn take() -> Self {
        let program = std::env::args_os()
            .next()
            .map(|program| program.to_string_lossy().into_owned())
            .unwrap_or_default();
        let range = argument_memory();
        if range.is_some() {
            for (name, value) in std::env::vars_os() {
                // SAFETY: no other thread reads or changes the environment, as the caller has promised.
                unsafe { std::env::set_var(name, value) };
            }
        }
        let memory: &'static mut [u8] = match range {
            // SAFETY: the kernel put the strings of the arguments and of the environment there, on the stack of the
            // first thread, which is mapped and writable until the process ends. Setting each variable anew has moved
            // the environment to the heap; the arguments are read by nobody any more, and would still end in a zero.
            Some((start, len)) => unsafe { std::slice::from_raw_parts_mut(start as *mut u8, len) },
            None => &mut [],
        };
        ProcessTitle {
            program,
            memory: Mutex::new(memory),
        }
    }

    /// Shows what the template of the settings says; `port` is the one that is open.
    pub fn show(&self, settings: &Settings, port: Option<u16>) {
        if !settings.set_proc_title {
            return;
        }
        let title = self.text(settings, port.unwrap_or(0));
        let mut memory = self
            .memory
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // The last byte stays zero: the kernel takes anything else for a title that runs on.
        let room = memory.len().saturating_sub(1);
        let len = title.len().min(room);
        memory[..len].copy_from_slice(&title.as_bytes()[..len]);
        memory[len..].fill(0);
    }

    fn text(&self, settings: &Settings, port: u16) -> String {
        let host = match settings
            .bind
            .first()
            .map(|host| host.trim_start_matches('-'))
        {
            None | Some("*" | "") => "*",
            Some(host) => host,
        };
        let shown = |path: Option<&std::path::Path>| {
            path.map(|path| path.display().to_string())
                .unwrap_or_default()
        };
        settings
            .proc_title_template
            .replace("{listen-addr}", &format!("{host}:{port}"))
            .replace("{server-mode}", "")
            .replace("{port}", &port.to_string())
            .replace("{tls-port}", "0")
            .replace("{unixsocket}", &shown(settings.unixsocket.as_deref()))
            .replace("{config-file}", &shown(settings.file()))
            .replace("{title}", &self.program)
            .trim_end_matches(' ')
            .to_string()
    }
}

/// Start and length of the memory of the arguments and the environment behind them.
fn argument_memory() -> Option<(usize, usize)> {
    // Fields 48 to 51 of the line; the name of the program, in brackets, may hold spaces.
    const ARGUMENTS_START: usize = 48;
    const FIRST_BEHIND_NAME: usize = 3;
    let line = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<usize> = line[line.rfind(')')? + 1..]
        .split_ascii_whitespace()
        .skip(ARGUMENTS_START - FIRST_BEHIND_NAME)
        .map_while(|field| field.parse().ok())
        .collect();
    let [start, end, next, last, ..] = fields[..] else {
        return None;
    };
    if start == 0 || end <= start {
        return None;
    }
    let end = if next == end { last.max(end) } else { end };
    Some((start, end - start))
}
