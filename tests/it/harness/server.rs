//! Servers that a test starts: ours, and the real ones its replies are compared with.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use tempfile::TempDir;

use super::client::Client;

/// Tries at starting a real server: it cannot report a port it took by itself, so another process may take the free
/// one in between.
const REAL_SERVER_TRIES: usize = 5;

/// A running server in a folder of its own; dropping it ends the process and removes the folder.
pub struct Server {
    child: Child,
    port: u16,
    output: Option<JoinHandle<String>>,
    folder: PathBuf,
    /// The folder, if it goes with the server.
    _kept: Option<TempDir>,
}

/// The real servers that scripts/fetch.sh installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    Redis8,
    Redis7,
    Valkey9,
}

impl Real {
    fn file_name(self) -> &'static str {
        match self {
            Real::Redis8 => "redis-server-8.2.3",
            Real::Redis7 => "redis-server-7.0.15",
            Real::Valkey9 => "valkey-server-9.1.2",
        }
    }

    /// The program, or None (with a note) when none was installed.
    pub fn program(self) -> Option<PathBuf> {
        let program = real_program(self.file_name());
        if program.is_none() {
            eprintln!(
                "nothing to compare with: scripts/fetch.sh installs {}",
                self.file_name()
            );
        }
        program
    }
}

impl Server {
    /// Our server with an empty memory and no persistence.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// Our server with further settings, as `--name value` words.
    pub fn start_with(settings: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut command = Command::new(rankd_program());
        command
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .args(settings);
        Server::spawn_kept(command, folder, None)
            .unwrap_or_else(|output| panic!("rankd did not start:\n{output}"))
    }

    /// Our server with these words alone, which must make it take a free port.
    pub fn start_by(args: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut command = Command::new(rankd_program());
        command.args(args);
        Server::spawn_kept(command, folder, None)
            .unwrap_or_else(|output| panic!("rankd did not start:\n{output}"))
    }

    /// Our server with its log in a file; the port is one that was free a moment ago.
    pub fn start_logging_to(log: &Path) -> Server {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut command = Command::new(rankd_program());
        command.args([
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--logfile",
            &log.to_string_lossy(),
        ]);
        let mut child = command
            .current_dir(folder.path())
            .spawn()
            .expect("rankd can be run");
        while !std::fs::read_to_string(log)
            .is_ok_and(|text| text.contains("Ready to accept connections"))
        {
            let ended = child.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "rankd did not start: {ended:?}");
            std::thread::yield_now();
        }
        Server {
            child,
            port,
            output: None,
            folder: folder.path().to_path_buf(),
            _kept: Some(folder),
        }
    }

    /// A real server, or None (with a note) when none was installed.
    pub fn start_real(which: Real) -> Option<Server> {
        let program = which.program()?;
        let mut output = String::new();
        for _ in 0..REAL_SERVER_TRIES {
            let port = free_port();
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let mut command = Command::new(&program);
            command.args([
                "--port",
                &port.to_string(),
                "--save",
                "",
                "--appendonly",
                "no",
            ]);
            command.args(["--enable-debug-command", "yes"]);
            match Server::spawn_kept(command, folder, Some(port)) {
                Ok(server) => return Some(server),
                Err(text) => output = text,
            }
        }
        panic!("{} did not start:\n{output}", which.file_name());
    }

    /// Our server on a folder that outlives it, with these settings alone; its output if it does not start.
    pub fn start_in(folder: &Path, settings: &[&str]) -> Result<Server, String> {
        let mut command = Command::new(rankd_program());
        command
            .args(["--port", "0", "--enable-debug-command", "yes"])
            .args(settings);
        Server::spawn(command, folder, None)
    }

    /// A real server on a folder that outlives it; None (with a note) when none was installed.
    pub fn start_real_in(which: Real, folder: &Path, settings: &[&str]) -> Option<Server> {
        let program = which.program()?;
        let mut output = String::new();
        for _ in 0..REAL_SERVER_TRIES {
            let port = free_port();
            let mut command = Command::new(&program);
            command
                .args(["--port", &port.to_string(), "--enable-debug-command", "yes"])
                .args(settings);
            match Server::spawn(command, folder, Some(port)) {
                Ok(server) => return Some(server),
                Err(text) => output = text,
            }
        }
        panic!("{} did not start:\n{output}", which.file_name());
    }

    fn spawn_kept(command: Command, folder: TempDir, port: Option<u16>) -> Result<Server, String> {
        let mut server = Server::spawn(command, folder.path(), port)?;
        server._kept = Some(folder);
        Ok(server)
    }

    /// Starts the process and waits for the line that says that it is ready; its output if it ended before.
    pub fn spawn(mut command: Command, folder: &Path, port: Option<u16>) -> Result<Server, String> {
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("cannot run {:?}: {e}", command.get_program()));
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut output = String::new();
        loop {
            let start = output.len();
            if lines.read_line(&mut output).unwrap_or(0) == 0 {
                child.wait().expect("a child that ended can be waited for");
                return Err(output);
            }
            if output[start..].contains("Ready to accept connections") {
                break;
            }
        }
        let port = port
            .or_else(|| port_in(&output))
            .ok_or_else(|| format!("no port in:\n{output}"));
        // The pipe must be drained, or a talkative server would stop at a full one.
        let output = Some(std::thread::spawn(move || {
            while lines.read_line(&mut output).unwrap_or(0) > 0 {}
            output
        }));
        match port {
            Ok(port) => Ok(Server {
                child,
                port,
                output,
                folder: folder.to_path_buf(),
                _kept: None,
            }),
            Err(text) => {
                end(&mut child);
                Err(text)
            }
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn client(&self) -> Client {
        Client::connect(self.port)
    }

    /// Waits for the process to end by itself; its exit code and all that it printed.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("the child can be waited for");
        let output = self
            .output
            .take()
            .map(|thread| thread.join().expect("the reader ends with the pipe"));
        (status.code(), output.unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Failures are of no use here: the child may have ended by itself, and a test may be unwinding.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The program under test: what cargo built, or RANKD_BIN for a build with another profile.
pub fn rankd_program() -> PathBuf {
    std::env::var_os("RANKD_BIN")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_rankd")), PathBuf::from)
}

/// A real server's program in RANKD_REAL_SERVERS, where it must then be, or else in the cache of scripts/fetch.sh.
fn real_program(name: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("RANKD_REAL_SERVERS") {
        let program = Path::new(&folder).join(name);
        assert!(
            program.is_file(),
            "RANKD_REAL_SERVERS is set, but there is no {}",
            program.display()
        );
        return Some(program);
    }
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let cache = folder("RANKD_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("rankd")))
        .or_else(|| Some(folder("HOME")?.join(".cache/rankd")))?;
    Some(cache.join("bin").join(name)).filter(|program| program.is_file())
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port can be taken");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}

/// The port in the address on the line that says "Ready to accept connections".
fn port_in(output: &str) -> Option<u16> {
    let ready = output
        .lines()
        .rev()
        .find(|line| line.contains("Ready to accept connections"))?;
    let (_, after) = ready.rsplit_once("Ready to accept connections")?;
    let (_, port) = after.rsplit_once(':')?;
    let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
