//! Users over real sockets: who gets in, what is refused, and whose connections end.

use crate::harness::server::rankd_program;
use crate::harness::{Client, Server, Value};

/// A server with a user `ann` of these rules, and a connection of hers beside one of the default user.
fn with_ann(rules: &str) -> (Server, Client, Client) {
    let server = Server::start();
    let mut admin = server.client();
    assert_eq!(
        admin.line(&format!("ACL SETUSER ann on >pw {rules}")),
        Value::ok()
    );
    let ann = login(&server, "ann");
    (server, admin, ann)
}

fn login(server: &Server, user: &str) -> Client {
    let mut client = server.client();
    assert_eq!(client.line(&format!("AUTH {user} pw")), Value::ok());
    client
}

fn error(text: &str) -> Value {
    Value::Error(text.as_bytes().to_vec())
}

const NO_KEY: &str = "NOPERM No permissions to access a key";
const NO_CHANNEL: &str = "NOPERM No permissions to access a channel";

/// The value of a field in an entry of ACL LOG.
fn field(entry: &Value, name: &str) -> String {
    let items = entry.items();
    let at = items.iter().position(|item| item.text() == name);
    items[at.unwrap_or_else(|| panic!("{name} in {entry:?}")) + 1].text()
}

#[test]
fn a_user_may_do_what_the_rules_say_and_nothing_else() {
    let (_server, mut admin, mut ann) = with_ann("~own:* %R~read:* &news:* +@all -config|set");
    assert_eq!(ann.line("ACL WHOAMI"), Value::bulk("ann"));
    assert_eq!(ann.line("SET own:1 v"), Value::ok());
    assert_eq!(ann.line("GET read:1"), Value::NullBulk);
    assert_eq!(ann.line("SET read:1 v"), error(NO_KEY));
    assert_eq!(ann.line("GET other"), error(NO_KEY));
    assert_eq!(ann.line("COPY own:1 other"), error(NO_KEY));
    assert_eq!(ann.line("PUBLISH news:1 x"), Value::Integer(0));
    assert_eq!(ann.line("PUBLISH other x"), error(NO_CHANNEL));
    assert_eq!(ann.line("PSUBSCRIBE news:1*"), error(NO_CHANNEL));
    assert_eq!(
        ann.line("CONFIG SET hz 10"),
        error("NOPERM User ann has no permissions to run the 'config|set' command")
    );
    assert_eq!(admin.line("GET other"), Value::NullBulk);
    let list = admin.line("CLIENT LIST").text();
    assert!(
        list.contains(" user=ann ") && list.contains(" user=default "),
        "{list}"
    );
    let stats = admin.line("INFO stats").text();
    for line in [
        "acl_access_denied_auth:0",
        "acl_access_denied_cmd:1",
        "acl_access_denied_key:3",
        "acl_access_denied_channel:2",
    ] {
        assert!(stats.contains(line), "{line} in {stats}");
    }
}

#[test]
fn changed_rules_hold_at_once() {
    let (_server, mut admin, mut ann) = with_ann("~* +get");
    assert_eq!(ann.line("GET k"), Value::NullBulk);
    admin.line("ACL SETUSER ann -get");
    assert!(ann.line("GET k").is_error());
    admin.line("ACL SETUSER ann +@all");
    assert_eq!(ann.line("GET k"), Value::NullBulk);
}

#[test]
fn only_users_who_are_on_get_in() {
    let server = Server::start();
    let mut admin = server.client();
    admin.line("ACL SETUSER ann >pw");
    let wrong = error("WRONGPASS invalid username-password pair or user is disabled.");
    let mut client = server.client();
    assert_eq!(client.line("AUTH ann pw"), wrong);
    admin.line("ACL SETUSER ann on");
    assert_eq!(client.line("AUTH ann other"), wrong);
    assert_eq!(client.line("AUTH nosuch pw"), wrong);
    assert_eq!(client.line("ACL WHOAMI"), Value::bulk("default"));
    assert!(!client.line("HELLO 2 AUTH ann pw SETNAME x").is_error());
    assert!(
        client
            .line("ACL WHOAMI")
            .text()
            .contains("ann has no permissions")
    );
    assert_eq!(client.line("RESET"), Value::Simple(b"RESET".to_vec()));
    assert_eq!(client.line("ACL WHOAMI"), Value::bulk("default"));
    let log = admin.line("ACL LOG").items();
    let objects: Vec<String> = log.iter().map(|entry| field(entry, "object")).collect();
    assert_eq!(objects, ["acl|whoami", "AUTH", "AUTH"]);
    assert_eq!(field(&log[1], "username"), "nosuch");
    assert_eq!(field(&log[2], "username"), "ann");
    assert_eq!(field(&log[2], "count"), "2");
}

#[test]
fn the_default_user_can_be_closed() {
    let server = Server::start_with(&["--requirepass", "pw"]);
    let mut stranger = server.client();
    let refused = error("NOAUTH Authentication required.");
    assert_eq!(stranger.line("PING"), refused);
    let mut admin = server.client();
    assert_eq!(admin.line("AUTH pw"), Value::ok());
    assert_eq!(admin.line("CONFIG SET requirepass ''"), Value::ok());
    assert_eq!(stranger.line("PING"), Value::Simple(b"PONG".to_vec()));
    assert_eq!(admin.line("ACL SETUSER default off"), Value::ok());
    assert_eq!(stranger.line("PING"), refused);
    assert_eq!(admin.line("PING"), Value::Simple(b"PONG".to_vec()));
    assert_eq!(admin.line("CONFIG SET requirepass new"), Value::ok());
    assert!(stranger.line("AUTH new").is_error());
    assert_eq!(admin.line("ACL SETUSER default on"), Value::ok());
    assert_eq!(stranger.line("AUTH new"), Value::ok());
}

#[test]
fn connections_of_a_deleted_user_end() {
    let (server, mut admin, mut ann) = with_ann("~* +@all");
    let mut waiting = login(&server, "ann");
    waiting.send(["BLPOP", "list", "0"]);
    while !admin
        .line("INFO clients")
        .text()
        .contains("blocked_clients:1")
    {
        std::thread::yield_now();
    }
    assert_eq!(admin.line("ACL DELUSER ann nosuch"), Value::Integer(1));
    assert!(ann.is_closed() && waiting.is_closed());
    admin.line("ACL SETUSER bob on >pw +@all");
    let mut bob = login(&server, "bob");
    assert_eq!(bob.line("ACL DELUSER bob"), Value::Integer(1));
    assert!(bob.is_closed());
    assert!(admin.line("ACL DELUSER default").is_error());
    let list = admin.line("ACL USERS");
    assert_eq!(list, Value::Array(vec![Value::bulk("default")]));
}

#[test]
fn listeners_that_lose_their_channel_end() {
    let (server, mut admin, mut ann) = with_ann("&a &b +@all");
    ann.line("SUBSCRIBE a");
    let mut other = login(&server, "ann");
    other.line("PSUBSCRIBE b");
    let mut idle = login(&server, "ann");
    admin.line("ACL SETUSER ann resetchannels &a &b &c");
    assert_eq!(admin.line("PUBLISH b x"), Value::Integer(1));
    assert_eq!(other.read().items()[3], Value::bulk("x"));
    admin.line("ACL SETUSER ann resetchannels &a");
    assert!(other.is_closed());
    assert_eq!(admin.line("PUBLISH a x"), Value::Integer(1));
    assert_eq!(ann.read().items()[2], Value::bulk("x"));
    assert_eq!(idle.line("PING"), Value::Simple(b"PONG".to_vec()));
}

#[test]
fn a_connection_that_is_ended_is_gone_at_once() {
    let server = Server::start();
    let mut admin = server.client();
    for _ in 0..20 {
        let mut victim = server.client();
        let id = victim.line("CLIENT ID").text();
        victim.line("SUBSCRIBE news");
        assert_eq!(
            admin.line(&format!("CLIENT KILL ID {id}")),
            Value::Integer(1)
        );
        let list = admin.line("CLIENT LIST").text();
        assert!(!list.contains(&format!("id={id} ")), "{list}");
        assert_eq!(admin.line("PUBLISH news x"), Value::Integer(0));
        let mut waiting = server.client();
        let id = waiting.line("CLIENT ID").text();
        waiting.send(["BLPOP", "list", "0"]);
        while !admin
            .line("INFO clients")
            .text()
            .contains("blocked_clients:1")
        {
            std::thread::yield_now();
        }
        assert_eq!(
            admin.line(&format!("CLIENT KILL ID {id}")),
            Value::Integer(1)
        );
        assert_eq!(admin.line("RPUSH list x"), Value::Integer(1));
        assert_eq!(admin.line("LPOP list"), Value::bulk("x"));
        assert!(victim.is_closed() && waiting.is_closed());
    }
}

#[test]
fn exec_checks_again() {
    let (_server, mut admin, mut ann) = with_ann("~a ~b +@all");
    ann.line("MULTI");
    assert_eq!(ann.line("GET other"), error(NO_KEY));
    assert_eq!(
        ann.line("EXEC"),
        error("EXECABORT Transaction discarded because of previous errors.")
    );
    ann.line("MULTI");
    ann.line("SET a 1");
    ann.line("SET b 1");
    admin.line("ACL SETUSER ann resetkeys ~b");
    let replies = ann.line("EXEC").items();
    assert_eq!(
        replies[0],
        error(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
             command is no longer allowed for the following reason: no permission to touch the specified keys"
        )
    );
    assert_eq!(replies[1], Value::ok());
    assert_eq!(admin.line("EXISTS a b"), Value::Integer(1));
    let log = admin.line("ACL LOG").items();
    assert_eq!(
        (field(&log[0], "context"), field(&log[0], "object")),
        ("multi".into(), "a".into())
    );
}

#[test]
fn a_command_that_waited_is_checked_again() {
    let (_server, mut admin, mut ann) = with_ann("~* +@all");
    ann.send(["BLPOP", "list", "0"]);
    while !admin
        .line("INFO clients")
        .text()
        .contains("blocked_clients:1")
    {
        std::thread::yield_now();
    }
    admin.line("ACL SETUSER ann resetkeys");
    admin.line("RPUSH list x");
    assert_eq!(ann.read(), error(NO_KEY));
    assert_eq!(admin.line("LLEN list"), Value::Integer(1));
    assert_eq!(ann.line("PING"), Value::Simple(b"PONG".to_vec()));
}

#[test]
fn scripts_run_as_their_caller() {
    let (_server, mut admin, mut ann) = with_ann("~own +@all -incr");
    let refused = ann.line("EVAL \"return redis.pcall('get', 'other')\" 0");
    assert_eq!(
        refused,
        error("ERR ACL failure in script: No permissions to access a key")
    );
    let refused = ann.line("EVAL \"return redis.pcall('incr', 'own')\" 0");
    assert_eq!(
        refused,
        error("ERR ACL failure in script: User ann has no permissions to run the 'incr' command")
    );
    assert_eq!(
        ann.line("EVAL \"return redis.call('get', 'own')\" 0"),
        Value::NullBulk
    );
    let asks = |words: &str| format!("EVAL \"return redis.acl_check_cmd({words}) and 1 or 0\" 0");
    assert_eq!(ann.line(&asks("'get', 'own'")), Value::Integer(1));
    assert_eq!(ann.line(&asks("'get', 'other'")), Value::Integer(0));
    assert_eq!(ann.line(&asks("'incr', 'own'")), Value::Integer(0));
    assert_eq!(ann.line(&asks("'get'")), Value::Integer(1));
    assert!(ann.line(&asks("'nosuch'")).is_error());
    let log = admin.line("ACL LOG").items();
    assert_eq!(log.len(), 2, "asking is not trying: {log:?}");
    assert_eq!(
        (field(&log[0], "context"), field(&log[0], "object")),
        ("lua".into(), "incr".into())
    );
}

#[test]
fn sort_by_other_keys_needs_all_of_them() {
    let (_server, mut admin, mut ann) = with_ann("~list +@all");
    admin.line("RPUSH list 2 1");
    assert_eq!(ann.line("SORT list").items().len(), 2);
    assert_eq!(ann.line("SORT list BY nosort").items().len(), 2);
    let denied = |option| {
        error(&format!(
            "ERR {option} option of SORT denied due to insufficient ACL permissions."
        ))
    };
    assert_eq!(ann.line("SORT list BY w*"), denied("BY"));
    assert_eq!(ann.line("SORT_RO list GET w*"), denied("GET"));
    admin.line("ACL SETUSER ann %R~*");
    assert_eq!(ann.line("SORT list BY w* GET w*").items().len(), 2);
}

#[test]
fn users_live_in_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.acl");
    std::fs::write(
        &path,
        "user default on nopass ~* &* +@all\n\nuser ann on >pw +@all\n",
    )
    .unwrap();
    let settings = ["--aclfile", "users.acl", "--save", ""];
    let server = Server::start_in(folder.path(), &settings).unwrap();
    let mut admin = server.client();
    let mut ann = login(&server, "ann");
    admin.line("ACL SETUSER bob on >pw ~a* (%R~b +get)");
    assert_eq!(admin.line("ACL SAVE"), Value::ok());
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = admin
        .line("ACL LIST")
        .items()
        .iter()
        .map(Value::text)
        .collect();
    assert_eq!(text, lines.join("\n") + "\n");
    std::fs::write(&path, "user ann on >pw +nosuch\n").unwrap();
    let refused = admin.line("ACL LOAD").text();
    assert!(
        refused.starts_with("ERR users.acl:1: Error in applying operation '+nosuch'"),
        "{refused}"
    );
    assert_eq!(ann.line("ACL WHOAMI"), Value::bulk("ann"));
    std::fs::write(&path, "user bob on >pw +@all\n").unwrap();
    assert_eq!(admin.line("ACL LOAD"), Value::ok());
    assert!(ann.is_closed());
    assert_eq!(login(&server, "bob").line("ACL WHOAMI"), Value::bulk("bob"));
}

#[test]
fn users_live_in_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rankd.conf");
    let conf =
        "port 0\nsave \"\"\nuser ann on >pw ~a* (%R~b +get)\nuser default on nopass ~* +@all\n";
    std::fs::write(&path, conf).unwrap();
    let start = || {
        let mut command = std::process::Command::new(rankd_program());
        command.arg(&path);
        Server::spawn(command, folder.path(), None)
    };
    let server = start().unwrap();
    let mut admin = server.client();
    assert_eq!(
        admin.line("ACL LIST").items()[0].text(),
        "user ann on sanitize-payload #30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 ~a* \
         resetchannels -@all (%R~b resetchannels -@all +get)"
    );
    admin.line("ACL SETUSER bob on nopass +@read");
    assert!(admin.line("ACL SAVE").is_error());
    assert_eq!(admin.line("CONFIG REWRITE"), Value::ok());
    let before = admin.line("ACL LIST");
    drop(server);
    let server = start().unwrap();
    assert_eq!(server.client().line("ACL LIST"), before);
    drop(server);
    for (line, reason) in [
        (
            "user eve on +nosuch",
            "Unknown command or category name in ACL",
        ),
        ("user ann on", "Duplicate user found"),
        ("aclfile users.acl", "either an ACL file or users"),
    ] {
        std::fs::write(&path, format!("{conf}{line}\n")).unwrap();
        let output = match start() {
            Ok(_) => panic!("{line} is accepted"),
            Err(output) => output,
        };
        assert!(output.contains(reason), "{output}");
    }
}

#[test]
fn passwords_are_made_and_hidden() {
    let server = Server::start();
    let mut client = server.client();
    let lengths =
        |client: &mut Client, bits: &str| client.line(&format!("ACL GENPASS {bits}")).text().len();
    assert_eq!(lengths(&mut client, ""), 64);
    assert_eq!(lengths(&mut client, "5"), 2);
    assert_eq!(lengths(&mut client, "4096"), 1024);
    assert_ne!(client.line("ACL GENPASS"), client.line("ACL GENPASS"));
    let mut monitor = server.client();
    monitor.call(["MONITOR"]);
    client.line("CONFIG SET slowlog-log-slower-than 0");
    client.line("ACL SETUSER ann >secret");
    client.line("ECHO end");
    let seen = monitor.read().text();
    assert!(seen.contains("end") && !seen.contains("secret"), "{seen}");
    let log = format!("{:?}", client.line("SLOWLOG GET"));
    assert!(log.contains("SETUSER") && !log.contains("secret"), "{log}");
}
