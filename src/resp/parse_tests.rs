//! Replies written and taken apart again, by our cursor and by another parser.

use proptest::prelude::*;

use super::*;
use crate::resp::reply::{Protocol, Reply};

#[derive(Clone, Debug)]
enum Value {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    NullArray,
    Double(f64, String),
    Bool(bool),
    BigNumber(String),
    Verbatim(Vec<u8>),
    Array(Vec<Value>),
    Push(Vec<Value>),
    /// The elements are numbered, so that no two are equal.
    Set(usize),
    /// The keys are numbered, so that no two are equal.
    Map(Vec<Value>),
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-zA-Z ]{0,20}".prop_map(Value::Simple),
        "[A-Z]{1,5} [a-z ]{1,20}".prop_map(Value::Error),
        (any::<i64>(), 0u32..64).prop_map(|(value, shift)| Value::Integer(value >> shift)),
        proptest::collection::vec(any::<u8>(), 0..120).prop_map(Value::Bulk),
        Just(Value::Null),
        Just(Value::NullArray),
        any::<f64>()
            .prop_filter("a number", |value| !value.is_nan())
            .prop_map(|value| {
                let mut text = Vec::new();
                crate::resp::number::write_score(value, &mut text);
                Value::Double(value, String::from_utf8(text).unwrap())
            }),
        any::<bool>().prop_map(Value::Bool),
        "-?[1-9][0-9]{0,40}".prop_map(Value::BigNumber),
        "[ -~]{0,20}".prop_map(|text| Value::Verbatim(text.into_bytes())),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 200, 12, |inner| {
        let elements = proptest::collection::vec(inner, 0..12);
        prop_oneof![
            elements.clone().prop_map(Value::Array),
            elements.clone().prop_map(Value::Push),
            elements.prop_map(Value::Map),
            (0usize..12).prop_map(Value::Set),
        ]
    })
}

fn write(value: &Value, reply: &mut Reply) {
    match value {
        Value::Simple(text) => reply.simple(text),
        Value::Error(text) => reply.error(text),
        Value::Integer(value) => reply.integer(*value),
        Value::Bulk(bytes) => reply.bulk(bytes),
        Value::Null => reply.null(),
        Value::NullArray => reply.null_array(),
        Value::Double(value, _) => reply.double(*value),
        Value::Bool(value) => reply.bool(*value),
        Value::BigNumber(digits) => reply.big_number(digits),
        Value::Verbatim(text) => reply.verbatim("txt", text),
        Value::Array(elements) => {
            reply.array(elements.len());
            elements.iter().for_each(|element| write(element, reply));
        }
        Value::Push(elements) => {
            reply.push(elements.len());
            elements.iter().for_each(|element| write(element, reply));
        }
        Value::Set(len) => {
            reply.set(*len);
            (0..*len).for_each(|element| reply.integer(element as i64));
        }
        Value::Map(values) => {
            let mark = reply.begin_map();
            for (key, value) in values.iter().enumerate() {
                reply.integer(key as i64);
                write(value, reply);
            }
            reply.end_map(mark, values.len());
        }
    }
}

/// The tokens that `write` must have written.
fn expect<'a>(value: &'a Value, protocol: Protocol, tokens: &mut Vec<Token<'a>>) {
    let resp3 = protocol == Protocol::Resp3;
    let either = |three, two| if resp3 { three } else { two };
    match value {
        Value::Simple(text) => tokens.push(Token::Simple(text.as_bytes())),
        Value::Error(text) => tokens.push(Token::Error(text.as_bytes())),
        Value::Integer(value) => tokens.push(Token::Integer(*value)),
        Value::Bulk(bytes) => tokens.push(Token::Bulk(bytes)),
        Value::Null => tokens.push(Token::Null),
        Value::NullArray => tokens.push(either(Token::Null, Token::NullArray)),
        Value::Double(_, text) => {
            let text = text.as_bytes();
            tokens.push(either(Token::Double(text), Token::Bulk(text)));
        }
        Value::Bool(value) => {
            tokens.push(either(
                Token::Bool(*value),
                Token::Integer(i64::from(*value)),
            ));
        }
        Value::BigNumber(digits) => {
            let digits = digits.as_bytes();
            tokens.push(either(Token::BigNumber(digits), Token::Bulk(digits)));
        }
        Value::Verbatim(text) => {
            let verbatim = Token::Verbatim { ext: b"txt", text };
            tokens.push(either(verbatim, Token::Bulk(text)));
        }
        Value::Array(elements) => {
            tokens.push(Token::Array(elements.len()));
            elements
                .iter()
                .for_each(|element| expect(element, protocol, tokens));
        }
        Value::Push(elements) => {
            tokens.push(either(
                Token::Push(elements.len()),
                Token::Array(elements.len()),
            ));
            elements
                .iter()
                .for_each(|element| expect(element, protocol, tokens));
        }
        Value::Set(len) => {
            tokens.push(either(Token::Set(*len), Token::Array(*len)));
            tokens.extend((0..*len).map(|element| Token::Integer(element as i64)));
        }
        Value::Map(values) => {
            tokens.push(either(
                Token::Map(values.len()),
                Token::Array(values.len() * 2),
            ));
            for (key, value) in values.iter().enumerate() {
                tokens.push(Token::Integer(key as i64));
                expect(value, protocol, tokens);
            }
        }
    }
}

/// A value as another parser sees it, in one text for comparison.
mod second_opinion {
    use redis_protocol::{resp2, resp3};

    use super::*;

    /// Parses RESP3 and writes it again with our writer; sets and maps in the order of
    /// their numbers.
    pub fn rewrite3(frame: &resp3::types::OwnedFrame, reply: &mut Reply) {
        use resp3::types::OwnedFrame as Frame;
        let number = |frame: &Frame| match frame {
            Frame::Number { data, .. } => *data,
            other => panic!("not a number: {other:?}"),
        };
        match frame {
            Frame::BlobString { data, .. } => reply.bulk(data),
            Frame::SimpleString { data, .. } => reply.simple_bytes(data),
            Frame::SimpleError { data, .. } => reply.error(data),
            Frame::Boolean { data, .. } => reply.bool(*data),
            Frame::Null => reply.null(),
            Frame::Number { data, .. } => reply.integer(*data),
            Frame::Double { data, .. } => reply.double(*data),
            Frame::BigNumber { data, .. } => {
                reply.big_number(std::str::from_utf8(data).unwrap());
            }
            Frame::VerbatimString { data, .. } => reply.verbatim("txt", data),
            Frame::Array { data, .. } => {
                reply.array(data.len());
                data.iter().for_each(|element| rewrite3(element, reply));
            }
            Frame::Push { data, .. } => {
                reply.push(data.len());
                data.iter().for_each(|element| rewrite3(element, reply));
            }
            Frame::Set { data, .. } => {
                let mut elements: Vec<_> = data.iter().map(number).collect();
                elements.sort_unstable();
                reply.set(elements.len());
                elements.iter().for_each(|element| reply.integer(*element));
            }
            Frame::Map { data, .. } => {
                let mut pairs: Vec<_> = data.iter().collect();
                pairs.sort_unstable_by_key(|(key, _)| number(key));
                reply.map(pairs.len());
                for (key, value) in pairs {
                    reply.integer(number(key));
                    rewrite3(value, reply);
                }
            }
            other => panic!("never written: {other:?}"),
        }
    }

    pub fn rewrite2(frame: &resp2::types::OwnedFrame, reply: &mut Reply) {
        use resp2::types::OwnedFrame as Frame;
        match frame {
            Frame::SimpleString(text) => reply.simple_bytes(text),
            Frame::Error(text) => reply.error(text),
            Frame::Integer(value) => reply.integer(*value),
            Frame::BulkString(bytes) => reply.bulk(bytes),
            Frame::Null => reply.null(),
            Frame::Array(elements) => {
                reply.array(elements.len());
                elements.iter().for_each(|element| rewrite2(element, reply));
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(value in value()) {
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let mut reply = Reply::new(protocol);
            write(&value, &mut reply);
            let mut expected = Vec::new();
            expect(&value, protocol, &mut expected);
            let mut cursor = ReplyCursor::new(reply.as_bytes());
            let tokens: Vec<_> = cursor.by_ref().collect();
            prop_assert!(cursor.rest().is_empty());
            prop_assert_eq!(tokens, expected);
            let mut cursor = ReplyCursor::new(reply.as_bytes());
            prop_assert_eq!(cursor.skip_value(), Some(()));
            prop_assert!(cursor.rest().is_empty());
            for end in 0..reply.len() {
                prop_assert_eq!(ReplyCursor::new(&reply.as_bytes()[..end]).skip_value(), None);
            }
        }
    }

    #[test]
    fn another_parser_reads_the_same(value in value()) {
        let mut reply = Reply::new(Protocol::Resp3);
        write(&value, &mut reply);
        let (frame, consumed) = redis_protocol::resp3::decode::complete::decode(reply.as_bytes())
            .unwrap()
            .unwrap();
        prop_assert_eq!(consumed, reply.len());
        let mut again = Reply::new(Protocol::Resp3);
        second_opinion::rewrite3(&frame, &mut again);
        prop_assert_eq!(again.as_bytes().escape_ascii().to_string(), reply.as_bytes().escape_ascii().to_string());

        let mut reply = Reply::new(Protocol::Resp2);
        write(&value, &mut reply);
        let (frame, consumed) = redis_protocol::resp2::decode::decode(reply.as_bytes())
            .unwrap()
            .unwrap();
        prop_assert_eq!(consumed, reply.len());
        let mut again = Reply::new(Protocol::Resp2);
        second_opinion::rewrite2(&frame, &mut again);
        // It does not tell a missing array from a missing string.
        let written = reply.as_bytes().escape_ascii().to_string();
        prop_assert_eq!(again.as_bytes().escape_ascii().to_string(), written.replace("*-1", "$-1"));
    }

    #[test]
    fn arbitrary_bytes_end(bytes in "([-+:$*_%~>|,#(=]?[0-9a-f]{0,3}(\r\n)?){0,30}") {
        let mut cursor = ReplyCursor::new(bytes.as_bytes());
        let count = cursor.by_ref().count();
        prop_assert!(count <= bytes.len());
        prop_assert_eq!(cursor.next(), None);
        let mut cursor = ReplyCursor::new(bytes.as_bytes());
        prop_assert!(cursor.skip_value().is_none() || count > 0);
    }
}

#[test]
fn deep_nesting_needs_no_stack() {
    let depth = 1_000_000;
    let mut bytes = b"*1\r\n".repeat(depth);
    bytes.extend_from_slice(b":1\r\n");
    let mut cursor = ReplyCursor::new(&bytes);
    assert_eq!(cursor.skip_value(), Some(()));
    assert_eq!(ReplyCursor::new(&bytes).count(), depth + 1);
}

#[test]
fn what_is_no_reply_ends_the_tokens() {
    let bad: &[&[u8]] = &[
        b"?\r\n",
        b":+1\r\n",
        b":\r\n",
        b"$-2\r\n",
        b"$2\r\nab\r",
        b"$2\r\nabcd",
        b"$99999999999999999999\r\n",
        b"*-2\r\n",
        b"*x\r\n",
        b"#x\r\n",
        b"_x\r\n",
        b"=2\r\nab\r\n",
        b"=4\r\ntxtx\r\n",
        b"+OK\r+",
        b"+OK",
    ];
    for bytes in bad {
        let mut cursor = ReplyCursor::new(bytes);
        assert_eq!(cursor.next(), None, "{}", bytes.escape_ascii());
        assert_eq!(cursor.rest(), *bytes);
    }
    let mut cursor = ReplyCursor::new(b"|1\r\n+a\r\n:1\r\n:2\r\n:3\r\n");
    assert_eq!(cursor.skip_value(), Some(()));
    assert_eq!(cursor.next(), Some(Token::Integer(3)));
}
