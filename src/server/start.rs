//! Builds the server from its settings and runs it to its end.

use super::clock::MachineClock;
use super::durability::jobs::{self, Jobs};
use super::durability::log::Log;
use super::fiber::Busy;
use super::garbage::Garbage;
use super::listen::{self, Accepted, Listeners};
use super::outside::Process;
use super::policy::ConnectionPolicy;
use super::supervisor::Supervisor;
use super::title::ProcessTitle;
use super::transfers::Transfers;
use super::{Shared, allocated, background, descriptors, durability, signals, users};
use crate::commands;
use crate::engine::random::Random;
use crate::engine::table::CommandTable;
use crate::engine::time::TimeSource;
use crate::engine::{Engine, Identity, ShutdownOptions};
use crate::settings::Settings;
use parking_lot::RwLock;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::LocalSet;

/// Where Redis, too, notes the id of a process in the background that was given no place for it.
const BACKGROUND_PIDFILE: &str = "/var/run/redis.pid";

/// Runs a server until it is told to end.
pub fn run(mut settings: Settings) -> io::Result<()> {
    let title = ProcessTitle::take();
    tracing::info!("oO0OoO0OoO0Oo rankd is starting oO0OoO0OoO0Oo");
    tracing::info!(
        "rankd version={}, speaks Redis 7.2.4, PID: {}, just started",
        env!("CARGO_PKG_VERSION"),
        std::process::id()
    );
    std::env::set_current_dir(&settings.dir).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("Can't chdir to '{}': {error}", settings.dir.display()),
        )
    })?;
    descriptors::settle(&mut settings)?;
    let (listeners, mut tcp, unix) = open_sockets(&settings)?;
    title.show(&settings, listeners.port());
    let threads = settings.io_threads.max(1) as usize;
    let pidfile = settings.pidfile.clone().or_else(|| {
        let default = PathBuf::from(BACKGROUND_PIDFILE);
        settings.daemonize.then_some(default)
    });
    let log_folder = settings.appenddirname.clone();
    let unix_path = settings.unixsocket.clone();
    if let Some(path) = &pidfile
        && let Err(error) = std::fs::write(path, format!("{}\n", std::process::id()))
    {
        tracing::warn!("Failed to write PID file: {error}");
    }
    let (shutdown, told_to_end) = watch::channel(None);
    let table = command_table(&settings)?;
    let shared = Arc::new(build(settings, table, title, listeners, threads, shutdown)?);
    durability::load::begin(&shared, 0);
    Jobs::serve(shared.clone())?;
    Transfers::serve(shared.clone())?;
    tracing::info!("Server initialized");
    let runtime = current_thread_runtime()?;
    let mut senders = Vec::new();
    let mut receivers = Vec::new();
    for _ in 0..threads {
        let (sender, receiver) = unbounded_channel();
        senders.push(sender);
        receivers.push(receiver);
    }
    let mut others = Vec::new();
    let first = receivers.remove(0);
    for (index, receiver) in receivers.into_iter().enumerate() {
        let shared = shared.clone();
        let told_to_end = told_to_end.clone();
        let thread = std::thread::Builder::new().name(format!("net-{}", index + 1));
        others.push(thread.spawn(move || -> io::Result<()> {
            let runtime = current_thread_runtime()?;
            serve_thread(&runtime, shared, receiver, told_to_end);
            Ok(())
        })?);
    }
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        // Before the line that says "ready": whoever waits for it may send a signal at once.
        let signals = signals::Signals::listen()?;
        let mut ready = Vec::new();
        while let Ok(listener) = tcp.try_recv() {
            ready.push(format!("tcp {}", listener.local_addr()?));
            listen::begin_tcp(listener, &shared, &senders)?;
        }
        if let Some((listener, path)) = unix {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            let shown = path.display().to_string();
            ready.push(format!("unix {shown}"));
            tokio::task::spawn_local(listen::accept_unix(
                listener,
                shown,
                shared.clone(),
                senders.clone(),
            ));
        }
        tokio::task::spawn_local(listen::begin_later(tcp, shared.clone(), senders.clone()));
        tokio::task::spawn_local(signals::run(shared.clone(), signals));
        tokio::task::spawn_local(background::run(shared.clone()));
        tokio::task::spawn_local(background::serve_durable(shared.clone()));
        let body =
            tokio::task::spawn_local(thread_body(shared.clone(), first, told_to_end.clone()));
        if load_files(shared.clone(), told_to_end).await? {
            for address in ready {
                tracing::info!("Ready to accept connections {address}");
            }
            shared.supervisor.ready();
        }
        let ended = body.await.map_err(io::Error::other);
        shared.supervisor.stopping();
        ended
    })?;
    for thread in others {
        match thread.join() {
            Ok(ended) => ended?,
            Err(_) => tracing::warn!("A network thread panicked"),
        }
    }
    shared.log.stop();
    jobs::remove_asides(&log_folder);
    if let Some(path) = &pidfile {
        // Gone already is as good.
        let _ = std::fs::remove_file(path);
    }
    if let Some(path) = &unix_path {
        let _ = std::fs::remove_file(path);
    }
    tracing::warn!("rankd is now ready to exit, bye bye...");
    Ok(())
}

type OpenSockets = (
    Listeners,
    UnboundedReceiver<std::net::TcpListener>,
    Option<(std::os::unix::net::UnixListener, PathBuf)>,
);

/// Opens what the settings ask to listen on.
fn open_sockets(settings: &Settings) -> io::Result<OpenSockets> {
    let (opened, tcp) = unbounded_channel();
    let listeners = Listeners::open(settings, opened).map_err(|error| {
        tracing::error!("{error}");
        let text = format!(
            "Failed listening on port {} (tcp), aborting.",
            settings.port
        );
        io::Error::new(error.kind(), text)
    })?;
    let unix = match &settings.unixsocket {
        Some(path) => Some((
            listen::open_unix(path, settings.unixsocketperm).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("Failed opening Unix socket: bind: {error}"),
                )
            })?,
            path.clone(),
        )),
        None => None,
    };
    if listeners.port().is_none() && unix.is_none() {
        return Err(io::Error::other(
            "Configured to not listen anywhere, exiting.",
        ));
    }
    Ok((listeners, tcp, unix))
}

/// Reads the files on a thread of its own, while clients are answered that they have to wait.
/// False when the server is told to end before that is done.
async fn load_files(
    shared: Arc<Shared>,
    mut told_to_end: watch::Receiver<Option<ShutdownOptions>>,
) -> io::Result<bool> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("load".to_string())
        .spawn(move || {
            // Nobody waits any more when the server ends meanwhile.
            let _ = sender.send(durability::load::run(&shared));
        })?;
    tokio::select! {
        loaded = receiver => match loaded {
            Ok(loaded) => loaded.map(|()| true),
            Err(_) => Err(io::Error::other("Loading ended before its time")),
        },
        _ = told_to_end.wait_for(Option::is_some) => Ok(false),
    }
}

fn current_thread_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
}

fn serve_thread(
    runtime: &Runtime,
    shared: Arc<Shared>,
    accepted: UnboundedReceiver<Accepted>,
    told_to_end: watch::Receiver<Option<ShutdownOptions>>,
) {
    let local = LocalSet::new();
    local.block_on(runtime, thread_body(shared, accepted, told_to_end));
}

/// Serves connections until the server is told to end.
async fn thread_body(
    shared: Arc<Shared>,
    mut accepted: UnboundedReceiver<Accepted>,
    mut told_to_end: watch::Receiver<Option<ShutdownOptions>>,
) {
    loop {
        tokio::select! {
            connection = accepted.recv() => match connection {
                Some(connection) => {
                    tokio::task::spawn_local(listen::serve(connection, shared.clone()));
                }
                None => return,
            },
            _ = told_to_end.wait_for(Option::is_some) => return,
        }
    }
}

/// All commands under the names that the settings give them.
pub(super) fn command_table(settings: &Settings) -> io::Result<&'static CommandTable> {
    let mut table = CommandTable::new(commands::FAMILIES);
    for line in settings.renamed_commands() {
        let [from, to] = line.words.as_slice() else {
            return Err(invalid(line.refusal("rename-command takes two names")));
        };
        if !table.rename(&String::from_utf8_lossy(from), &String::from_utf8_lossy(to)) {
            return Err(invalid(line.refusal("No such command in rename-command")));
        }
    }
    Ok(table.keep())
}

/// The parts of a server, without its threads.
pub(super) fn build(
    settings: Settings,
    table: &'static CommandTable,
    title: ProcessTitle,
    listeners: Listeners,
    threads: usize,
    shutdown: watch::Sender<Option<ShutdownOptions>>,
) -> io::Result<Shared> {
    let mut random = Random::new(random_seed());
    let time: Arc<dyn TimeSource> = Arc::new(MachineClock::new());
    let policy = Arc::new(ConnectionPolicy::new(&settings));
    let busy = Arc::new(Busy::default());
    let connections_max = Arc::new(AtomicU32::new(settings.maxclients));
    let log = Arc::new(Log::new(
        settings.appendfsync,
        settings.aof_timestamp_enabled,
        time.clone(),
    ));
    log.set_keeps_history(settings.aof_disable_auto_gc);
    let jobs = Arc::new(Jobs::default());
    let transfers = Arc::new(Transfers::default());
    let supervisor = Supervisor::find(&settings);
    let tcp_port = listeners.port().unwrap_or(0);
    let listeners = Arc::new(listeners);
    let process = Process {
        log: log.clone(),
        jobs: jobs.clone(),
        transfers: transfers.clone(),
        garbage: Garbage::start()?,
        policy: policy.clone(),
        busy: busy.clone(),
        connections_max: connections_max.clone(),
        shutdown: shutdown.clone(),
        startup_bytes: allocated::sample(),
        listeners: listeners.clone(),
        title,
    };
    let identity = Identity {
        run_id: hex40(&mut random),
        replication_id: hex40(&mut random),
        process_id: std::process::id(),
        executable: std::env::current_exe()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        config_file: settings
            .file()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        tcp_port,
        supervised: supervisor.name(),
    };
    let session_random = Mutex::new(random.fork());
    let mut engine = Engine::new(
        settings,
        table,
        time.clone(),
        Box::new(process),
        identity,
        random,
    );
    users::load(&mut engine)?;
    Ok(Shared {
        clients: engine.clients.clone(),
        acl: engine.acl.clone(),
        stats: engine.stats.clone(),
        engine: Arc::new(RwLock::new(engine)),
        table,
        time,
        policy,
        log,
        jobs,
        transfers,
        busy,
        threads,
        shutdown,
        listeners,
        supervisor,
        connections: AtomicUsize::new(0),
        connections_max,
        random: session_random,
    })
}

pub(super) fn invalid(error: crate::settings::LoadError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
}

/// A seed that no one can guess well: the standard library's hasher keys, which the system seeds.
fn random_seed() -> u64 {
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

fn hex40(random: &mut Random) -> String {
    let mut text = String::with_capacity(48);
    while text.len() < 40 {
        text.push_str(&format!("{:016x}", random.next_u64()));
    }
    text.truncate(40);
    text
}

/// Connections being served.
pub fn connection_count(shared: &Shared) -> usize {
    shared.connections.load(Relaxed)
}
