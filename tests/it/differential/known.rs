//! Differences from redis-server 8.2.3 that stand in docs/DIFFERENCES.md, each as narrow as it can be told apart.

use crate::harness::Value;

use super::words::Command;

/// What OBJECT REFCOUNT says of a value that many keys may share.
const SHARED: i64 = 2_147_483_647;

/// Whether this pair of replies is a difference that we know and have written down.
pub fn differs(command: &Command, real: &Value, ours: &Value) -> bool {
    let name = command[0].to_ascii_uppercase();
    // Small numbers are always shared here; the real server shares them or not, by the command that wrote them.
    if name == b"OBJECT" && command[1].eq_ignore_ascii_case(b"REFCOUNT") {
        return matches!(real, Value::Integer(count) if *count < SHARED)
            && *ours == Value::Integer(SHARED);
    }
    false
}
