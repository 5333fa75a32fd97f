//! Any bytes in any reads: the decoder gives the same requests and the same end, holds
//! no more memory than the bytes explain, and what it gives survives encoding.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankd::resp::{Decoded, DecoderLimits, OwnedArgs, ProtocolError, RequestDecoder};

/// Requests, then the bytes left or the error.
type Outcome = (Vec<OwnedArgs>, Result<usize, ProtocolError>);

/// Decodes `input` as if it came in reads of `read_len` bytes.
fn decode(limits: DecoderLimits, input: &[u8], read_len: usize) -> Outcome {
    let mut decoder = RequestDecoder::with_limits(limits);
    let mut requests = Vec::new();
    let mut start = 0;
    let mut end = 0;
    loop {
        match decoder.decode(&input[start..end]) {
            Ok(Decoded::Request { consumed }) => {
                assert!(consumed > 0 && consumed <= end - start);
                requests.push(OwnedArgs::from_args(decoder.args(&input[start..end])));
                start += consumed;
            }
            Ok(Decoded::Incomplete) if end < input.len() => {
                end = (end + read_len).min(input.len());
            }
            Ok(Decoded::Incomplete) => {
                assert!(decoder.memory_bytes() <= 16 * (input.len() + 8));
                return (requests, Ok(end - start));
            }
            Err(error) => return (requests, Err(error)),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&[read_len, flags], input)) = data.split_first_chunk() else {
        return;
    };
    let limits = DecoderLimits {
        authenticated: flags & 1 == 0,
        inline_len_max: if flags & 2 == 0 { 30 } else { 64 * 1024 },
        bulk_len_max: if flags & 4 == 0 {
            100
        } else {
            512 * 1024 * 1024
        },
        ..DecoderLimits::default()
    };
    let whole = decode(limits, input, input.len().max(1));
    assert_eq!(decode(limits, input, usize::from(read_len).max(1)), whole);
    assert_eq!(decode(limits, input, 1), whole);

    let mut encoded = Vec::new();
    for request in whole.0.iter().filter(|request| !request.is_empty()) {
        encoded.clear();
        request.encode(&mut encoded);
        let again = decode(DecoderLimits::default(), &encoded, encoded.len());
        assert_eq!(again, (vec![request.clone()], Ok(0)));
    }
});
