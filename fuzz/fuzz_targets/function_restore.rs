//! Any bytes as the payload of FUNCTION RESTORE, whole ones and such as carry a wrong checksum: libraries are read or the
//! payload is refused, and what was read gives a payload that reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankd::persist::rdb::dump;

fuzz_target!(|bytes: &[u8]| {
    let _ = dump::is_whole(bytes);
    let Some(sources) = dump::decode_functions(bytes) else {
        return;
    };
    let payload = dump::encode_functions(sources.iter().map(Vec::as_slice), true);
    assert!(dump::is_whole(&payload));
    assert_eq!(dump::decode_functions(&payload), Some(sources));
});
