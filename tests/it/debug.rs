//! DEBUG against the real server, where its answers mean something here, and alone where they do not.

use crate::harness::server::Real;
use crate::harness::{Client, Server, Value};

/// Asked after the data below is there.
const SAME: &[&str] = &[
    "DEBUG SDSLEN nokey",
    "DEBUG SDSLEN h",
    "DEBUG SDSLEN number",
    "DEBUG LISTPACK k",
    "DEBUG LISTPACK h",
    "DEBUG LISTPACK l",
    "DEBUG LISTPACK big",
    "DEBUG LISTPACK nokey",
    "DEBUG QUICKLIST l",
    "DEBUG QUICKLIST big",
    "DEBUG QUICKLIST big 1",
    "DEBUG QUICKLIST k",
    "DEBUG HTSTATS x",
    "DEBUG HTSTATS 99",
    "DEBUG HTSTATS-KEY k",
    "DEBUG HTSTATS-KEY h",
    "DEBUG HTSTATS-KEY nokey",
    "DEBUG QUICKLIST-PACKED-THRESHOLD 100b",
    "DEBUG QUICKLIST-PACKED-THRESHOLD x",
    "DEBUG QUICKLIST-PACKED-THRESHOLD 0",
    "DEBUG MALLCTL nosuch.x",
    "DEBUG MALLCTL x y",
    "DEBUG MALLCTL",
    "DEBUG MALLCTL-STR arenas.narenas",
    "DEBUG REPLYBUFFER PEAK-RESET-TIME NEVER",
    "DEBUG REPLYBUFFER PEAK-RESET-TIME 100",
    "DEBUG REPLYBUFFER PEAK-RESET-TIME x",
    "DEBUG REPLYBUFFER RESIZING 1",
    "DEBUG REPLYBUFFER nosuch 1",
    "DEBUG PAUSE-CRON 0",
    "DEBUG DICT-RESIZING 1",
    "DEBUG DICT-RESIZING",
    "DEBUG CLIENT-EVICTION",
    "DEBUG CLUSTERLINK KILL ALL x",
    "DEBUG LEAK x",
    "DEBUG AOF-FLUSH-SLEEP 0",
    "DEBUG DROP-CLUSTER-PACKET-FILTER -1",
    "DEBUG CHANGE-REPL-ID",
    "DEBUG STRUCTSIZE x",
    "DEBUG HELP x",
    "DEBUG NOSUCH",
    "DEBUG PROTOCOL string",
    "DEBUG PROTOCOL integer",
    "DEBUG PROTOCOL double",
    "DEBUG PROTOCOL null",
    "DEBUG PROTOCOL array",
    "DEBUG PROTOCOL set",
    "DEBUG PROTOCOL map",
    "DEBUG PROTOCOL verbatim",
    "DEBUG PROTOCOL true",
    "DEBUG PROTOCOL false",
    "DEBUG PROTOCOL bignum",
    "DEBUG PROTOCOL nosuch",
    "DEBUG ERROR \"LOADING it\"",
    "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1",
    "RESTORE broken 0 \"\\x00\\x03abc\\x0a\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\"",
    "GET broken",
    "DEBUG SET-SKIP-CHECKSUM-VALIDATION 0",
    "RESTORE again 0 \"\\x00\\x03abc\\x0a\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\"",
    "DEBUG POPULATE 3 a 5 b",
    "DEBUG POPULATE -1",
    "DEBUG RELOAD nosuch",
    "DEBUG DIGEST-VALUE",
];

fn fill(client: &mut Client) {
    client.line("SET k hello");
    client.line("SET number 7");
    client.line("HSET h a b");
    client.line("RPUSH l a b c");
    let mut long = vec!["RPUSH".to_string(), "big".to_string()];
    long.extend((0..1_000).map(|number| format!("element {number}")));
    client.call(&long);
}

#[test]
fn subcommands_answer_as_the_real_server() {
    let Some(real) = Server::start_real(Real::Redis8) else {
        return;
    };
    let ours = Server::start_with(&["--enable-debug-command", "yes"]);
    for resp3 in [false, true] {
        let (mut real, mut ours) = (real.client(), ours.client());
        if resp3 {
            (real, ours) = (real.with_resp3(), ours.with_resp3());
        }
        for client in [&mut real, &mut ours] {
            client.line("FLUSHALL");
            fill(client);
        }
        for line in SAME {
            assert_eq!(ours.line(line), real.line(line), "{line}");
        }
    }
}

#[test]
fn layouts_are_told_in_the_words_of_redis() {
    let server = Server::start_with(&["--enable-debug-command", "yes"]);
    let mut client = server.client();
    fill(&mut client);
    let text = client.line("DEBUG SDSLEN k").text();
    assert!(text.starts_with("key_sds_len:1, key_sds_avail:0, key_zmalloc: "));
    assert!(text.contains(" val_sds_len:5, val_sds_avail:0, val_zmalloc: "));
    let text = client.line("DEBUG OBJECT k").text();
    assert!(
        text.contains(" encoding:embstr serializedlength:6 lru:"),
        "{text}"
    );
    let text = client.line("DEBUG HTSTATS 0").text();
    assert!(text.contains("[Dictionary HT]\n") && text.contains("number of elements: 5\n"));
    let mut many = vec!["SADD".to_string(), "set".to_string()];
    many.extend((0..1_000).map(|number| format!("member {number}")));
    client.call(&many);
    let text = client.line("DEBUG HTSTATS-KEY set").text();
    assert!(text.contains("number of elements: 1000\n"), "{text}");
    let arenas = client.line("DEBUG MALLCTL arenas.narenas");
    assert!(matches!(arenas, Value::Integer(1..)), "{arenas:?}");
    assert!(
        client
            .line("DEBUG MALLCTL-STR version")
            .text()
            .starts_with("5.")
    );
    let change = client.line("DEBUG MALLCTL background_thread 1");
    assert_eq!(change.text(), "ERR Operation not permitted");
}

#[test]
fn a_crash_on_request_ends_the_process() {
    let server = Server::start_with(&["--enable-debug-command", "yes"]);
    let mut client = server.client();
    client.send(["DEBUG", "SEGFAULT"]);
    assert!(client.try_read().is_err());
    let (code, output) = server.wait();
    assert_eq!(code, None);
    assert!(output.contains("Crashing by DEBUG SEGFAULT"));
    let closed = Server::start();
    assert!(closed.client().line("DEBUG SEGFAULT").is_error());
}
