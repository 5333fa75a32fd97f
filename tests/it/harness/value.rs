//! One reply, as it was on the wire.
//!
//! Doubles and big numbers keep their text, and the three ways of saying "nothing" stay apart, because two servers
//! answer alike only if these agree too.

use std::fmt;

/// A RESP2 or RESP3 reply.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Integer(i64),
    Bulk(Vec<u8>),
    /// `$-1`, the absent string of RESP2.
    NullBulk,
    /// `*-1`, the absent array of RESP2.
    NullArray,
    /// `_`, the absent value of RESP3.
    Null,
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Set(Vec<Value>),
    Push(Vec<Value>),
    Double(Vec<u8>),
    Boolean(bool),
    BigNumber(Vec<u8>),
    Verbatim(Vec<u8>),
}

impl Value {
    pub fn ok() -> Value {
        Value::Simple(b"OK".to_vec())
    }

    pub fn bulk(text: impl AsRef<[u8]>) -> Value {
        Value::Bulk(text.as_ref().to_vec())
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error(_))
    }

    /// The text of a string, status, error, double or number reply; empty for the rest.
    pub fn text(&self) -> String {
        match self {
            Value::Simple(text)
            | Value::Error(text)
            | Value::Bulk(text)
            | Value::Double(text)
            | Value::BigNumber(text)
            | Value::Verbatim(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Integer(number) => number.to_string(),
            _ => String::new(),
        }
    }

    /// The elements of an array, set or push; the keys and values of a map in turn.
    pub fn items(&self) -> Vec<Value> {
        match self {
            Value::Array(items) | Value::Set(items) | Value::Push(items) => items.clone(),
            Value::Map(pairs) => pairs
                .iter()
                .flat_map(|(key, value)| [key.clone(), value.clone()])
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The reply as redis-cli prints it on a terminal.
    pub fn show(&self) -> String {
        self.show_indented(0)
    }

    fn show_indented(&self, indent: usize) -> String {
        match self {
            Value::Simple(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Error(text) => format!("(error) {}", String::from_utf8_lossy(text)),
            Value::Integer(number) => format!("(integer) {number}"),
            Value::Bulk(text) => quote(text),
            Value::NullBulk | Value::NullArray | Value::Null => "(nil)".to_string(),
            Value::Double(text) => format!("(double) {}", String::from_utf8_lossy(text)),
            Value::Boolean(value) => format!("({value})"),
            Value::BigNumber(text) => format!("(big number) {}", String::from_utf8_lossy(text)),
            Value::Verbatim(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Array(items) => show_items(items, ')', "(empty array)", indent),
            Value::Set(items) => show_items(items, '~', "(empty set)", indent),
            Value::Push(items) => show_items(items, '>', "(empty push)", indent),
            Value::Map(pairs) => show_pairs(pairs, indent),
        }
    }
}

fn show_items(items: &[Value], mark: char, empty: &str, indent: usize) -> String {
    if items.is_empty() {
        return empty.to_string();
    }
    let width = items.len().to_string().len();
    let separator = format!("\n{}", " ".repeat(indent));
    let rows: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            format!(
                "{:>width$}{mark} {}",
                index + 1,
                item.show_indented(indent + width + 2)
            )
        })
        .collect();
    rows.join(&separator)
}

fn show_pairs(pairs: &[(Value, Value)], indent: usize) -> String {
    if pairs.is_empty() {
        return "(empty hash)".to_string();
    }
    let width = pairs.len().to_string().len();
    let separator = format!("\n{}", " ".repeat(indent));
    let rows: Vec<String> = pairs
        .iter()
        .enumerate()
        .map(|(index, (key, value))| {
            format!(
                "{:>width$}# {} => {}",
                index + 1,
                key.show(),
                value.show_indented(indent + width + 2)
            )
        })
        .collect();
    rows.join(&separator)
}

/// Bytes in double quotes with redis-cli's escapes.
pub fn quote(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            7 => out.push_str("\\a"),
            8 => out.push_str("\\b"),
            32..=126 => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Simple(text) => write!(f, "+{}", text.escape_ascii()),
            Value::Error(text) => write!(f, "-{}", text.escape_ascii()),
            Value::Integer(number) => write!(f, ":{number}"),
            Value::Bulk(text) => f.write_str(&quote(text)),
            Value::NullBulk => f.write_str("$-1"),
            Value::NullArray => f.write_str("*-1"),
            Value::Null => f.write_str("_"),
            Value::Array(items) => f.debug_list().entries(items).finish(),
            Value::Map(pairs) => f
                .debug_map()
                .entries(pairs.iter().map(|(key, value)| (key, value)))
                .finish(),
            Value::Set(items) => f
                .write_str("~")
                .and_then(|()| f.debug_list().entries(items).finish()),
            Value::Push(items) => f
                .write_str(">")
                .and_then(|()| f.debug_list().entries(items).finish()),
            Value::Double(text) => write!(f, ",{}", text.escape_ascii()),
            Value::Boolean(value) => write!(f, "#{value}"),
            Value::BigNumber(text) => write!(f, "({}", text.escape_ascii()),
            Value::Verbatim(text) => write!(f, "={}", text.escape_ascii()),
        }
    }
}
