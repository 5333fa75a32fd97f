//! Plays the sessions in tests/transcripts: what each family of commands answers, as redis-cli prints it.
//!
//! Every session holds for a real server too; one whose first line is `# rankd only` is about something of our own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::server::Real;
use crate::harness::{Client, Server, session};

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

/// Plays sessions on one server, each from an empty memory, and fails with all that differs.
fn play_all(port: u16, sessions: &[(String, String)]) {
    let mut differences = Vec::new();
    for (name, text) in sessions {
        assert!(!session::parse(text).is_empty(), "{name} holds no command");
        Client::connect(port).call(["FLUSHALL"]);
        let found = session::play(text, &folder(), port);
        differences.extend(
            found
                .into_iter()
                .map(|difference| format!("{name}, {difference}")),
        );
    }
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

#[test]
fn our_server_answers_as_written() {
    play_all(Server::start().port(), &sessions());
}

#[test]
fn a_real_server_answers_as_written() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours_alone = |text: &str| text.starts_with("# rankd only");
    let sessions: Vec<_> = sessions()
        .into_iter()
        .filter(|(_, text)| !ours_alone(text))
        .collect();
    play_all(server.port(), &sessions);
}
