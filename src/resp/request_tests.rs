//! The decoder against facts from a real server, every split of every input, and
//! arbitrary bytes.

use proptest::prelude::*;

use super::*;
use crate::resp::args::OwnedArgs;

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

#[test]
fn lines_are_bounded() {
    let max = PROTOCOL_LINE_LEN_MAX;
    let cases = [
        (b'A', "", ProtocolError::InlineTooBig),
        (b'1', "*", ProtocolError::MultibulkLineTooBig),
        (b'1', "*1\r\n$", ProtocolError::BulkLineTooBig),
    ];
    for (byte, head, error) in cases {
        let line_start = head.rfind(['*', '$']).unwrap_or(0);
        let mut input = head.as_bytes().to_vec();
        input.resize(line_start + max, byte);
        let mut decoder = RequestDecoder::new();
        assert_eq!(decoder.decode(&input), Ok(Decoded::Incomplete));
        input.push(byte);
        assert_eq!(decoder.decode(&input), Err(error));
        assert_eq!(decoder.decode(&input), Err(error));
        assert_eq!(RequestDecoder::new().decode(&input), Err(error));
    }
    let mut input = vec![b'A'; max];
    input.push(b'\n');
    let consumed = input.len();
    assert_eq!(
        RequestDecoder::new().decode(&input),
        Ok(Decoded::Request { consumed })
    );
    // A NUL hides the end that stands before the limit.
    let mut input = b"A\0\n".to_vec();
    input.resize(max, b'A');
    let mut decoder = RequestDecoder::new();
    assert_eq!(decoder.decode(&input), Ok(Decoded::Incomplete));
    input.push(b'\n');
    assert_eq!(decoder.decode(&input), Err(ProtocolError::InlineTooBig));
}

#[test]
fn before_authentication_little_is_taken() {
    let limits = DecoderLimits {
        authenticated: false,
        ..DecoderLimits::default()
    };
    let decode = |input: &[u8]| RequestDecoder::with_limits(limits).decode(input);
    assert_eq!(decode(b"*10\r\n"), Ok(Decoded::Incomplete));
    for input in ["*11\r\n", "*2147483647\r\n"] {
        let error = ProtocolError::MultibulkLengthUnauthenticated;
        assert_eq!(decode(input.as_bytes()), Err(error));
    }
    let error = ProtocolError::MultibulkLengthInvalid;
    assert_eq!(decode(b"*2147483648\r\n"), Err(error));
    assert_eq!(decode(b"*1\r\n$16384\r\n"), Ok(Decoded::Incomplete));
    let error = ProtocolError::BulkLengthUnauthenticated;
    assert_eq!(decode(b"*1\r\n$16385\r\n"), Err(error));
    let error = ProtocolError::BulkLengthInvalid;
    assert_eq!(decode(b"*1\r\n$536870913\r\n"), Err(error));
    // What comes after AUTH is decoded under the new limits.
    let mut decoder = RequestDecoder::with_limits(limits);
    assert_eq!(
        decoder.decode(b"PING\n"),
        Ok(Decoded::Request { consumed: 5 })
    );
    decoder.limits_mut().authenticated = true;
    assert_eq!(decoder.decode(b"*11\r\n"), Ok(Decoded::Incomplete));
}

#[test]
fn bulk_lengths_follow_the_setting() {
    let limits = DecoderLimits {
        bulk_len_max: 8_000_000_000,
        ..DecoderLimits::default()
    };
    let mut decoder = RequestDecoder::with_limits(limits);
    assert_eq!(
        decoder.decode(b"*1\r\n$4000000000\r\n"),
        Ok(Decoded::Incomplete)
    );
    for input in ["*1\r\n$4294967296\r\n", "*1\r\n$4294967290\r\n"] {
        let mut decoder = RequestDecoder::with_limits(limits);
        let outcome = decoder.decode(input.as_bytes());
        assert_eq!(outcome, Err(ProtocolError::RequestTooBig), "{input}");
    }
    let mut decoder = RequestDecoder::with_limits(limits);
    let error = ProtocolError::BulkLengthInvalid;
    assert_eq!(decoder.decode(b"*1\r\n$8000000001\r\n"), Err(error));
}

#[test]
fn nothing_is_reserved_for_what_is_announced() {
    let mut decoder = RequestDecoder::new();
    let input = b"*2147483647\r\n$536870912\r\n";
    assert_eq!(decoder.decode(input), Ok(Decoded::Incomplete));
    assert!(decoder.memory_bytes() <= 64);
}

#[test]
fn memory_of_a_huge_request_is_given_back() {
    let mut input = b"*100000\r\n".to_vec();
    input.extend(b"$1\r\nx\r\n".repeat(100_000));
    let mut decoder = RequestDecoder::new();
    let consumed = input.len();
    assert_eq!(decoder.decode(&input), Ok(Decoded::Request { consumed }));
    assert_eq!(decoder.args(&input).len(), 100_000);
    let mut line = vec![b'y'; PROTOCOL_LINE_LEN_MAX];
    line.push(b'\n');
    assert!(decoder.decode(&line).is_ok());
    assert!(decoder.decode(b"PING\r\n").is_ok());
    assert!(decoder.memory_bytes() <= SPANS_KEPT_MAX * size_of::<Span>() + INLINE_SCRATCH_KEPT_MAX);
}

#[test]
fn errors_have_their_texts() {
    let text = |error: ProtocolError| {
        let mut reply = Reply::default();
        error.write(&mut reply);
        reply.take().escape_ascii().to_string()
    };
    let cases = [
        (
            ProtocolError::MultibulkLineTooBig,
            "too big mbulk count string",
        ),
        (
            ProtocolError::MultibulkLengthInvalid,
            "invalid multibulk length",
        ),
        (
            ProtocolError::MultibulkLengthUnauthenticated,
            "unauthenticated multibulk length",
        ),
        (ProtocolError::BulkLineTooBig, "too big bulk count string"),
        (
            ProtocolError::BulkExpected { got: b'+' },
            "expected \\'$\\', got \\'+\\'",
        ),
        (
            ProtocolError::BulkExpected { got: b'\r' },
            "expected \\'$\\', got \\' \\'",
        ),
        (
            ProtocolError::BulkExpected { got: 0xff },
            "expected \\'$\\', got \\'\\xff\\'",
        ),
        (ProtocolError::BulkLengthInvalid, "invalid bulk length"),
        (
            ProtocolError::BulkLengthUnauthenticated,
            "unauthenticated bulk length",
        ),
        (ProtocolError::InlineTooBig, "too big inline request"),
        (
            ProtocolError::QuotesUnbalanced,
            "unbalanced quotes in request",
        ),
        (ProtocolError::RequestTooBig, "too big request"),
    ];
    for (error, reason) in cases {
        assert_eq!(text(error), format!("-ERR Protocol error: {reason}\\r\\n"));
    }
}

/// Requests as clients send them, arrays and inline ones mixed, with what they hold.
fn requests() -> impl Strategy<Value = (Vec<u8>, Vec<Vec<Vec<u8>>>)> {
    let arg = prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..24),
        1 => proptest::collection::vec(any::<u8>(), 0..2000),
    ];
    let args = proptest::collection::vec(arg, 1..8);
    let request = (args, any::<bool>()).prop_map(|(args, inline)| {
        let slices: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let mut bytes = Vec::new();
        if inline {
            let word = |arg: &Vec<u8>| {
                let hex: String = arg.iter().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("\"{hex}\"")
            };
            let line: Vec<String> = args.iter().map(word).collect();
            bytes.extend_from_slice(line.join(" ").as_bytes());
            bytes.extend_from_slice(b"\r\n");
        } else {
            OwnedArgs::from_slices(&slices).encode(&mut bytes);
        }
        (bytes, args)
    });
    proptest::collection::vec(request, 1..6).prop_map(|requests| {
        let (bytes, args): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
        (bytes.concat(), args)
    })
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_in_any_reads(
        (input, expected) in requests(),
        mut ends in proptest::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut ends: Vec<usize> = ends.drain(..).map(|end| end.index(input.len())).collect();
        ends.sort_unstable();
        let limits = DecoderLimits::default();
        prop_assert_eq!(&decode_in_reads(limits, &input, ends.into_iter()).0, &expected);
        let (requests, left) = decode_in_reads(limits, &input, 0..input.len());
        prop_assert_eq!(requests, expected);
        prop_assert_eq!(left, Ok(0));
    }

    #[test]
    fn another_parser_reads_the_same(args in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..200), 1..20)
    ) {
        use redis_protocol::resp2::types::OwnedFrame as Frame;
        let frame = Frame::Array(args.iter().cloned().map(Frame::BulkString).collect());
        let mut ours = Vec::new();
        let slices: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        OwnedArgs::from_slices(&slices).encode(&mut ours);
        let decoded = redis_protocol::resp2::decode::decode(&ours).unwrap();
        prop_assert_eq!(decoded, Some((frame, ours.len())));
        let (requests, left) = decode_all(&mut RequestDecoder::new(), &ours);
        prop_assert_eq!(requests, [args]);
        prop_assert_eq!(left, Ok(0));
    }

    #[test]
    fn arbitrary_bytes_give_the_same_in_any_reads(
        input in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "([*$][-0-9]{0,3}\r?\n?|[a\"'\\\\x0 \r\n\0]{0,6}){0,20}".prop_map(String::into_bytes),
        ],
        mut ends in proptest::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let limits = DecoderLimits { inline_len_max: 20, ..DecoderLimits::default() };
        let whole = decode_in_reads(limits, &input, std::iter::empty());
        let mut ends: Vec<usize> = ends.drain(..).map(|end| end.index(input.len() + 1)).collect();
        ends.sort_unstable();
        prop_assert_eq!(&decode_in_reads(limits, &input, ends.into_iter()), &whole);
        prop_assert_eq!(&decode_in_reads(limits, &input, 0..input.len()), &whole);
        let mut decoder = RequestDecoder::with_limits(limits);
        let _ = decode_all(&mut decoder, &input);
        prop_assert!(decoder.memory_bytes() <= 16 * (input.len() + 8));
    }
}

/// Decoding again from the first byte on at every read would take a thousand times as long.
#[test]
fn a_large_request_in_small_reads_is_decoded_in_linear_time() {
    const READ_LEN: usize = 16 * 1024;
    const MEMBERS: usize = 500_000;
    let mut bytes = format!("*{}\r\n$4\r\nZADD\r\n$5\r\nboard\r\n", 2 + 2 * MEMBERS).into_bytes();
    for member in 0..MEMBERS {
        bytes.extend_from_slice(
            format!("$6\r\n{member:06}\r\n$19\r\nplayer:{member:012}\r\n").as_bytes(),
        );
    }
    assert!(bytes.len() > 19_000_000);
    let decode = |read_len: usize| {
        let started = std::time::Instant::now();
        let mut decoder = RequestDecoder::new();
        let mut reads = (0..bytes.len())
            .step_by(read_len)
            .map(|at| (at + read_len).min(bytes.len()));
        let ended =
            reads.find(|&end| matches!(decoder.decode(&bytes[..end]), Ok(Decoded::Request { .. })));
        assert_eq!(ended, Some(bytes.len()));
        assert_eq!(decoder.args(&bytes).len(), 2 + 2 * MEMBERS);
        started.elapsed()
    };
    let whole = decode(bytes.len());
    let in_pieces = decode(READ_LEN);
    let most = 20 * whole + std::time::Duration::from_secs(1);
    assert!(in_pieces < most, "{in_pieces:?} in pieces, {whole:?} whole");
}
