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
        "migrate" => migrate_login(args),
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

/// The words behind AUTH or AUTH2 of MIGRATE, which stand ahead of KEYS.
fn migrate_login(args: Args<'_>) -> Vec<usize> {
    let mut hidden = Vec::new();
    let mut at = 6;
    while let Some(word) = args.get(at) {
        let secrets = match word.to_ascii_lowercase().as_slice() {
            b"auth" => 1,
            b"auth2" => 2,
            b"keys" => break,
            _ => 0,
        };
        hidden.extend(at + 1..(at + 1 + secrets).min(args.len()));
        at += 1 + secrets;
    }
    hidden
}
