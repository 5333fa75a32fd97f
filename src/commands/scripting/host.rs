//! The engine as a running script sees it.

use crate::engine::ctx::ControlCtx;
use crate::engine::session::Session;
use crate::engine::table::ResolveError;
use crate::engine::{RunningScript, ScriptKind};
use crate::resp::args::Args;
use crate::resp::reply::Reply;
use crate::script::{LogLevel, Replication, ScriptFlags, ScriptHost, Verdict};

/// Longest run of a library's source (Redis: 500 ms).
const FUNCTION_LOAD_NS_MAX: u64 = 500_000_000;

/// One run of one script.
pub struct Host<'h, 'c> {
    ctx: &'h mut ControlCtx<'c>,
    /// The script's own: a SELECT in it ends with it. Made for its first command.
    session: Option<Session>,
    flags: ScriptFlags,
    read_only: bool,
    started_ns: u64,
    loading: bool,
    task: Task<'h>,
}

/// What runs, as others may be told.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub kind: ScriptKind,
    /// The function's name; empty for a script.
    pub name: &'a [u8],
    /// The command that runs it.
    pub call: Args<'a>,
}

impl<'h, 'c> Host<'h, 'c> {
    pub fn new(
        ctx: &'h mut ControlCtx<'c>,
        task: Task<'h>,
        flags: ScriptFlags,
        read_only: bool,
    ) -> Self {
        let started_ns = ctx.now.monotonic_ns;
        Self {
            ctx,
            session: None,
            flags,
            read_only: read_only || flags.contains(ScriptFlags::NO_WRITES),
            started_ns,
            loading: false,
            task,
        }
    }

    /// For the source of a library, which calls no commands and has to be done soon.
    pub fn for_loading(ctx: &'h mut ControlCtx<'c>) -> Self {
        let task = Task {
            kind: ScriptKind::Function,
            name: b"",
            call: Args::new(b"", &[]),
        };
        let mut host = Self::new(ctx, task, ScriptFlags::NO_WRITES, true);
        host.loading = true;
        host
    }

    /// Leaves the engine as scripts find it.
    pub fn finish(self) {
        self.ctx.engine.effects.set_muted(false);
    }
}

impl ScriptHost for Host<'_, '_> {
    fn call(&mut self, args: Args<'_>, out: &mut Reply) {
        let session = self.session.get_or_insert_with(|| {
            let mut session = self.ctx.session.for_script();
            session.script_read_only = self.read_only;
            session.script_allows_oom = self.flags.contains(ScriptFlags::ALLOW_OOM);
            session
        });
        session.protocol = out.protocol();
        self.ctx.run(session, args, out);
    }

    fn log(&mut self, level: LogLevel, message: &[u8]) {
        let text = String::from_utf8_lossy(message);
        self.ctx.engine.outside.log_from_script(level as u8, &text);
    }

    fn acl_check(&mut self, args: Args<'_>) -> Option<bool> {
        let table = self.ctx.engine.table;
        let command = match table.resolve(args) {
            Ok(command) => command,
            // How many words there are is no question of permission.
            Err(ResolveError::Arity(id)) => table.get(id),
            Err(ResolveError::Unknown | ResolveError::UnknownSubcommand(_)) => return None,
        };
        Some(self.ctx.session.user.check(command, args).is_ok())
    }

    fn set_replication(&mut self, replication: Replication) {
        self.ctx.engine.effects.set_muted(!replication.to_log);
    }

    fn pause_point(&mut self) -> Verdict {
        let now = self.ctx.engine.time.now();
        if self.loading {
            let spent_ns = now.monotonic_ns.saturating_sub(self.started_ns);
            return if spent_ns > FUNCTION_LOAD_NS_MAX {
                Verdict::Kill
            } else {
                Verdict::Continue
            };
        }
        let figures = &self.ctx.engine.script_figures;
        let script = RunningScript {
            kind: self.task.kind,
            name: self.task.name,
            call: self.task.call,
            libraries: figures.libraries,
            functions: figures.functions,
            running_ms: now.monotonic_ns.saturating_sub(self.started_ns) / 1_000_000,
            busy_after_ms: self.ctx.engine.settings.busy_reply_threshold,
            has_written: self
                .session
                .as_ref()
                .is_some_and(|session| session.script_has_written),
        };
        if self.ctx.engine.outside.pause_script(script) {
            Verdict::Kill
        } else {
            Verdict::Continue
        }
    }
}
