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

/// Network threads when nobody says how many: every one that reads meets the others at the lock, and the gain
/// of a further one shrinks. Who has measured more may ask for more.
pub const IO_THREADS_AUTO_MAX: usize = 8;

/// Open files that are not clients: sockets that listen, the log, snapshots, what the threads wait on (Redis:
/// CONFIG_MIN_RESERVED_FDS).
pub const DESCRIPTORS_RESERVED: u64 = 32;

/// Least that all clients may have together, whatever `maxmemory-clients` says: with less nobody could
/// connect to set it right (Redis: the same).
pub const CLIENTS_MEMORY_BYTES_MIN: u64 = 128 * 1024;

/// How deep `include` lines may nest: deep enough for any layout of files, small
/// enough that a file which includes itself ends with an error and not the stack.
pub const INCLUDE_DEPTH_MAX: usize = 16;

/// Free bytes below which a connection's input buffer grows before a read.
pub const READ_LEN_MIN: usize = 4 * 1024;

/// Bytes by which it grows: what one read takes at the most in the common case (Redis: PROTO_IOBUF_LEN).
pub const READ_LEN: usize = 16 * 1024;

/// Input buffer capacity that a thread keeps for the next connection that reads.
pub const INPUT_KEPT_MAX: usize = 64 * 1024;

/// Output buffer capacity that a thread keeps likewise.
pub const OUTPUT_KEPT_MAX: usize = 64 * 1024;

/// Requests that one batch runs before others get their turn.
pub const BATCH_REQUESTS_MAX: usize = 1024;

/// Requests of a batch that are looked at together before they run, and after which a batch that could not look ahead
/// tries again; more would push each other out of the nearest cache.
pub const LOOK_AHEAD_REQUESTS_MAX: usize = 16;

/// Bytes of replies after which a batch ends likewise.
pub const BATCH_OUTPUT_MAX: usize = 1024 * 1024;

/// Prefixes that all clients together may track: each change is compared with all of them.
pub const TRACKING_PREFIXES_MAX: usize = 4096;

/// Changed keys that one message about a prefix gathers; more are sent before the batch is over, so that a long
/// script does not gather without end.
pub const TRACKING_BROADCAST_KEYS_MAX: usize = 64 * 1024;

/// Keys that a round over a full tracking table gives up, times the rounds in a row (Redis: the same).
pub const TRACKING_ROUND_KEYS: usize = 100;

/// Readers of one key, and every doubling of that, at which those that are gone are removed.
pub const TRACKING_READERS_SWEEP_MIN: usize = 16;

/// Stacks of scripts that a thread keeps for the next ones.
pub const SCRIPT_STACKS_KEPT_MAX: usize = 4;

/// Longest timer of a waiting client; a later deadline is looked at again then.
pub const WAIT_MS_MAX: i64 = 10 * 365 * 24 * 3600 * 1000;

/// Largest flat encoding of a hash, set or list, whatever its thresholds say: editing
/// one moves its bytes (Redis: LISTPACK_MAX_SAFETY_LIMIT).
pub const FLAT_BYTES_MAX: usize = 1 << 30;

/// Longest key that lies in a record of the keyspace; a longer one has a heap block of its
/// own, so that moving the records of a segment stays cheap.
pub const KEY_INLINE_LEN_MAX: usize = 128;

/// Entries of a keyspace segment. A full segment is split, which moves all of its records:
/// so many take about 0.1 ms, the longest that one new key waits for others.
pub const SEGMENT_ENTRIES_MAX: usize = 2048;

/// Words of eight bytes of records after which a segment is split for the same reason,
/// although long keys are few. Far below the 65,536 words that an offset can reach.
pub const SEGMENT_WORDS_MAX: usize = 16 * 1024;

/// The keyspace's directory is at most so many times as long as the list of its segments;
/// only colliding hashes could ask for more, and they get chains of segments instead.
pub const DIRECTORY_SPARSE_MAX: usize = 8;

/// Groups of slots (some twenty keys each) that a search for expired keys looks at, in any
/// case and for each key asked for. Bounds of deadlines may be out of date, so groups
/// without an expired key are met too; this keeps one call below about a millisecond.
pub const EXPIRED_GROUPS_MIN: usize = 256;
pub const EXPIRED_GROUPS_FOR_KEY: usize = 4;

/// Bytes of a reply with members that are picked again and again: a small request may ask for an
/// endless one, and what fits in one string is more than anyone reads.
pub const RANDOM_REPLY_LEN_MAX: usize = 512 * 1024 * 1024;
/// Memory of one script machine, its compiled scripts included: what no real script needs,
/// and what a server can lose to a runaway one without harm.
pub const SCRIPT_MEMORY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Instructions of a script between two looks at its budget: so few that a script which keeps
/// making coroutines is looked at too, so many that the looks cost nothing measurable.
pub const SCRIPT_HOOK_INSTRUCTIONS: i32 = 1000;

/// The same while instructions take so long that a pause point was late: they copy or compare a
/// hundred megabytes each.
pub const SCRIPT_HOOK_INSTRUCTIONS_LONG: i32 = 10;

/// Milliseconds after which a script comes to a pause point however few instructions it ran: one
/// instruction may copy or compare a hundred megabytes, and one command may take as long.
pub const SCRIPT_PAUSE_MS_MAX: u64 = 10;

/// Bytes of one allocation of a script from which on its time counts like that of instructions.
pub const SCRIPT_ALLOCATION_BYTES_LONG: usize = 64 * 1024;

/// Bytes of source that the compiler gets at a time: between two pieces it can be ended.
pub const SCRIPT_SOURCE_PIECE_BYTES: usize = 16 * 1024;

/// Bytes of one line that a script writes to the server's log.
pub const SCRIPT_LOG_BYTES_MAX: usize = 1024 * 1024;

/// Instructions between two pause points, about half a millisecond of work.
pub const SCRIPT_PAUSE_INSTRUCTIONS: i64 = 100_000;

/// Bytes that the result of one script may become on the wire (Redis has no limit; tables that
/// name one another many times would fill any memory).
pub const SCRIPT_REPLY_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Bytes of the arguments of one command that a script calls: it may name one long string many
/// times, and each is copied.
pub const SCRIPT_CALL_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Bytes of source of scripts known only from EVAL; beyond it the oldest are forgotten
/// (clients send them again, as after SCRIPT FLUSH). Those of SCRIPT LOAD stay.
pub const SCRIPT_EVAL_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of argument and reply buffers that a script machine keeps between calls.
pub const SCRIPT_BUFFER_KEPT_MAX: usize = 64 * 1024;

/// Garbage that a finished script may leave to the collector's own pace; beyond it and twice
/// what was alive, all is collected at once.
pub const SCRIPT_GARBAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How deep cjson, cmsgpack and the reply of a script nest, whatever a script sets: Lua's stack
/// ends a little later, and the thread's stack must bear it.
pub const SCRIPT_NESTING_MAX: i32 = 2000;

/// How deep the matcher of Lua patterns recurses: once for each quantifier and capture (Lua 5.1
/// has no limit, and runs off its stack).
pub const SCRIPT_PATTERN_DEPTH_MAX: usize = 1000;

/// Stack that a script needs at the most, in a build without optimization too: 200 nested calls
/// from C, or the deepest recursion of the encoders, the matcher and the reply writer. Only what
/// is used takes memory.
pub const SCRIPT_STACK_BYTES: usize = 4 * 1024 * 1024;

/// Bytes that one read of a snapshot takes: enough that system calls cost nothing, little beside a database.
pub const RDB_READ_LEN: usize = 1024 * 1024;

/// Longest string that a snapshot or a payload may hold: twice what Redis takes by default, and two of
/// them (a field and its value) still fit in one block.
pub const RDB_STRING_LEN_MAX: usize = 1 << 30;

/// Elements for which memory is asked in advance because a file announces them. More come one by one,
/// so that a short file cannot ask for much.
pub const RDB_RESERVE_MAX: usize = 1024 * 1024;

/// Shortest text that is compressed in a snapshot: below it nothing is won (Redis: 20).
pub const RDB_COMPRESSED_LEN_MIN: usize = 21;

/// Bytes of a snapshot that are gathered before they are written.
pub const SNAPSHOT_PIECE_LEN: usize = 256 * 1024;

/// Bytes of a snapshot after which they are forced to disk, so that the end has little left to
/// force (Redis: 4 MB).
pub const SNAPSHOT_SYNC_LEN: usize = 4 * 1024 * 1024;

/// Arguments of one command in a log file (Redis: 1024 * 1024 of a request, more of nothing it writes).
pub const LOG_ARGUMENTS_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a snapshot that a connection reads at once, and how often before other connections get their turn.
pub const SOURCE_CHUNK_LEN: usize = 64 * 1024;
pub const SOURCE_CHUNKS_MAX: usize = 16;

/// Elements in one command of a base that is made of commands (Redis: AOF_REWRITE_ITEMS_PER_CMD).
pub const LOG_BASE_ITEMS_MAX: usize = 64;

/// Bytes of effects that wait for the log's thread. A writer that would add more waits, as Redis does
/// when the disk is slower than its clients.
pub const LOG_QUEUE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Longest single argument whatever `proto-max-bulk-len` says, and so the longest member, field or
/// value of an element: a field and its value share one block whose length has 31 bits.
pub const ARGUMENT_LEN_MAX: usize = (1 << 30) - 16;

/// Keys, and members of a big board, in one piece of a snapshot: what a writer waits for, some tens of
/// microseconds for small values.
pub const SNAPSHOT_PIECE_KEYS: usize = 128;
pub const SNAPSHOT_PIECE_MEMBERS: usize = 512;

/// Members from which on a board is written in pieces; a smaller one is one piece.
pub const SNAPSHOT_BOARD_LEN_MIN: usize = 4096;

/// Transfers of keys to other servers (MIGRATE) that run side by side; more wait for their turn.
pub const TRANSFERS_MAX: usize = 8;

/// Longest step of a transfer, whatever its client asks for, and all of one that holds the engine.
pub const TRANSFER_TIMEOUT_MS_MAX: u64 = 60_000;

/// How often keys that changed on their way are sent beside commands before the engine is held for them.
pub const TRANSFER_ROUNDS_MAX: u32 = 4;

/// Bytes that one write of a transfer hands over (Redis: 64 KB): each has the client's timeout.
pub const TRANSFER_WRITE_LEN: usize = 64 * 1024;

/// Longest line that another server may answer a RESTORE with (Redis: 1024).
pub const TRANSFER_ANSWER_LEN_MAX: u64 = 1024;

/// Milliseconds within which refusals of the same kind are one entry of ACL LOG, and the entries from the top that are
/// looked at for one (both as in Redis).
pub const ACL_LOG_GROUP_MS: i64 = 60_000;
pub const ACL_LOG_GROUP_SCAN_MAX: usize = 10;

/// Bits of the password that ACL GENPASS makes (Redis: GENPASS_MAX_BITS).
pub const ACL_PASSWORD_BITS_MAX: i64 = 4096;
