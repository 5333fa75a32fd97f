//! Libraries of functions: FUNCTION LOAD and its kin, FCALL.
//!
//! All libraries live in one machine of their own, made when the first is loaded. A
//! library's body sees only a small table `redis` with which it registers functions;
//! the functions see the whole world. Both have one environment, an empty table whose
//! metatable reads from the one or the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::convert::until_nul;
use super::host::ScriptHost;
use super::machine::{Ended, Machine, Work};
use super::random::Random;
use super::registration::RegisteredFunction;
use super::sandbox::Kind;
use super::shebang::{ScriptFlags, parse_library_line};
use crate::limits::SCRIPT_MEMORY_BYTES_MAX;
use crate::resp::{Args, Reply};

/// One function that clients can call.
pub struct Function {
    pub name: Box<[u8]>,
    pub description: Option<Box<[u8]>>,
    pub flags: ScriptFlags,
    /// Its place in Lua's registry.
    callback: i32,
}

/// One library: its source, and what the source registered.
pub struct FunctionLibrary {
    pub name: Box<[u8]>,
    pub source: Arc<[u8]>,
    /// In the order of their registration.
    pub functions: Vec<Function>,
}

/// What becomes of the present libraries when others are restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestorePolicy {
    /// They are removed.
    Flush,
    /// A library of the same name is an error.
    Append,
    /// One of the same name gives way.
    Replace,
}

/// The whole text of an error reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionError(pub Vec<u8>);

impl FunctionError {
    pub(super) fn new(before: &str, name: &[u8], after: &str) -> Self {
        Self([before.as_bytes(), name, after.as_bytes()].concat())
    }
}

/// Names a function until the next change of the libraries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionId {
    /// The name of its library.
    owner: Box<[u8]>,
    index: usize,
}

/// Invariants: `by_name` has the name of every function of every library in lower case,
/// and no other; `function_count` is the number of functions of all libraries.
pub struct Functions {
    machine: Option<Box<Machine>>,
    memory_bytes_max: usize,
    random: Arc<Random>,
    libraries: BTreeMap<Box<[u8]>, FunctionLibrary>,
    by_name: BTreeMap<Vec<u8>, FunctionId>,
    function_count: usize,
}

impl Default for Functions {
    fn default() -> Self {
        Self::new(SCRIPT_MEMORY_BYTES_MAX)
    }
}

impl Functions {
    pub fn new(memory_bytes_max: usize) -> Self {
        Self::with_random(memory_bytes_max, Arc::default())
    }

    /// Functions that share a generator of random numbers with other machines.
    pub fn with_random(memory_bytes_max: usize, random: Arc<Random>) -> Self {
        Self {
            machine: None,
            memory_bytes_max,
            random,
            libraries: BTreeMap::new(),
            by_name: BTreeMap::new(),
            function_count: 0,
        }
    }

    /// The libraries in the order of their names.
    pub fn libraries(&self) -> impl ExactSizeIterator<Item = &FunctionLibrary> {
        self.libraries.values()
    }

    pub fn function_count(&self) -> usize {
        self.function_count
    }

    /// Bytes of Lua's memory.
    pub fn memory_bytes(&self) -> usize {
        self.machine
            .as_ref()
            .map_or(0, |machine| machine.memory_bytes())
    }

    /// Runs a library's source and keeps what it registers, and gives its name. The host
    /// is asked at pause points whether the time of loading is over. On an error nothing
    /// has changed.
    pub fn load(
        &mut self,
        source: &[u8],
        replace: bool,
        host: &mut dyn ScriptHost,
    ) -> Result<&FunctionLibrary, FunctionError> {
        let name = library_name(source)?;
        if !replace && self.libraries.contains_key(&*name) {
            return Err(FunctionError::new(
                "ERR Library '",
                &name,
                "' already exists",
            ));
        }
        let library = self.stage(source, host)?;
        let taken = self.taken_function(&library, |owner| *owner != *library.name);
        if let Some(function) = taken {
            self.drop_library(library);
            return Err(FunctionError::new(
                "ERR Function ",
                &function,
                " already exists",
            ));
        }
        self.remove(&name);
        self.insert(library);
        Ok(&self.libraries[&name])
    }

    /// Loads several sources, all or none.
    pub fn restore<'s>(
        &mut self,
        sources: impl IntoIterator<Item = &'s [u8]>,
        policy: RestorePolicy,
        host: &mut dyn ScriptHost,
    ) -> Result<(), FunctionError> {
        // They are loaded beside the present ones and meet them afterwards.
        let mut staged = Functions::with_random(self.memory_bytes_max, self.random.clone());
        let mut texts = Vec::new();
        for source in sources {
            staged.load(source, false, host)?;
            texts.push(source);
        }
        let survives = |name: &[u8]| match policy {
            RestorePolicy::Flush => false,
            RestorePolicy::Append => true,
            RestorePolicy::Replace => !staged.libraries.contains_key(name),
        };
        for library in staged.libraries.values() {
            if policy == RestorePolicy::Append && self.libraries.contains_key(&library.name) {
                let name = &library.name;
                return Err(FunctionError::new("ERR Library ", name, " already exists"));
            }
            if let Some(function) = self.taken_function(library, survives) {
                return Err(FunctionError::new(
                    "ERR Function ",
                    &function,
                    " already exists",
                ));
            }
        }
        if policy == RestorePolicy::Flush || self.libraries.is_empty() {
            *self = staged;
            return Ok(());
        }
        // What could be loaded there can be loaded here, unless memory ends. Those that
        // give way go first, for a function may move from one library to another.
        let names: Vec<Box<[u8]>> = staged.libraries.into_keys().collect();
        for name in &names {
            self.remove(name);
        }
        for source in texts {
            self.load(source, false, host)?;
        }
        Ok(())
    }

    /// Removes a library; false if there is none of this name.
    pub fn delete(&mut self, name: &[u8]) -> bool {
        self.remove(name)
    }

    /// Removes all libraries and their machine.
    pub fn flush(&mut self) {
        *self = Self::with_random(self.memory_bytes_max, self.random.clone());
    }

    /// Finds a function by its name in letters of either case.
    pub fn find(&self, name: &[u8]) -> Option<(FunctionId, &Function)> {
        let id = self.by_name.get(&name.to_ascii_lowercase())?;
        let library = self.libraries.get(&id.owner)?;
        Some((id.clone(), library.functions.get(id.index)?))
    }

    /// Calls a function, and appends its reply to `out`, in `out`'s protocol. `None` if
    /// the function was removed since it was found.
    ///
    /// # Panics
    /// If the host panics, after the machine was put in order.
    pub fn run(
        &mut self,
        id: &FunctionId,
        keys: Args<'_>,
        argv: Args<'_>,
        host: &mut dyn ScriptHost,
        out: &mut Reply,
    ) -> Option<Ended> {
        let function = self.libraries.get(&id.owner)?.functions.get(id.index)?;
        let work = Work::Function {
            function: function.callback,
            keys,
            argv,
        };
        let machine = self.machine.as_mut()?;
        Some(machine.run(work, &function.name, host, out))
    }

    /// Runs a source without adding its functions to the others.
    fn stage(
        &mut self,
        source: &[u8],
        host: &mut dyn ScriptHost,
    ) -> Result<FunctionLibrary, FunctionError> {
        let line = parse_library_line(source)?;
        let memory_bytes_max = self.memory_bytes_max;
        let random = &self.random;
        let machine = self.machine.get_or_insert_with(|| {
            Box::new(Machine::new(
                Kind::Functions,
                memory_bytes_max,
                random.clone(),
            ))
        });
        let body = &source[line.body_start..];
        let main = machine
            .compile(body, c"@user_function")
            .map_err(|message| {
                FunctionError::new("ERR Error compiling function: ", &message, "")
            })?;
        let loaded = machine.load(main.function, host);
        machine.forget(main.function);
        let functions: Vec<Function> = machine
            .runtime()
            .registered
            .take()
            .into_iter()
            .map(Function::from)
            .collect();
        let library = FunctionLibrary {
            name: line.name.into(),
            source: source.into(),
            functions,
        };
        let error = match loaded {
            Err(error) => {
                let text = until_nul(&error.message);
                FunctionError::new("ERR Error registering functions: ", text, "")
            }
            Ok(()) if library.functions.is_empty() => {
                FunctionError::new("ERR No functions registered", b"", "")
            }
            Ok(()) => return Ok(library),
        };
        self.drop_library(library);
        Err(error)
    }

    /// The first of a library's functions whose name a library has that counts.
    fn taken_function(
        &self,
        library: &FunctionLibrary,
        counts: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let is_taken = |function: &&Function| {
            self.by_name
                .get(&function.name.to_ascii_lowercase())
                .is_some_and(|id| counts(&id.owner))
        };
        let function = library.functions.iter().find(is_taken)?;
        Some(function.name.to_vec())
    }

    fn insert(&mut self, library: FunctionLibrary) {
        for (index, function) in library.functions.iter().enumerate() {
            let id = FunctionId {
                owner: library.name.clone(),
                index,
            };
            // Names that differ in case only are two functions, of which the first is called.
            self.by_name
                .entry(function.name.to_ascii_lowercase())
                .or_insert(id);
        }
        self.function_count += library.functions.len();
        self.libraries.insert(library.name.clone(), library);
    }

    fn remove(&mut self, name: &[u8]) -> bool {
        let Some(library) = self.libraries.remove(name) else {
            return false;
        };
        self.function_count -= library.functions.len();
        for function in &library.functions {
            self.by_name.remove(&function.name.to_ascii_lowercase());
        }
        self.drop_library(library);
        true
    }

    /// Frees what the machine keeps of a library.
    fn drop_library(&mut self, library: FunctionLibrary) {
        if let Some(machine) = &mut self.machine {
            for function in &library.functions {
                machine.forget(function.callback);
            }
        }
    }
}

impl From<RegisteredFunction> for Function {
    fn from(registered: RegisteredFunction) -> Self {
        Self {
            name: registered.name.into(),
            description: registered.description.map(Into::into),
            flags: registered.flags,
            callback: registered.callback,
        }
    }
}

/// The name that a source gives its library.
pub fn library_name(source: &[u8]) -> Result<Box<[u8]>, FunctionError> {
    Ok(parse_library_line(source)?.name.into())
}
