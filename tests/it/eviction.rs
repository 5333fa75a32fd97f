//! Making room when memory is over its limit, by a server with its real allocator.

use crate::harness::{Server, Value};

/// A figure of INFO.
fn figure(info: &str, name: &str) -> u64 {
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {info}"))
}

#[test]
fn the_command_after_the_one_that_filled_memory_makes_room() {
    const MEGABYTE: u64 = 1 << 20;
    let server = Server::start();
    let mut client = server.client();
    for key in ["a", "b", "c"] {
        let last = (2 * MEGABYTE * 8 - 1).to_string();
        assert_eq!(client.call(["SETBIT", key, &last, "1"]), Value::Integer(0));
    }
    let used = figure(&client.call(["INFO", "memory"]).text(), "used_memory");
    let limit = (used + MEGABYTE).to_string();
    client.call(["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]);
    client.call(["CONFIG", "SET", "maxmemory", &limit]);
    client.call(["SETBIT", "d", &(2 * MEGABYTE * 8 - 1).to_string(), "1"]);
    assert_eq!(client.call(["DBSIZE"]), Value::Integer(3));
    let stats = client.call(["INFO", "stats"]).text();
    assert_eq!(figure(&stats, "evicted_keys"), 1);
    client.call(["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    client.call(["CONFIG", "SET", "maxmemory", &MEGABYTE.to_string()]);
    let refused = client.call(["SET", "e", "1"]).text();
    assert_eq!(
        refused,
        "OOM command not allowed when used memory > 'maxmemory'."
    );
}
