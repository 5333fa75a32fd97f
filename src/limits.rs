//! Constants that bound inputs, each with its reason.

/// Longest decimal text that is tried as a number: 20 digits, sign, point and
/// exponent of any finite double fit well below it (Redis: MAX_LONG_DOUBLE_CHARS).
pub const NUMBER_TEXT_LEN_MAX: usize = 5 * 1024;

/// Bytes of one request in all: its arguments are kept as 32-bit positions.
pub const REQUEST_LEN_MAX: usize = u32::MAX as usize;

/// Bytes of an inline request or of a line that announces a length, without its
/// end (Redis: PROTO_INLINE_MAX_SIZE); beyond it the peer does not speak RESP.
pub const PROTOCOL_LINE_LEN_MAX: usize = 64 * 1024;

/// Bytes of one argument unless configured otherwise (Redis: proto-max-bulk-len).
pub const BULK_LEN_MAX: usize = 512 * 1024 * 1024;

/// Arguments of one request (Redis: INT_MAX). Nothing is reserved for announced ones.
pub const MULTIBULK_MAX: usize = i32::MAX as usize;

/// Arguments of one request before AUTH: enough for AUTH and HELLO, useless for a flood.
pub const UNAUTHENTICATED_MULTIBULK_MAX: usize = 10;

/// Bytes of one argument before AUTH, for the same reason.
pub const UNAUTHENTICATED_BULK_LEN_MAX: usize = 16 * 1024;

/// Argument positions whose memory a decoder keeps for the next request; one
/// huge request must not cost its connection memory for ever.
pub const SPANS_KEPT_MAX: usize = 1024;

/// Bytes of unescaped inline arguments whose memory a decoder keeps, likewise.
pub const INLINE_SCRATCH_KEPT_MAX: usize = 1024;

/// Addresses in one `bind` setting (Redis: CONFIG_BINDADDR_MAX).
pub const BIND_ADDRESSES_MAX: usize = 16;

/// How deep `include` lines may nest: deep enough for any layout of files, small
/// enough that a file which includes itself ends with an error and not the stack.
pub const INCLUDE_DEPTH_MAX: usize = 16;
