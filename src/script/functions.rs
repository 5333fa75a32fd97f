//! Libraries of functions.

/// A function that a library registered.
pub struct RegisteredFunction {
    pub name: Vec<u8>,
}
