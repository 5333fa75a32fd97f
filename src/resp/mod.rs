//! Bytes to requests and replies. No I/O, no store.
