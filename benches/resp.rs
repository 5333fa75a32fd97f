//! Nanoseconds of decoding a request, writing a reply and converting a number.
//!
//! `cargo bench --bench resp [filter]`. Each line is the best of several rounds, which
//! is what the code costs when nothing else disturbs it.

use std::hint::black_box;
use std::time::Instant;

use rankd::resp::number::{LongDouble, parse_double, parse_i64, write_g17, write_score};
use rankd::resp::{Decoded, OwnedArgs, Protocol, Reply, ReplyCursor, RequestDecoder};

const ROUNDS: usize = 12;
const CALLS: usize = 20_000;

/// Prints the least time for one of the `items` that each call of `run` handles.
fn measure(name: &str, items: usize, mut run: impl FnMut()) {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    if filter.is_some_and(|filter| !name.contains(&filter)) {
        return;
    }
    let calls = (CALLS / items).max(20);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            run();
        }
        let elapsed_ns = start.elapsed().as_nanos() as f64;
        best = best.min(elapsed_ns / (calls * items) as f64);
    }
    println!("{name:<44} {best:>8.1} ns");
}

fn pipeline(args: &[&[u8]], count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        OwnedArgs::from_slices(args).encode(&mut bytes);
    }
    bytes
}

/// Decodes all requests of `input` and adds up what their arguments say.
fn decode_all(decoder: &mut RequestDecoder, input: &[u8]) -> usize {
    let mut offset = 0;
    let mut sum = 0;
    while let Ok(Decoded::Request { consumed }) = decoder.decode(&input[offset..]) {
        let args = decoder.args(&input[offset..]);
        sum += args.len() + args.arg(args.len() - 1).len();
        offset += consumed;
    }
    sum
}

fn decoding() {
    const REQUESTS: usize = 64;
    let requests: &[(&str, &[&[u8]])] = &[
        ("decode PING", &[b"PING"]),
        (
            "decode ZSCORE",
            &[b"ZSCORE", b"board:daily", b"player:0000012345"],
        ),
        (
            "decode ZADD",
            &[b"ZADD", b"board:daily", b"123456", b"player:0000012345"],
        ),
        (
            "decode ZRANGE REV WITHSCORES",
            &[b"ZRANGE", b"board:daily", b"0", b"9", b"REV", b"WITHSCORES"],
        ),
    ];
    let mut decoder = RequestDecoder::new();
    for (name, args) in requests {
        let input = pipeline(args, REQUESTS);
        measure(name, REQUESTS, || {
            black_box(decode_all(&mut decoder, black_box(&input)));
        });
    }
    let input = b"ZADD board:daily 123456 player:0000012345\r\n".repeat(REQUESTS);
    measure("decode ZADD inline", REQUESTS, || {
        black_box(decode_all(&mut decoder, black_box(&input)));
    });
    in_small_reads();
}

/// One request of 19 MB that arrives 16 KiB at a time.
fn in_small_reads() {
    const READ_LEN: usize = 16 * 1024;
    let member = b"player:0000012345";
    let mut args: Vec<&[u8]> = vec![b"ZADD", b"board:daily"];
    for _ in 0..500_000 {
        args.extend([&b"123456"[..], member]);
    }
    let input = pipeline(&args, 1);
    let name = format!(
        "decode a ZADD of {} MB in small reads",
        input.len() / 1_000_000
    );
    measure(&name, args.len(), || {
        let mut decoder = RequestDecoder::new();
        let mut end = 0;
        while end < input.len() {
            end = (end + READ_LEN).min(input.len());
            black_box(decoder.decode(&input[..end]).is_ok());
        }
    });
}

fn replies() {
    const ELEMENTS: usize = 100;
    let mut reply = Reply::new(Protocol::Resp2);
    let mut writing = |name: &str, write: &dyn Fn(&mut Reply)| {
        measure(name, ELEMENTS, || {
            reply.clear();
            for _ in 0..ELEMENTS {
                write(&mut reply);
            }
            black_box(reply.len());
        });
    };
    writing("reply ok", &|reply| reply.ok());
    writing("reply integer 7", &|reply| reply.integer(black_box(7)));
    writing("reply integer 123456", &|reply| {
        reply.integer(black_box(123_456))
    });
    writing("reply bulk of 17 bytes", &|reply| {
        reply.bulk(black_box(b"player:0000012345"))
    });
    writing("reply score 123456", &|reply| {
        reply.score(black_box(123_456.0))
    });
    writing("reply score 1234.5678", &|reply| {
        reply.score(black_box(1234.5678))
    });
    writing("reply null", &|reply| reply.null());
    reply.clear();
    reply.array(ELEMENTS);
    for _ in 0..ELEMENTS {
        reply.bulk(b"player:0000012345");
    }
    measure("read a bulk of a reply", ELEMENTS, || {
        black_box(ReplyCursor::new(black_box(reply.as_bytes())).count());
    });
}

fn numbers() {
    let mut out = Vec::with_capacity(64);
    measure("parse i64 123456", 1, || {
        black_box(parse_i64(black_box(b"123456")));
    });
    for text in [
        "123456",
        "1234.5678",
        "0.1234567890123456",
        "1e-7",
        "0x1.8p3",
    ] {
        measure(&format!("parse double {text}"), 1, || {
            black_box(parse_double(black_box(text.as_bytes())));
        });
    }
    for value in [123456.0, 1234.5678, 0.1234567890123456, 1e300] {
        measure(&format!("write score {value:e}"), 1, || {
            out.clear();
            write_score(black_box(value), &mut out);
            black_box(&out);
        });
        measure(&format!("write %.17g {value:e}"), 1, || {
            out.clear();
            write_g17(black_box(value), &mut out);
            black_box(&out);
        });
    }
    for (left, right) in [("10.5", "0.1"), ("3.0e300", "200")] {
        measure(&format!("increment {left} by {right}"), 1, || {
            let parse = |text: &str| LongDouble::parse(black_box(text.as_bytes()));
            if let (Some(left), Some(right)) = (parse(left), parse(right))
                && let Some(sum) = left.checked_add(right)
            {
                out.clear();
                sum.write(&mut out);
                black_box(&out);
            }
        });
    }
}

fn main() {
    decoding();
    replies();
    numbers();
}
