//! Listening sockets, and the way of an accepted connection to its thread.

use super::Shared;
use super::connection::{self, Addresses};
use crate::settings::Settings;
use parking_lot::Mutex;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// An accepted connection on its way to a thread.
pub enum Accepted {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream, String),
}

/// The open TCP sockets, which CONFIG SET can replace.
pub struct Listeners {
    open: Mutex<Vec<std::net::TcpListener>>,
    /// Where new sockets go to be accepted from.
    opened: UnboundedSender<std::net::TcpListener>,
}

impl Listeners {
    /// Opens the TCP sockets that the settings ask for; each new socket is also sent to `opened`.
    pub fn open(
        settings: &Settings,
        opened: UnboundedSender<std::net::TcpListener>,
    ) -> io::Result<Self> {
        let listeners = Self {
            open: Mutex::new(Vec::new()),
            opened,
        };
        listeners.replace(settings, settings.port)?;
        Ok(listeners)
    }

    /// Accepts no more. Called before the first connection of a server that ends is closed, so that whoever sees that
    /// is refused and not left with a connection that nobody serves.
    pub fn close(&self) {
        self.open
            .lock()
            .drain(..)
            .for_each(|listener| stop_listening(&listener));
    }

    /// The port in use, when there is one.
    pub fn port(&self) -> Option<u16> {
        let open = self.open.lock();
        Some(open.first()?.local_addr().ok()?.port())
    }

    /// Follows a changed `bind` or, with `new_port`, a changed `port`. After an error the sockets are as they were.
    pub fn follow(&self, settings: &Settings, new_port: bool) -> io::Result<()> {
        let port = match settings.port {
            0 if !new_port => self.port().unwrap_or(0),
            port => port,
        };
        self.replace(settings, port)
    }

    /// Keeps the sockets whose address stays, closes the others, opens those that are missing.
    fn replace(&self, settings: &Settings, port: u16) -> io::Result<()> {
        let backlog = settings.tcp_backlog;
        let mut open = self.open.lock();
        let wanted = addresses(settings, port)?;
        let stays = |listener: &std::net::TcpListener| {
            listener
                .local_addr()
                .is_ok_and(|at| wanted.iter().any(|wanted| wanted.address == at))
        };
        let (kept, closed): (Vec<_>, Vec<_>) = open.drain(..).partition(stays);
        *open = kept;
        // Sockets that listen on every address are in the way of those that listen on one.
        closed.iter().for_each(stop_listening);
        match open_missing(&mut open, &wanted, port, backlog) {
            Ok(new) => {
                // Nobody takes them only when the server is about to end.
                new.into_iter().for_each(|new| {
                    let _ = self.opened.send(new);
                });
                Ok(())
            }
            Err(error) => {
                for old in closed.iter().filter_map(|old| old.local_addr().ok()) {
                    match open_one(old, backlog).and_then(|again| {
                        open.push(again.try_clone()?);
                        Ok(again)
                    }) {
                        Ok(again) => {
                            let _ = self.opened.send(again);
                        }
                        Err(error) => tracing::warn!("Could not listen on {old} again: {error}"),
                    }
                }
                Err(error)
            }
        }
    }
}

/// An address to listen on.
struct Wanted {
    address: SocketAddr,
    /// It may be missing on this machine.
    optional: bool,
}

fn addresses(settings: &Settings, port: u16) -> io::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for text in &settings.bind {
        let optional = text.starts_with('-');
        let name = text.trim_start_matches('-');
        match resolve(name, port) {
            Ok(address) => wanted.push(Wanted { address, optional }),
            Err(_) if optional => {}
            Err(error) => return Err(not_created(name, port, &error)),
        }
    }
    Ok(wanted)
}

/// Adds what is missing to `open` and gives it also back. The port that was found free for the first address is used
/// for all. After an error nothing is added.
fn open_missing(
    open: &mut Vec<std::net::TcpListener>,
    wanted: &[Wanted],
    mut port: u16,
    backlog: u32,
) -> io::Result<Vec<std::net::TcpListener>> {
    let mut new = Vec::new();
    let mut added = Vec::new();
    for &Wanted { address, optional } in wanted {
        let is_open =
            |listener: &std::net::TcpListener| listener.local_addr().is_ok_and(|at| at == address);
        if open.iter().any(is_open) {
            continue;
        }
        let address = SocketAddr::new(address.ip(), port);
        match open_one(address, backlog) {
            Ok(listener) => {
                port = listener.local_addr()?.port();
                added.push(listener.try_clone()?);
                new.push(listener);
            }
            Err(error) if optional && is_absent(&error) => {}
            Err(error) => {
                new.iter().for_each(stop_listening);
                return Err(not_created(&address.ip().to_string(), port, &error));
            }
        }
    }
    open.append(&mut added);
    Ok(new)
}

fn not_created(name: &str, port: u16, error: &io::Error) -> io::Error {
    let text = format!("Could not create server TCP listening socket {name}:{port}: bind: {error}");
    io::Error::new(error.kind(), text)
}

/// Ends a socket also for whoever waits for its connections.
fn stop_listening(listener: &std::net::TcpListener) {
    // It may have ended by itself.
    let _ = socket2::SockRef::from(listener).shutdown(std::net::Shutdown::Both);
}

fn resolve(name: &str, port: u16) -> io::Result<SocketAddr> {
    let ip: IpAddr = match name {
        "*" => Ipv4Addr::UNSPECIFIED.into(),
        "::*" => Ipv6Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        _ => match name.parse() {
            Ok(ip) => ip,
            Err(_) => {
                let unknown = || io::Error::other("Name or service not known");
                let found = (name, port)
                    .to_socket_addrs()
                    .map_err(|_| unknown())?
                    .next();
                found.ok_or_else(unknown)?.ip()
            }
        },
    };
    Ok(SocketAddr::new(ip, port))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EADDRNOTAVAIL
                | libc::EAFNOSUPPORT
                | libc::EPROTONOSUPPORT
                | libc::ESOCKTNOSUPPORT
        )
    )
}

fn open_one(address: SocketAddr, backlog: u32) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&SockAddr::from(address))?;
    socket.listen(backlog.min(i32::MAX as u32) as i32)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Opens the Unix socket, replacing a stale one.
pub fn open_unix(path: &Path, mode: u32) -> io::Result<std::os::unix::net::UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    if mode != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Begins to accept connections of a socket; within the main thread's runtime.
pub fn begin_tcp(
    listener: std::net::TcpListener,
    shared: &Arc<Shared>,
    threads: &[UnboundedSender<Accepted>],
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    tokio::task::spawn_local(accept_tcp(listener, shared.clone(), threads.to_vec()));
    Ok(())
}

/// Begins with each socket that CONFIG SET opens.
pub async fn begin_later(
    mut opened: UnboundedReceiver<std::net::TcpListener>,
    shared: Arc<Shared>,
    threads: Vec<UnboundedSender<Accepted>>,
) {
    while let Some(listener) = opened.recv().await {
        if let Err(error) = begin_tcp(listener, &shared, &threads) {
            tracing::warn!("A new socket cannot be listened on: {error}");
        }
    }
}

/// Accepts TCP connections and hands them round to the threads.
async fn accept_tcp(
    listener: TcpListener,
    shared: Arc<Shared>,
    threads: Vec<UnboundedSender<Accepted>>,
) {
    let mut next = 0;
    loop {
        match listener.accept().await {
            // The setting is another now.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return,
            Ok((stream, peer)) => {
                if let Some(refusal) = refusal(&shared, peer.ip().to_canonical().is_loopback()) {
                    refuse(stream, &shared, refusal).await;
                    continue;
                }
                shared.connections.fetch_add(1, Relaxed);
                if let Ok(stream) = stream.into_std() {
                    let _ = threads[next % threads.len()].send(Accepted::Tcp(stream));
                    next += 1;
                }
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Accepts connections of the Unix socket likewise.
pub async fn accept_unix(
    listener: UnixListener,
    path: String,
    shared: Arc<Shared>,
    threads: Vec<UnboundedSender<Accepted>>,
) {
    let mut next = 0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Some(refusal) = refusal(&shared, true) {
                    refuse(stream, &shared, refusal).await;
                    continue;
                }
                shared.connections.fetch_add(1, Relaxed);
                if let Ok(stream) = stream.into_std() {
                    let _ =
                        threads[next % threads.len()].send(Accepted::Unix(stream, path.clone()));
                    next += 1;
                }
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Out of descriptors and the like: waiting beats spinning.
async fn pause_after(error: &io::Error) {
    tracing::warn!("Accepting client connection: {error}");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

const TOO_MANY: &str = "-ERR max number of clients reached\r\n";

const PROTECTED: &str = "-DENIED Redis is running in protected mode because protected mode is enabled and no password \
is set for the default user. In this mode connections are only accepted from the loopback interface. If you want to \
connect from external computers to Redis you may adopt one of the following solutions: 1) Just disable protected mode \
sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same \
host the server is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG \
REWRITE to make this change permanent. 2) Alternatively you can just disable the protected mode by editing the Redis \
configuration file, and setting the protected mode option to 'no', and then restarting the server. 3) If you started \
the server manually just for testing, restart it with the '--protected-mode no' option. 4) Set up an authentication \
password for the default user. NOTE: You only need to do one of the above things in order for the server to start \
accepting connections from the outside.\r\n";

/// Why a connection is turned away, in the words it is told.
fn refusal(shared: &Shared, local: bool) -> Option<&'static str> {
    if shared.connections.load(Relaxed) >= shared.connections_max.load(Relaxed) as usize {
        return Some(TOO_MANY);
    }
    if local {
        return None;
    }
    let policy = shared.policy.values();
    (policy.protected_mode && shared.acl.default_needs_no_password()).then_some(PROTECTED)
}

async fn refuse<S: tokio::io::AsyncWrite + Unpin>(mut stream: S, shared: &Shared, text: &str) {
    crate::engine::stats::count(&shared.stats.connections_rejected, 1);
    // The peer may be gone already; it is turned away in any case.
    let _ = tokio::time::timeout(
        Duration::from_millis(100),
        stream.write_all(text.as_bytes()),
    )
    .await;
}

/// Serves an accepted connection on the calling thread.
pub async fn serve(accepted: Accepted, shared: Arc<Shared>) {
    match accepted {
        Accepted::Tcp(stream) => {
            let keepalive_s = shared.policy.values().keepalive_s;
            let Ok(addresses) = prepare_tcp(&stream, keepalive_s) else {
                shared.connections.fetch_sub(1, Relaxed);
                return;
            };
            match TcpStream::from_std(stream) {
                Ok(stream) => connection::serve(stream, shared, addresses).await,
                Err(_) => {
                    shared.connections.fetch_sub(1, Relaxed);
                }
            }
        }
        Accepted::Unix(stream, path) => {
            let addresses = Addresses {
                peer: format!("{path}:0"),
                local: format!("{path}:0"),
                file_descriptor: i64::from(stream.as_raw_fd()),
                unix_socket: true,
            };
            match UnixStream::from_std(stream) {
                Ok(stream) => connection::serve(stream, shared, addresses).await,
                Err(_) => {
                    shared.connections.fetch_sub(1, Relaxed);
                }
            }
        }
    }
}

fn prepare_tcp(stream: &std::net::TcpStream, keepalive_s: u32) -> io::Result<Addresses> {
    stream.set_nodelay(true)?;
    if keepalive_s > 0 {
        let interval = Duration::from_secs(u64::from((keepalive_s / 3).max(1)));
        let keepalive = TcpKeepalive::new()
            .with_time(Duration::from_secs(u64::from(keepalive_s)))
            .with_interval(interval)
            .with_retries(3);
        socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)?;
    }
    Ok(Addresses {
        peer: stream.peer_addr()?.to_string(),
        local: stream.local_addr()?.to_string(),
        file_descriptor: i64::from(stream.as_raw_fd()),
        unix_socket: false,
    })
}
