//! The decoder against facts from a real server, every split of every input, and
//! arbitrary bytes.

use super::*;

/// The requests in `input`, then how decoding ended.
fn decode_all(
    decoder: &mut RequestDecoder,
    input: &[u8],
) -> (Vec<Vec<Vec<u8>>>, Result<usize, ProtocolError>) {
    let mut requests = Vec::new();
    let mut offset = 0;
    loop {
        match decoder.decode(&input[offset..]) {
            Ok(Decoded::Request { consumed }) => {
                let args = decoder.args(&input[offset..]);
                requests.push(args.iter().map(<[u8]>::to_vec).collect());
                offset += consumed;
            }
            Ok(Decoded::Incomplete) => return (requests, Ok(input.len() - offset)),
            Err(error) => return (requests, Err(error)),
        }
    }
}

/// As `decode_all`, but the bytes come in reads that end at `ends`.
fn decode_in_reads(
    limits: DecoderLimits,
    input: &[u8],
    ends: impl Iterator<Item = usize>,
) -> (Vec<Vec<Vec<u8>>>, Result<usize, ProtocolError>) {
    let mut decoder = RequestDecoder::with_limits(limits);
    let mut requests = Vec::new();
    let mut offset = 0;
    for end in ends.chain([input.len()]) {
        let (more, outcome) = decode_all(&mut decoder, &input[offset..end]);
        requests.extend(more);
        match outcome {
            Ok(left) => offset = end - left,
            Err(error) => return (requests, Err(error)),
        }
    }
    (requests, Ok(input.len() - offset))
}

fn words(args: &[&[u8]]) -> Vec<Vec<u8>> {
    args.iter().map(|arg| arg.to_vec()).collect()
}

/// What one input must give, as a real server showed.
type Fact = (
    &'static [u8],
    &'static [&'static [&'static [u8]]],
    Result<usize, ProtocolError>,
);

const FACTS: &[Fact] = &[
    (b"", &[], Ok(0)),
    (b"*1\r\n$4\r\nPING\r\n", &[&[b"PING"]], Ok(0)),
    (b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", &[&[b"GET", b""]], Ok(0)),
    (
        b"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\0$\r\nPING\n",
        &[&[b"ECHO", b"\r\n\0$"], &[b"PING"]],
        Ok(0),
    ),
    (
        b"*1\r\n$12\r\nabcdefghijkl\r\n",
        &[&[b"abcdefghijkl"]],
        Ok(0),
    ),
    (b"*0\r\nPING\r\n", &[&[], &[b"PING"]], Ok(0)),
    (b"*-1\r\nPING\r\n", &[&[], &[b"PING"]], Ok(0)),
    (b"*-5\r\nPING\r\n", &[&[], &[b"PING"]], Ok(0)),
    (b"\r\nPING\r\n", &[&[], &[b"PING"]], Ok(0)),
    (b"\nPING\n", &[&[], &[b"PING"]], Ok(0)),
    (b"   \r\nPING\r\n", &[&[], &[b"PING"]], Ok(0)),
    (b"PING\r\r\n", &[&[b"PING"]], Ok(0)),
    (b"PING", &[], Ok(4)),
    // The byte after a carriage return and those after a bulk are not looked at.
    (b"*1\rX$4\rXPINGXX", &[&[b"PING"]], Ok(0)),
    (
        b"*01\r\n$4\r\nPING\r\n",
        &[],
        Err(ProtocolError::MultibulkLengthInvalid),
    ),
    (b"*+1\r\n", &[], Err(ProtocolError::MultibulkLengthInvalid)),
    (b"*\r\n", &[], Err(ProtocolError::MultibulkLengthInvalid)),
    (b"*2147483647\r\n", &[], Ok(13)),
    (
        b"*2147483648\r\n",
        &[],
        Err(ProtocolError::MultibulkLengthInvalid),
    ),
    (
        b"*99999999999999999999\r\n",
        &[],
        Err(ProtocolError::MultibulkLengthInvalid),
    ),
    (
        b"*1\r\n$04\r\nPING\r\n",
        &[],
        Err(ProtocolError::BulkLengthInvalid),
    ),
    (
        b"*1\r\n$00\r\n\r\n",
        &[],
        Err(ProtocolError::BulkLengthInvalid),
    ),
    (b"*1\r\n$-1\r\n", &[], Err(ProtocolError::BulkLengthInvalid)),
    (b"*1\r\n$536870912\r\n", &[], Ok(16)),
    (
        b"*1\r\n$536870913\r\n",
        &[],
        Err(ProtocolError::BulkLengthInvalid),
    ),
    (
        b"*1\r\n+4\r\n",
        &[],
        Err(ProtocolError::BulkExpected { got: b'+' }),
    ),
    (b"*1\r\n+4", &[], Ok(6)),
    (
        b"*1\r\n\r\n",
        &[],
        Err(ProtocolError::BulkExpected { got: b'\r' }),
    ),
    (
        b"*1\r\n\xff4\r\n",
        &[],
        Err(ProtocolError::BulkExpected { got: 0xff }),
    ),
    // A NUL hides the end of its line.
    (b"*1\0\r\n$4\r\nPING\r\n", &[], Ok(15)),
    (b"*1\r\n$4\0\r\nPING\r\n", &[], Ok(15)),
    (b"*1\r\n\0\r\n", &[], Ok(7)),
    (b"PI\0NG\r\nPING\r\n", &[], Ok(13)),
    (
        b"ECHO \"a\\x41\\n\\t\\b\\a\\q\\\"\"\r\n",
        &[&[b"ECHO", b"aA\n\t\x08\x07q\""]],
        Ok(0),
    ),
    (b"ECHO \"a\\x4\"\n", &[&[b"ECHO", b"ax4"]], Ok(0)),
    (b"ECHO 'a\\'b\\n'\r\n", &[&[b"ECHO", b"a'b\\n"]], Ok(0)),
    (b"ECHO a\"b c\"\r\n", &[&[b"ECHO", b"ab c"]], Ok(0)),
    (
        b"ECHO a\x0b\"b c\"\x0b\r\n",
        &[&[b"ECHO", b"a\x0bb c"]],
        Ok(0),
    ),
    (b"ECHO \x0ba\r\n", &[&[b"ECHO", b"a"]], Ok(0)),
    (b"ECHO \"\"\r\n", &[&[b"ECHO", b""]], Ok(0)),
    (
        b"ECHO 'a'\tb\rc\r\n",
        &[&[b"ECHO", b"a", b"b", b"c"]],
        Ok(0),
    ),
    (
        b"ECHO \"a\"b\r\n",
        &[],
        Err(ProtocolError::QuotesUnbalanced),
    ),
    (b"ECHO \"a\r\n", &[], Err(ProtocolError::QuotesUnbalanced)),
    (b"ECHO \"a\\\r\n", &[], Err(ProtocolError::QuotesUnbalanced)),
    (b"ECHO 'a\r\n", &[], Err(ProtocolError::QuotesUnbalanced)),
];

#[test]
fn facts_hold_for_every_split() {
    for (input, requests, outcome) in FACTS {
        let expected = (
            requests.iter().map(|args| words(args)).collect::<Vec<_>>(),
            *outcome,
        );
        let limits = DecoderLimits::default();
        let text = input.escape_ascii();
        assert_eq!(
            decode_all(&mut RequestDecoder::new(), input),
            expected,
            "{text}"
        );
        assert_eq!(
            decode_in_reads(limits, input, 0..input.len()),
            expected,
            "{text} byte by byte"
        );
        for first in 0..input.len() {
            for second in first..input.len() {
                assert_eq!(
                    decode_in_reads(limits, input, [first, second].into_iter()),
                    expected,
                    "{text} cut at {first} and {second}"
                );
            }
        }
    }
}
