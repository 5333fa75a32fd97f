//! The scripts of EVAL: load, find and run them.

use std::ffi::CStr;
use std::sync::Arc;

use super::cache::{Cache, Script, ScriptId};
use super::host::ScriptHost;
use super::machine::{Ended, Machine, Work};
use super::random::Random;
use super::sandbox::Kind;
use super::shebang::parse_shebang;
use crate::limits::SCRIPT_MEMORY_BYTES_MAX;
use crate::resp::{Args, Reply};

/// What errors call the place where a script is.
const CHUNK_NAME: &CStr = c"@user_script";

/// The digest that names a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptSha(pub [u8; 20]);

impl ScriptSha {
    pub fn of(source: &[u8]) -> Self {
        Self(sha1_smol::Sha1::from(source).digest().bytes())
    }

    /// In lower case.
    pub fn hex(&self) -> [u8; 40] {
        let mut text = [0; 40];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        text
    }
}

/// How a script came to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// EVAL: may be forgotten when there are too many.
    Eval,
    /// SCRIPT LOAD: stays until SCRIPT FLUSH.
    Load,
}

/// Why a source is no script; the whole text of the reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError(pub Vec<u8>);

/// The machine of EVAL with the scripts it knows.
pub struct Interpreter {
    machine: Machine,
    cache: Cache,
    memory_bytes_max: usize,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new(SCRIPT_MEMORY_BYTES_MAX)
    }
}

impl Interpreter {
    /// A machine whose Lua memory is bounded. About 0.2 ms.
    pub fn new(memory_bytes_max: usize) -> Self {
        Self::with_random(memory_bytes_max, Arc::default())
    }

    fn with_random(memory_bytes_max: usize, random: Arc<Random>) -> Self {
        Self {
            machine: Machine::new(Kind::Eval, memory_bytes_max, random),
            cache: Cache::default(),
            memory_bytes_max,
        }
    }

    /// The generator of random numbers, which other machines may share.
    pub fn random(&self) -> Arc<Random> {
        self.machine.runtime().random.clone()
    }

    /// The script of an EVAL, if its source is known: cheaper than its digest.
    pub fn find_source(&self, source: &[u8]) -> Option<ScriptId> {
        self.cache.find_source(source)
    }

    /// The script that 40 hexadecimal digits of either case name.
    pub fn find(&self, digits: &[u8]) -> Option<ScriptId> {
        self.cache.find(digits)
    }

    /// A script by its id, which is valid until the next `load` or `flush`.
    pub fn script(&self, id: ScriptId) -> &Script {
        self.cache.script(id)
    }

    pub fn script_count(&self) -> usize {
        self.cache.len()
    }

    /// Bytes of Lua's memory, and of the sources kept beside it.
    pub fn memory_bytes(&self) -> (usize, usize) {
        (self.machine.memory_bytes(), self.cache.source_bytes())
    }

    /// Compiles a source, or finds it among the known ones.
    pub fn load(&mut self, source: &[u8], origin: Origin) -> Result<ScriptId, LoadError> {
        if let Some(id) = self.cache.find_source(source) {
            if origin == Origin::Load {
                self.cache.pin(id);
            }
            return Ok(id);
        }
        let shebang = parse_shebang(source)?;
        let body = &source[shebang.body_start..];
        let compiled = self.machine.compile(body, CHUNK_NAME).map_err(|message| {
            let mut text = b"ERR Error compiling script (new function): ".to_vec();
            text.extend_from_slice(&message);
            LoadError(text)
        })?;
        let sha = ScriptSha::of(source);
        let script = Script::new(sha, shebang.flags, source, compiled, origin);
        let id = self.cache.insert(script);
        for reference in self.cache.forget_oldest() {
            self.machine.forget(reference);
        }
        Ok(id)
    }

    /// Runs a script to its end, and appends its reply to `out`, in `out`'s protocol.
    ///
    /// # Panics
    /// If the host panics, after the machine was put in order.
    pub fn run(
        &mut self,
        id: ScriptId,
        keys: Args<'_>,
        argv: Args<'_>,
        host: &mut dyn ScriptHost,
        out: &mut Reply,
    ) -> Ended {
        let script = self.cache.script(id);
        let function = script.compiled.function;
        let work = if script.compiled.uses_arguments {
            Work::Script {
                function,
                keys,
                argv,
            }
        } else {
            Work::BareScript { function }
        };
        self.machine.run(work, &script.name, host, out)
    }

    /// Forgets all scripts.
    pub fn flush(&mut self) {
        *self = Self::with_random(self.memory_bytes_max, self.random());
    }
}
