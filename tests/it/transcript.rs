//! Plays the sessions in tests/transcripts: what each family of commands answers, as redis-cli prints it.
//!
//! Every session holds for a real server too; one whose first line is `# rankd only` is about something of our own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::server::Real;
use crate::harness::session::Way;
use crate::harness::{Server, session};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// Every session with its name, in order.
fn sessions() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder())
        .expect("the folder of transcripts can be read")
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "txt")
        })
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).expect("a transcript is text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "there are no transcripts");
    found
}

/// Sessions of one client whose commands say the same in a transaction: the others are about connections and errors
/// that a transaction answers in its own way.
const IN_TRANSACTIONS: &[&str] = &[
    "bitmaps.txt",
    "board.txt",
    "estimates.txt",
    "hashes.txt",
    "keys.txt",
    "lists.txt",
    "merges.txt",
    "positions.txt",
    "ranges.txt",
    "scripts.txt",
    "sets.txt",
    "streams.txt",
    "strings.txt",
];

/// The same for scripts, where SELECT ends with the script and EVAL is refused.
const IN_SCRIPTS: &[&str] = &[
    "bitmaps.txt",
    "board.txt",
    "estimates.txt",
    "hashes.txt",
    "lists.txt",
    "merges.txt",
    "positions.txt",
    "ranges.txt",
    "sets.txt",
    "streams.txt",
    "strings.txt",
];

fn named(names: &[&str]) -> Vec<(String, String)> {
    let found: Vec<_> = sessions()
        .into_iter()
        .filter(|(name, _)| names.contains(&name.as_str()))
        .collect();
    assert_eq!(
        found.len(),
        names.len(),
        "a session of {names:?} is missing"
    );
    found
}

/// Plays sessions on one server, each from an empty memory, and fails with all that differs.
fn play_all(server: &Server, sessions: &[(String, String)], way: Way) {
    let mut differences = Vec::new();
    for (name, text) in sessions {
        assert!(!session::parse(text).is_empty(), "{name} holds no command");
        server.client().call(["FLUSHALL"]);
        let found = session::play(text, &folder(), server.port(), way);
        differences.extend(
            found
                .into_iter()
                .map(|difference| format!("{name}, {difference}")),
        );
    }
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

/// Plays all sessions in all ways.
fn play_every_way(server: &Server, sessions: &[(String, String)]) {
    play_all(server, sessions, Way::Plain);
    play_all(server, &named(IN_TRANSACTIONS), Way::Transaction);
    play_all(server, &named(IN_SCRIPTS), Way::Script);
}

#[test]
fn our_server_answers_as_written() {
    play_all(&Server::start(), &sessions(), Way::Plain);
}

#[test]
fn our_server_answers_as_written_in_transactions() {
    play_all(&Server::start(), &named(IN_TRANSACTIONS), Way::Transaction);
}

#[test]
fn our_server_answers_as_written_in_scripts() {
    play_all(&Server::start(), &named(IN_SCRIPTS), Way::Script);
}

#[test]
fn a_real_server_answers_as_written_in_every_way() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours_alone = |text: &str| text.starts_with("# rankd only");
    let sessions: Vec<_> = sessions()
        .into_iter()
        .filter(|(_, text)| !ours_alone(text))
        .collect();
    play_every_way(&server, &sessions);
}
