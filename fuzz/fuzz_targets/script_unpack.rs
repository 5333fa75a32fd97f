//! Any bytes for cmsgpack.unpack, cjson.decode and struct.unpack, and what was read goes out again: no panic, no memory
//! error, and an answer each time.

#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use rankd::resp::{Args, OwnedArgs, Protocol, Reply};
use rankd::script::{Interpreter, LogLevel, Origin, Replication, ScriptHost, Verdict};

/// Lua memory of the machine under test.
const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Pause points after which a run is ended: a small input may ask for long work.
const PAUSES_MAX: usize = 100;

const READERS: [&[u8]; 3] = [
    b"local v = {cmsgpack.unpack(ARGV[1])} pcall(cmsgpack.unpack_limit, ARGV[1], 2, 1) return cmsgpack.pack(v)",
    b"return cjson.encode(cjson.decode(ARGV[1]))",
    // The format ends at the first blank of two.
    b"local at = string.find(ARGV[1], '  ', 1, true) or #ARGV[1] \
      local format = string.sub(ARGV[1], 1, at) pcall(struct.size, format) \
      return struct.pack(format, struct.unpack(format, string.sub(ARGV[1], at + 2)))",
];

#[derive(Default)]
struct Host {
    pauses: usize,
}

impl ScriptHost for Host {
    fn call(&mut self, _: Args<'_>, out: &mut Reply) {
        out.error("ERR no commands");
    }

    fn log(&mut self, _: LogLevel, _: &[u8]) {}

    fn acl_check(&mut self, _: Args<'_>) -> Option<bool> {
        None
    }

    fn set_replication(&mut self, _: Replication) {}

    fn pause_point(&mut self) -> Verdict {
        self.pauses += 1;
        if self.pauses > PAUSES_MAX {
            Verdict::Kill
        } else {
            Verdict::Continue
        }
    }
}

thread_local! {
    static MACHINE: RefCell<Interpreter> = RefCell::new(Interpreter::new(MEMORY_BYTES_MAX));
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else {
        return;
    };
    let source = READERS[usize::from(*which) % READERS.len()];
    MACHINE.with_borrow_mut(|machine| {
        let id = machine.load(source, Origin::Load).expect("it compiles");
        let mut out = Reply::new(Protocol::Resp3);
        let (keys, argv) = (OwnedArgs::new(), OwnedArgs::from_slices(&[bytes]));
        machine.run(id, keys.as_args(), argv.as_args(), &mut Host::default(), &mut out);
        assert!(out.as_bytes().ends_with(b"\r\n"));
        assert!(machine.memory_bytes().0 <= MEMORY_BYTES_MAX);
    });
});
