//! Constants that bound inputs, each with its reason.

/// Longest decimal text that is tried as a number: 20 digits, sign, point and
/// exponent of any finite double fit well below it (Redis: MAX_LONG_DOUBLE_CHARS).
pub const NUMBER_TEXT_LEN_MAX: usize = 5 * 1024;
