//! The bytes of every kind of reply in both protocols.

use super::*;

fn written(protocol: Protocol, write: impl FnOnce(&mut Reply)) -> String {
    let mut reply = Reply::new(protocol);
    write(&mut reply);
    String::from_utf8(reply.take()).unwrap()
}

fn check(resp2: &str, resp3: &str, write: impl Fn(&mut Reply)) {
    assert_eq!(written(Protocol::Resp2, &write), resp2);
    assert_eq!(written(Protocol::Resp3, &write), resp3);
}

#[test]
fn every_kind_has_its_bytes() {
    let same = |bytes: &str, write: &dyn Fn(&mut Reply)| check(bytes, bytes, write);
    same("+OK\r\n", &|r| r.ok());
    same("+QUEUED\r\n", &|r| r.queued());
    same("+PONG\r\n", &|r| r.simple("PONG"));
    same(":0\r\n:7\r\n:10\r\n:-1\r\n", &|r| {
        for value in [0, 7, 10, -1] {
            r.integer(value);
        }
    });
    same(":9223372036854775807\r\n:-9223372036854775808\r\n", &|r| {
        r.integer(i64::MAX);
        r.integer(i64::MIN);
    });
    same("$0\r\n\r\n$3\r\na\r\n\r\n", &|r| {
        r.bulk(b"");
        r.bulk(b"a\r\n");
    });
    same("$12\r\nabcdefghijkl\r\n", &|r| r.bulk(b"abcdefghijkl"));
    same("$3\r\n-12\r\n$1\r\n0\r\n", &|r| {
        r.bulk_integer(-12);
        r.bulk_integer(0);
    });
    same("$6\r\nx=1.50\r\n", &|r| {
        r.bulk_fmt(format_args!("x={:.2}", 1.5))
    });
    same("*0\r\n*99\r\n*100\r\n", &|r| {
        r.array(0);
        r.array(99);
        r.array(100);
    });
    same("$3\r\n1.5\r\n", &|r| r.bulk_double(1.5));
    check("$-1\r\n", "_\r\n", |r| r.null());
    check("*-1\r\n", "_\r\n", |r| r.null_array());
    check("*6\r\n", "%3\r\n", |r| r.map(3));
    check("*3\r\n", "~3\r\n", |r| r.set(3));
    check("*3\r\n", ">3\r\n", |r| r.push(3));
    check("$3\r\n1.5\r\n", ",1.5\r\n", |r| r.double(1.5));
    check(
        "$23\r\n1.7976931348623157e+308\r\n",
        ",1.7976931348623157e+308\r\n",
        |r| r.score(f64::MAX),
    );
    check("$3\r\ninf\r\n$4\r\n-inf\r\n", ",inf\r\n,-inf\r\n", |r| {
        r.double(f64::INFINITY);
        r.double(f64::NEG_INFINITY);
    });
    check("$3\r\nnan\r\n", ",nan\r\n", |r| r.double(f64::NAN));
    check(
        "$19\r\n0.10000000000000001\r\n",
        ",0.10000000000000001\r\n",
        |r| r.human_double(0.1),
    );
    check(":1\r\n:0\r\n", "#t\r\n#f\r\n", |r| {
        r.bool(true);
        r.bool(false);
    });
    check("$3\r\n123\r\n", "(123\r\n", |r| r.big_number("123"));
    check("$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n", |r| {
        r.verbatim("txt", b"hi")
    });
    assert_eq!(written(Protocol::Resp3, |r| r.attribute(1)), "|1\r\n");
}

#[test]
fn line_ends_cannot_break_out_of_a_line() {
    check("-ERR a  b\r\n", "-ERR a  b\r\n", |r| r.error("ERR a\r\nb"));
    check("-ERR a\r\n", "-ERR a\r\n", |r| r.error("\r\nERR a\r\n\n"));
    check("-\r\n", "-\r\n", |r| r.error("\r\n"));
    check("+a b \r\n", "+a b \r\n", |r| r.simple("a\nb\r"));
}

#[test]
fn a_deferred_count_is_as_if_known_before() {
    for len in [0usize, 1, 9, 10, 99, 100, 12345] {
        let elements = |r: &mut Reply| (0..len).for_each(|value| r.integer(value as i64));
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let known = written(protocol, |r| {
                r.array(len);
                elements(r);
                r.map(len);
                elements(r);
                elements(r);
                r.set(len);
                elements(r);
            });
            let deferred = written(protocol, |r| {
                let mark = r.begin_array();
                elements(r);
                r.end_array(mark, len);
                let mark = r.begin_map();
                elements(r);
                elements(r);
                r.end_map(mark, len);
                let mark = r.begin_set();
                elements(r);
                r.end_set(mark, len);
            });
            assert_eq!(known, deferred);
        }
    }
}

#[test]
fn a_failed_part_is_cut_off() {
    let bytes = written(Protocol::Resp2, |r| {
        r.ok();
        let position = r.len();
        r.array(3);
        r.integer(1);
        r.truncate(position);
        r.error("ERR no");
    });
    assert_eq!(bytes, "+OK\r\n-ERR no\r\n");
}

#[test]
fn command_errors_are_written_with_their_texts() {
    use crate::resp::error::CommandError;
    check(
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        |r| CommandError::WrongType.write(r),
    );
    let error = CommandError::wrong_arity("config|get");
    assert_eq!(
        error.to_string(),
        "ERR wrong number of arguments for 'config|get' command"
    );
}
