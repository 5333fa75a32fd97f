//! Differences from redis-server 8.2.3 that stand in docs/DIFFERENCES.md, each as narrow as it can be told apart.

use crate::harness::Value;

use super::words::Command;

/// Whether this pair of replies is a difference that we know and have written down.
pub fn differs(command: &Command, real: &Value, ours: &Value) -> bool {
    let name = command[0].to_ascii_uppercase();
    // How many hold a value is a matter of how it is held.
    if name == b"OBJECT" && command[1].eq_ignore_ascii_case(b"REFCOUNT") {
        return matches!((real, ours), (Value::Integer(_), Value::Integer(_)));
    }
    // `+` as the id of XREAD came with 7.4.
    if [&b"XREAD"[..], b"XREADGROUP"].contains(&&name[..])
        && command.iter().any(|word| word == b"+")
    {
        return ours.is_error();
    }
    false
}
