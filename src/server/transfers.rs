//! Sends keys to other servers, as a client of theirs: AUTH, SELECT, and a RESTORE for each key.
//!
//! A transfer beside commands has a thread of its own while it lasts. One that a transaction or a script asks for runs
//! where it was asked for, with the engine held, and is cut off after a bounded time.

use super::Shared;
use crate::engine::transfer::{Destination, Transfer, Transferred};
use crate::limits;
use crate::resp::args::OwnedArgs;
use parking_lot::Mutex;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const NO_CONNECTION: &str = "IOERR error or timeout connecting to the client";
const NO_WRITE: &str = "IOERR error or timeout writing to target instance";
const NO_READ: &str = "IOERR error or timeout reading from target instance";

/// The way to the thread that starts transfers.
pub struct Transfers {
    sender: Sender<Transfer>,
    receiver: Mutex<Option<Receiver<Transfer>>>,
}

impl Default for Transfers {
    fn default() -> Self {
        let (sender, receiver) = channel();
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }
}

impl Transfers {
    /// Hands a transfer over.
    pub fn start(&self, transfer: Transfer) {
        // The thread lives as long as the process.
        let _ = self.sender.send(transfer);
    }

    /// Starts the thread.
    pub fn serve(shared: Arc<Shared>) -> io::Result<()> {
        let Some(receiver) = shared.transfers.receiver.lock().take() else {
            return Ok(());
        };
        let running = Arc::new(AtomicUsize::new(0));
        std::thread::Builder::new()
            .name("transfers".to_string())
            .spawn(move || {
                for transfer in receiver {
                    start(&shared, &running, transfer);
                }
            })?;
        Ok(())
    }
}

/// Runs a transfer on a thread of its own, or here when there are many or no thread can be had.
fn start(shared: &Arc<Shared>, running: &Arc<AtomicUsize>, transfer: Transfer) {
    if running.fetch_add(1, Ordering::Relaxed) < limits::TRANSFERS_MAX {
        let (shared, running, transfer) = (shared.clone(), running.clone(), transfer.clone());
        let thread = std::thread::Builder::new().name("transfer".to_string());
        let started = thread.spawn(move || {
            run(&shared, transfer);
            running.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_ok() {
            return;
        }
    }
    run(shared, transfer);
    running.fetch_sub(1, Ordering::Relaxed);
}

fn run(shared: &Shared, transfer: Transfer) {
    let outcome = send(&transfer, None);
    let mut engine = shared.write_patiently();
    let mut now = shared.time.now();
    engine.transfer_ended(transfer, outcome, &mut now);
}

/// Sends the keys and waits for the answers, for at most `longest` in all.
pub fn send(transfer: &Transfer, longest: Option<Duration>) -> Transferred {
    let end = longest.map(|longest| Instant::now() + longest);
    let peer = match Peer::connect(&transfer.destination, end) {
        Ok(peer) => peer,
        Err(error) => return Transferred::failed(error),
    };
    peer.restore(transfer)
}

/// The connection to the other server.
struct Peer {
    stream: BufReader<TcpStream>,
    timeout: Duration,
    end: Option<Instant>,
}

impl Peer {
    fn connect(destination: &Destination, end: Option<Instant>) -> Result<Self, &'static str> {
        let timeout = Duration::from_millis(destination.timeout_ms);
        let addresses = (destination.host.as_str(), destination.port);
        let mut addresses = addresses.to_socket_addrs().map_err(|_| NO_CONNECTION)?;
        let address = addresses.next().ok_or(NO_CONNECTION)?;
        let stream = TcpStream::connect_timeout(&address, timeout);
        // Redis finds out that it was refused when it begins to write.
        let stream = stream.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => NO_CONNECTION,
            _ => NO_WRITE,
        })?;
        // Without it the last words of a request wait for no reason.
        let _ = stream.set_nodelay(true);
        Ok(Self {
            stream: BufReader::new(stream),
            timeout,
            end,
        })
    }

    /// What is left of the time for one step.
    fn limit(&self) -> io::Result<Duration> {
        let left = self.end.map_or(self.timeout, |end| {
            end.saturating_duration_since(Instant::now())
                .min(self.timeout)
        });
        match left.is_zero() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(left),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let limit = self.limit()?;
            let stream = self.stream.get_mut();
            stream.set_write_timeout(Some(limit))?;
            let count = stream.write(&bytes[..bytes.len().min(limits::TRANSFER_WRITE_LEN)])?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// One status or error, without its line end.
    fn answer(&mut self) -> io::Result<String> {
        let limit = self.limit()?;
        self.stream.get_ref().set_read_timeout(Some(limit))?;
        let mut line = Vec::new();
        let mut bounded = (&mut self.stream).take(limits::TRANSFER_ANSWER_LEN_MAX);
        bounded.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.pop_if(|byte| *byte == b'\r');
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    fn restore(mut self, transfer: &Transfer) -> Transferred {
        let destination = &transfer.destination;
        let mut greeting = Vec::new();
        if !destination.login.is_empty() {
            let mut login = OwnedArgs::from_slices(&[b"AUTH"]);
            destination.login.iter().for_each(|word| login.push(word));
            login.as_args().encode(&mut greeting);
        }
        let db = destination.db.to_string();
        OwnedArgs::from_slices(&[b"SELECT", db.as_bytes()])
            .as_args()
            .encode(&mut greeting);
        let mut sent = self.write(&greeting);
        for key in &transfer.keys {
            if sent.is_err() {
                break;
            }
            sent = self.write(&restore_request(key, transfer.replace));
        }
        if sent.is_err() {
            return Transferred::failed(NO_WRITE);
        }
        let greetings = 1 + usize::from(!destination.login.is_empty());
        let mut outcome = Transferred::default();
        for at in 0..greetings + transfer.keys.len() {
            let Ok(answer) = self.answer() else {
                outcome.error = Some(NO_READ.to_string());
                break;
            };
            let refusal = answer.strip_prefix('-');
            if let Some(refusal) = refusal {
                outcome.error.get_or_insert_with(|| {
                    format!("ERR Target instance replied with error: {refusal}")
                });
            }
            if at >= greetings {
                outcome.stored.push(refusal.is_none());
            } else if refusal.is_some() {
                break;
            }
        }
        outcome
    }
}

fn restore_request(sent: &crate::engine::transfer::SentKey, replace: bool) -> Vec<u8> {
    let ttl = sent.ttl_ms.to_string();
    let mut words: Vec<&[u8]> = vec![b"RESTORE", &sent.key, ttl.as_bytes(), &sent.payload];
    if replace {
        words.push(b"REPLACE");
    }
    let mut request = Vec::with_capacity(sent.payload.len() + sent.key.len() + 64);
    OwnedArgs::from_slices(&words)
        .as_args()
        .encode(&mut request);
    request
}
