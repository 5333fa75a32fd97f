//! A blocking client over TCP that keeps replies exactly as they came.
//!
//! A ready-made decoder would parse doubles and fold the absent values into one, and the tests compare just these.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::value::Value;

/// Longest wait for a reply: far above any honest one, so that a hang fails the test instead of the whole run.
const REPLY_WAIT: Duration = Duration::from_secs(15);

pub struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(port: u16) -> Client {
        let stream =
            TcpStream::connect(("127.0.0.1", port)).expect("the server accepts connections");
        stream.set_nodelay(true).expect("TCP_NODELAY can be set");
        stream
            .set_read_timeout(Some(REPLY_WAIT))
            .expect("a timeout can be set");
        Client {
            reader: BufReader::new(stream),
        }
    }

    /// Switches this connection to RESP3.
    pub fn with_resp3(mut self) -> Client {
        let reply = self.call(["HELLO", "3"]);
        assert!(matches!(reply, Value::Map(_)), "HELLO 3 answered {reply:?}");
        self
    }

    /// Sends one command and waits for its reply.
    pub fn call<A: AsRef<[u8]>>(&mut self, args: impl AsRef<[A]>) -> Value {
        self.send(args);
        self.read()
    }

    /// Sends one command given as redis-cli would take it: words, quotes and escapes.
    pub fn line(&mut self, text: &str) -> Value {
        let words =
            super::session::split(text).unwrap_or_else(|| panic!("unbalanced quotes in {text}"));
        self.call(&words)
    }

    pub fn send<A: AsRef<[u8]>>(&mut self, args: impl AsRef<[A]>) {
        self.send_bytes(&request(args.as_ref()));
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.reader
            .get_mut()
            .write_all(bytes)
            .expect("the server reads");
    }

    pub fn read(&mut self) -> Value {
        self.try_read().expect("a whole reply arrives")
    }

    /// The next reply, or why there is none: the connection was closed, or nothing came in time.
    pub fn try_read(&mut self) -> io::Result<Value> {
        read_value(&mut self.reader)
    }

    /// Whether the server has closed its side; waits for it.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        matches!(self.reader.read(&mut byte), Ok(0))
            || self
                .reader
                .get_ref()
                .take_error()
                .is_ok_and(|e| e.is_some())
    }

    pub fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }
}

/// A request as clients send it: an array of bulk strings.
pub fn request<A: AsRef<[u8]>>(args: &[A]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        let arg = arg.as_ref();
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
    out
}

fn malformed(line: &[u8]) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not a reply: {}", line.escape_ascii()),
    )
}

fn read_value(reader: &mut BufReader<TcpStream>) -> io::Result<Value> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.len() < 3 || !line.ends_with(b"\r\n") {
        return Err(malformed(&line));
    }
    let body = line[1..line.len() - 2].to_vec();
    let number = || {
        std::str::from_utf8(&body)
            .ok()
            .and_then(|text| text.parse::<i64>().ok())
    };
    let count = || number().ok_or_else(|| malformed(&line));
    Ok(match line[0] {
        b'+' => Value::Simple(body),
        b'-' => Value::Error(body),
        b':' => Value::Integer(count()?),
        b'$' if count()? == -1 => Value::NullBulk,
        b'$' => Value::Bulk(read_bytes(reader, count()?)?),
        b'=' => Value::Verbatim(read_bytes(reader, count()?)?.split_off(4)),
        b'!' => Value::Error(read_bytes(reader, count()?)?),
        b'*' if count()? == -1 => Value::NullArray,
        b'*' => Value::Array(read_values(reader, count()?)?),
        b'~' => Value::Set(read_values(reader, count()?)?),
        b'>' => Value::Push(read_values(reader, count()?)?),
        b'%' => {
            let mut pairs = Vec::new();
            for _ in 0..count()? {
                pairs.push((read_value(reader)?, read_value(reader)?));
            }
            Value::Map(pairs)
        }
        b'_' => Value::Null,
        b'#' => Value::Boolean(body == b"t"),
        b',' => Value::Double(body),
        b'(' => Value::BigNumber(body),
        _ => return Err(malformed(&line)),
    })
}

fn read_values(reader: &mut BufReader<TcpStream>, count: i64) -> io::Result<Vec<Value>> {
    (0..count).map(|_| read_value(reader)).collect()
}

fn read_bytes(reader: &mut BufReader<TcpStream>, len: i64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| malformed(b"negative length"))?;
    let mut bytes = vec![0; len + 2];
    reader.read_exact(&mut bytes)?;
    if !bytes.ends_with(b"\r\n") {
        return Err(malformed(&bytes));
    }
    bytes.truncate(len);
    Ok(bytes)
}
