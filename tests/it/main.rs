//! All integration tests in one binary, so that the crate is linked once.
