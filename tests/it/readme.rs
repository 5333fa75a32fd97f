//! Plays the tour of README.md as a reader would: every redis-cli session in order, on one fresh server.

use std::path::Path;

use crate::harness::server::Real;
use crate::harness::session::Way;
use crate::harness::{Server, session};

/// The text of the blocks marked `redis`.
fn sessions() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(path).expect("README.md can be read");
    let blocks: Vec<&str> = text
        .split("```redis\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .collect();
    blocks.join("\n\n")
}

fn play(server: &Server) {
    let text = sessions();
    assert!(
        session::parse(&text).len() > 10,
        "the tour has become very short"
    );
    let differences = session::play(
        &text,
        Path::new(env!("CARGO_MANIFEST_DIR")),
        server.port(),
        Way::Plain,
    );
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

#[test]
fn the_tour_goes_as_written() {
    play(&Server::start());
}

#[test]
fn the_tour_goes_the_same_way_on_a_real_server() {
    let Some(server) = Server::start_real(Real::Redis8) else {
        return;
    };
    play(&server);
}
