//! Whether two replies to one command say the same.
//!
//! Most must be equal byte for byte.  The order of sets and hashes is free, a random choice agrees in its shape, and
//! what is read from the clock may lie a little apart.

use crate::harness::Value;

use super::families::script;

/// How far apart two answers about time may be, since one server is asked after the other.
const CLOCK_MS_MAX: i64 = 5_000;

/// Whether our reply is what the real server's reply allows.
pub fn agree(command: &[Vec<u8>], real: &Value, ours: &Value) -> bool {
    if real.is_error() || ours.is_error() {
        return real == ours;
    }
    let passed_on = command
        .get(1)
        .is_some_and(|text| text == script::PASS_ON.as_bytes());
    if passed_on && command.len() > 3 {
        return agree(&command[3..], real, ours);
    }
    let name = command[0].to_ascii_uppercase();
    match name.as_slice() {
        b"SMEMBERS" | b"HKEYS" | b"HVALS" | b"KEYS" | b"SUNION" | b"SINTER" | b"SDIFF"
        | b"SPOP" => sorted(real, 1) == sorted(ours, 1),
        b"HGETALL" => sorted(real, 2) == sorted(ours, 2),
        b"SCAN" | b"SSCAN" => scan_agrees(real, ours, 1),
        b"HSCAN" | b"ZSCAN" => scan_agrees(real, ours, 2),
        b"ZRANDMEMBER" | b"SRANDMEMBER" | b"HRANDFIELD" | b"RANDOMKEY" => {
            shape(real) == shape(ours)
        }
        b"TTL" | b"EXPIRETIME" => close(real, ours, CLOCK_MS_MAX / 1000),
        b"PTTL" | b"PEXPIRETIME" => close(real, ours, CLOCK_MS_MAX),
        b"ACL" => without_changing(real) == without_changing(ours),
        b"XINFO" | b"XPENDING" => without_clocks(real) == without_clocks(ours),
        _ => real == ours,
    }
}

/// Fields of XINFO that are read from the clock.
const CLOCK_FIELDS: [&[u8]; 4] = [b"idle", b"inactive", b"seen-time", b"active-time"];

/// A reply about streams with times since and of deliveries as zero; one that is unknown stays -1.
fn without_clocks(reply: &Value) -> Value {
    let zero = |value: &Value| match value {
        Value::Integer(0..) => Value::Integer(0),
        other => other.clone(),
    };
    let is_clock =
        |name: &Value| matches!(name, Value::Bulk(name) if CLOCK_FIELDS.contains(&&name[..]));
    match reply {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(without_clocks).collect();
            for index in 1..items.len() {
                if is_clock(&items[index - 1]) {
                    items[index] = zero(&items[index]);
                }
            }
            // Rows of pending entries end with a time and a count of deliveries.
            let row = matches!(
                items.as_slice(),
                [Value::Bulk(_), .., Value::Integer(_), Value::Integer(_)]
            );
            if row && items.len() <= 4 {
                let time = items.len() - 2;
                items[time] = zero(&items[time]);
            }
            Value::Array(items)
        }
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| {
                let value = without_clocks(value);
                (
                    name.clone(),
                    if is_clock(name) { zero(&value) } else { value },
                )
            });
            Value::Map(pairs.collect())
        }
        other => other.clone(),
    }
}

/// A reply of ACL LOG without what differs between two servers: times, and the connection in words.
fn without_changing(reply: &Value) -> Value {
    const CHANGING: [&[u8]; 4] = [
        b"age-seconds",
        b"client-info",
        b"timestamp-created",
        b"timestamp-last-updated",
    ];
    let changes = |name: &Value| matches!(name, Value::Bulk(name) if CHANGING.contains(&&name[..]));
    match reply {
        Value::Array(items) => {
            let mut kept: Vec<Value> = items.iter().map(without_changing).collect();
            for index in 1..kept.len() {
                if changes(&items[index - 1]) {
                    kept[index] = Value::Null;
                }
            }
            Value::Array(kept)
        }
        Value::Map(pairs) => {
            let kept = |(name, value): &(Value, Value)| {
                let value = if changes(name) {
                    Value::Null
                } else {
                    without_changing(value)
                };
                (name.clone(), value)
            };
            Value::Map(pairs.iter().map(kept).collect())
        }
        other => other.clone(),
    }
}

/// The elements in order, taken `step` at a time; the kind of reply stays.
fn sorted(reply: &Value, step: usize) -> (std::mem::Discriminant<Value>, Vec<Vec<Value>>) {
    let mut rows: Vec<Vec<Value>> = reply.items().chunks(step).map(<[Value]>::to_vec).collect();
    rows.sort();
    (std::mem::discriminant(reply), rows)
}

/// A scan that came to its end in one step agrees if it found the same; cursors of unfinished ones are free.
fn scan_agrees(real: &Value, ours: &Value, step: usize) -> bool {
    match (real.items().as_slice(), ours.items().as_slice()) {
        ([real_cursor, real_items], [our_cursor, our_items]) => {
            let finished = Value::bulk("0");
            *real_cursor != finished
                || *our_cursor != finished
                || sorted(real_items, step) == sorted(our_items, step)
        }
        _ => real == ours,
    }
}

fn shape(
    reply: &Value,
) -> (
    std::mem::Discriminant<Value>,
    Vec<std::mem::Discriminant<Value>>,
) {
    let items = reply.items();
    (
        std::mem::discriminant(reply),
        items.iter().map(std::mem::discriminant).collect(),
    )
}

fn close(real: &Value, ours: &Value, distance: i64) -> bool {
    match (real, ours) {
        (Value::Integer(real), Value::Integer(ours)) if *real >= 0 && *ours >= 0 => {
            real.abs_diff(*ours) <= distance as u64
        }
        _ => real == ours,
    }
}
