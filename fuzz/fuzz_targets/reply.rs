//! Any bytes as a reply: the cursor ends, never gives more tokens than there are bytes,
//! and passes over a value exactly as far as counting its parts goes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankd::resp::ReplyCursor;

fuzz_target!(|bytes: &[u8]| {
    let mut cursor = ReplyCursor::new(bytes);
    let mut tokens = 0;
    let mut pending = 1usize;
    let mut value_end = None;
    while let Some(token) = cursor.next() {
        tokens += 1;
        assert!(tokens <= bytes.len());
        if pending > 0 {
            pending = (pending - 1).saturating_add(token.children());
            if pending == 0 {
                value_end = Some(cursor.rest().len());
            }
        }
    }
    assert_eq!(cursor.next(), None);

    let mut cursor = ReplyCursor::new(bytes);
    let skipped = cursor.skip_value().map(|()| cursor.rest().len());
    assert_eq!(skipped, value_end);
});
