//! Which arguments of a request nobody else may read: MONITOR and the slow log hide them.

use super::table::Command;
use crate::resp::args::Args;
use std::ops::Range;

/// What is shown instead of a secret.
pub const HIDDEN: &[u8] = b"(redacted)";

/// Settings whose values are secrets.
const SECRET_SETTINGS: &[&[u8]] = &[
    b"requirepass",
    b"masterauth",
    b"masteruser",
    b"tls-key-file-pass",
    b"tls-client-key-file-pass",
];

/// Positions of the secrets in `args`.
pub fn positions(command: &Command, args: Args<'_>) -> Vec<usize> {
    let count = args.len();
    let is = |at: usize, word: &str| args.arg(at).eq_ignore_ascii_case(word.as_bytes());
    let clipped = |range: Range<usize>| (range.start..range.end.min(count)).collect();
    match &*command.full_name {
        "auth" => clipped(1..count),
        "hello" => match (2..count).find(|&at| is(at, "auth")) {
            Some(at) => clipped(at + 1..at + 3),
            None => Vec::new(),
        },
        "acl|setuser" => clipped(2..count),
        "config|set" => (2..count.saturating_sub(1))
            .step_by(2)
            .filter(|&at| {
                let name = args.arg(at).to_ascii_lowercase();
                SECRET_SETTINGS.contains(&name.as_slice())
            })
            .map(|at| at + 1)
            .collect(),
        _ => Vec::new(),
    }
}
