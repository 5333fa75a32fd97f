//! Reads settings, builds the server, waits for a signal.

fn main() {}
