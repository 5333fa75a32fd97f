//! CLIENT PAUSE: who waits, and that everyone who waited is served in the end.

use crate::harness::Server;
use crate::harness::client::Client;

fn blocked(client: &mut Client) -> String {
    let info = client.call(["INFO", "clients"]).text();
    let line = info
        .lines()
        .find(|line| line.starts_with("blocked_clients:"));
    line.unwrap_or_default().to_string()
}

fn wait_for_blocked(client: &mut Client, count: usize) {
    let wanted = format!("blocked_clients:{count}");
    while blocked(client) != wanted {
        std::thread::yield_now();
    }
}

#[test]
fn commands_and_scripts_that_write_wait_for_the_end_of_the_pause() {
    let server = Server::start();
    let mut admin = server.client();
    let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
    clients[2].call(["MULTI"]);
    clients[2].call(["EVAL", "return redis.call('incr', 'm')", "0"]);
    admin.call(["CLIENT", "PAUSE", "100000", "WRITE"]);
    clients[0].send(["SET", "a", "b"]);
    clients[1].send(["EVAL", "return redis.call('incr', 'n')", "0"]);
    clients[2].send(["EXEC"]);
    clients[3].send(["PUBLISH", "channel", "text"]);
    wait_for_blocked(&mut admin, 4);
    assert_eq!(admin.call(["EXISTS", "a"]).text(), "0");
    let reads = "#!lua flags=no-writes\nreturn redis.call('exists', 'a')";
    assert_eq!(admin.call(["EVAL", reads, "0"]).text(), "0");
    admin.call(["CLIENT", "UNPAUSE"]);
    assert_eq!(clients[0].read().text(), "OK");
    assert_eq!(clients[1].read().text(), "1");
    assert_eq!(clients[2].read().items()[0].text(), "1");
    assert_eq!(clients[3].read().text(), "0");
    wait_for_blocked(&mut admin, 0);
}
