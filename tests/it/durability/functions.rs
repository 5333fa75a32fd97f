//! Libraries of functions are data: they are in snapshots and in the log, and come back.

use super::{LOG, SNAPSHOT, folder, log_files, rewrite, shut_down, start};
use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

const FIRST: &str = "#!lua name=first\nredis.register_function('one', function(keys, args) return redis.call('INCR', keys[1]) end)";
const SECOND: &str =
    "#!lua name=second\nredis.register_function('two', function(keys, args) return 'second' end)";

fn load(client: &mut Client) {
    assert_eq!(
        client.call(["FUNCTION", "LOAD", FIRST]),
        Value::bulk("first")
    );
    assert_eq!(
        client.call(["FUNCTION", "LOAD", SECOND]),
        Value::bulk("second")
    );
    assert_eq!(client.line("FCALL one 1 counter"), Value::Integer(1));
}

fn holds(client: &mut Client, counter: i64) {
    assert_eq!(
        client.line("FCALL one 1 counter"),
        Value::Integer(counter + 1)
    );
    assert_eq!(client.line("FCALL two 0"), Value::bulk("second"));
    assert_eq!(client.call(["FUNCTION", "LIST"]).items().len(), 2);
}

#[test]
fn snapshots_and_reloads_keep_libraries() {
    let folder = folder();
    let server = start(folder.path(), SNAPSHOT);
    let mut client = server.client();
    load(&mut client);
    assert_eq!(client.line("DEBUG RELOAD"), Value::ok());
    holds(&mut client, 1);
    assert_eq!(client.line("DEBUG RELOAD NOFLUSH MERGE"), Value::ok());
    holds(&mut client, 2);
    let twice = client.line("DEBUG RELOAD NOFLUSH");
    assert!(twice.is_error(), "{twice:?}");
    assert_eq!(client.call(["SAVE"]), Value::ok());
    assert_eq!(client.line("FUNCTION FLUSH"), Value::ok());
    drop(server);
    let server = start(folder.path(), SNAPSHOT);
    holds(&mut server.client(), 3);
}

#[test]
fn the_log_keeps_libraries_through_rewrites_in_both_forms() {
    for preamble in ["yes", "no"] {
        let folder = folder();
        let settings = [LOG, &["--aof-use-rdb-preamble", preamble]].concat();
        let server = start(folder.path(), &settings);
        let mut client = server.client();
        load(&mut client);
        client.call([
            "FUNCTION",
            "LOAD",
            "#!lua name=third\nredis.register_function('three', function() end)",
        ]);
        let payload = match client.line("FUNCTION DUMP") {
            Value::Bulk(payload) => payload,
            other => panic!("{other:?}"),
        };
        client.line("FUNCTION DELETE third");
        shut_down(server);
        let server = start(folder.path(), &settings);
        let mut client = server.client();
        holds(&mut client, 1);
        rewrite(&mut client);
        client.line("FUNCTION DELETE second");
        shut_down(server);
        let server = start(folder.path(), &settings);
        let mut client = server.client();
        assert_eq!(client.call(["FUNCTION", "LIST"]).items().len(), 1);
        let restored: [&[u8]; 4] = [b"FUNCTION", b"RESTORE", &payload, b"FLUSH"];
        assert_eq!(client.call(restored), Value::ok());
        client.line("FUNCTION DELETE third");
        assert_eq!(client.line("DEBUG LOADAOF"), Value::ok());
        holds(&mut client, 2);
        let ending = if preamble == "yes" {
            ".base.rdb"
        } else {
            ".base.aof"
        };
        assert_eq!(log_files(folder.path(), ending).len(), 1);
    }
}

#[test]
fn libraries_go_to_real_servers_and_back() {
    for which in [Real::Redis7, Real::Redis8, Real::Valkey9] {
        for (settings, saved) in [(SNAPSHOT, "SAVE"), (LOG, "BGREWRITEAOF")] {
            let folder = folder();
            let save = |client: &mut Client| match saved {
                "SAVE" => assert_eq!(client.call(["SAVE"]), Value::ok()),
                _ => rewrite(client),
            };
            let Some(real) = Server::start_real_in(which, folder.path(), settings) else {
                return;
            };
            let mut client = real.client();
            load(&mut client);
            save(&mut client);
            shut_down(real);
            let ours = start(folder.path(), settings);
            let mut client = ours.client();
            holds(&mut client, 1);
            save(&mut client);
            shut_down(ours);
            let real =
                Server::start_real_in(which, folder.path(), settings).expect("it was there before");
            holds(&mut real.client(), 2);
        }
    }
}
