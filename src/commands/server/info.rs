//! INFO: the server in figures, in the sections and fields of Redis.

use crate::engine::client::{Client, client_flags};
use crate::engine::ctx::ReadCtx;
use crate::engine::followers::FollowState;
use crate::engine::latency::percentile_us;
use crate::engine::pubsub::ChannelSpace;
use crate::engine::spec::{Categories, CommandSpec, Flags, Group, Handled, Run};
use crate::engine::time::Moment;
use crate::engine::{Engine, Loading, Memory};
use crate::resp::args::Args;
use crate::settings::{MaxmemoryPolicy, RANKD_VERSION, REDIS_VERSION};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub const COMMANDS: &[CommandSpec] = &[CommandSpec {
    name: "info",
    group: Group::Server,
    summary: "Describes the server.",
    since: "1.0.0",
    complexity: "O(1)",
    arity: -1,
    flags: Flags::LOADING.union(Flags::STALE),
    categories: Categories::DANGEROUS,
    keys: &[],
    tips: &[
        "nondeterministic_output",
        "request_policy:all_shards",
        "response_policy:special",
    ],
    syntax: "[section...]",
    run: Run::Read(info),
}];

/// Keys that the average time to live is taken of.
const TTL_SAMPLE_KEYS: usize = 256;

/// What a section is written from.
struct Source<'a> {
    engine: &'a Engine,
    now: Moment,
    memory: Memory,
}

type Section = (&'static str, fn(&mut String, &Source<'_>));

/// The sections in order. The first ten and the last are shown by default.
const SECTIONS: &[Section] = &[
    ("server", server),
    ("clients", clients),
    ("memory", memory),
    ("persistence", persistence),
    ("stats", statistics),
    ("replication", replication),
    ("cpu", cpu),
    ("modules", |_, _| {}),
    ("commandstats", command_statistics),
    ("errorstats", error_statistics),
    ("latencystats", latency_statistics),
    ("cluster", |out, _| line(out, "cluster_enabled", 0)),
    ("keyspace", keyspace),
];

/// Sections that only show when they are asked for, by name or by `all`.
const NOT_DEFAULT: &[&str] = &["commandstats", "latencystats"];

fn info(ctx: &mut ReadCtx<'_>, args: Args<'_>) -> Handled {
    let wanted: Vec<String> = args
        .from(1)
        .iter()
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect();
    let asks_for = |name: &str| wanted.iter().any(|word| word == name);
    let all = asks_for("all") || asks_for("everything");
    let default = wanted.is_empty() || asks_for("default");
    let source = Source {
        engine: ctx.engine(),
        now: ctx.now,
        memory: ctx.engine().outside.memory(),
    };
    let mut text = String::new();
    for (name, write) in SECTIONS {
        // `all` leaves modules to `everything`, as Redis does.
        let by_all = all && (*name != "modules" || asks_for("everything"));
        if by_all || default && !NOT_DEFAULT.contains(name) || asks_for(name) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            let mut title = name.to_string();
            title[..1].make_ascii_uppercase();
            let title = if *name == "cpu" {
                "CPU".to_string()
            } else {
                title
            };
            text.push_str(&format!("# {title}\r\n"));
            write(&mut text, &source);
        }
    }
    ctx.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{name}:{value}\r\n");
}

/// 1536 as `1.50K`.
fn human(bytes: u64) -> String {
    let (mut scaled, mut unit) = (bytes as f64, 0);
    const UNITS: [&str; 6] = ["B", "K", "M", "G", "T", "P"];
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes}B")
    } else {
        format!("{scaled:.2}{}", UNITS[unit])
    }
}

fn bytes(out: &mut String, name: &str, bytes: u64) {
    line(out, name, bytes);
    line(out, &format!("{name}_human"), human(bytes));
}

fn server(out: &mut String, source: &Source<'_>) {
    let (engine, now) = (source.engine, source.now);
    let identity = &engine.identity;
    let uptime_s = (now.unix_us - engine.stats.started_unix_us.load(Relaxed)).max(0) / 1_000_000;
    line(out, "redis_version", REDIS_VERSION);
    line(out, "rankd_version", RANKD_VERSION);
    line(out, "redis_git_sha1", "00000000");
    line(out, "redis_git_dirty", 0);
    line(
        out,
        "redis_build_id",
        &identity.run_id[..16.min(identity.run_id.len())],
    );
    line(out, "redis_mode", "standalone");
    line(
        out,
        "os",
        format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    );
    line(out, "arch_bits", usize::BITS);
    line(out, "monotonic_clock", "POSIX clock_gettime");
    line(out, "multiplexing_api", "epoll");
    line(out, "atomicvar_api", "c11-builtin");
    // No GCC built it, which Redis tells in this way.
    line(out, "gcc_version", "0.0.0");
    line(out, "process_id", identity.process_id);
    line(out, "process_supervised", identity.supervised);
    line(out, "run_id", &identity.run_id);
    line(out, "tcp_port", identity.tcp_port);
    line(out, "server_time_usec", now.unix_us);
    line(out, "uptime_in_seconds", uptime_s);
    line(out, "uptime_in_days", uptime_s / 86_400);
    line(out, "hz", engine.settings.hz);
    line(out, "configured_hz", engine.settings.hz);
    line(out, "lru_clock", (now.unix_us / 1_000_000) & 0xff_ffff);
    line(out, "executable", &identity.executable);
    line(out, "config_file", &identity.config_file);
    line(
        out,
        "io_threads_active",
        u32::from(engine.settings.io_threads > 1),
    );
    listeners(out, engine);
}

/// Where connections are taken.
fn listeners(out: &mut String, engine: &Engine) {
    let (settings, port) = (&engine.settings, engine.identity.tcp_port);
    let mut listeners = Vec::new();
    if port != 0 {
        let addresses: String = settings
            .bind
            .iter()
            .map(|address| format!("bind={address},"))
            .collect();
        listeners.push(format!("name=tcp,{addresses}port={port}"));
    }
    if let Some(path) = &settings.unixsocket {
        listeners.push(format!("name=unix,bind={}", path.display()));
    }
    for (number, listener) in listeners.iter().enumerate() {
        line(out, &format!("listener{number}"), listener);
    }
}

fn clients(out: &mut String, source: &Source<'_>) {
    let engine = source.engine;
    let all = engine.clients.all();
    let usages: Vec<_> = all.iter().map(|client| client.mailbox.usage()).collect();
    line(out, "connected_clients", all.len());
    line(out, "cluster_connections", 0);
    line(out, "maxclients", engine.settings.maxclients);
    line(
        out,
        "client_recent_max_input_buffer",
        usages
            .iter()
            .map(|usage| usage.query_bytes)
            .max()
            .unwrap_or(0),
    );
    line(
        out,
        "client_recent_max_output_buffer",
        usages
            .iter()
            .map(|usage| usage.output_bytes)
            .max()
            .unwrap_or(0),
    );
    let blocked = |client: &&Arc<Client>| client.has_flag(client_flags::BLOCKED);
    line(out, "blocked_clients", all.iter().filter(blocked).count());
    line(out, "tracking_clients", engine.tracking.client_count());
    line(
        out,
        "pubsub_clients",
        all.iter().filter(|client| client.is_subscriber()).count(),
    );
    line(
        out,
        "watching_clients",
        all.iter()
            .filter(|client| client.watched.load(Relaxed) > 0)
            .count(),
    );
    line(
        out,
        "clients_in_timeout_table",
        engine.blocking.with_deadline(),
    );
    line(out, "total_watched_keys", engine.watched_key_count());
    line(out, "total_blocking_keys", engine.blocking.key_count());
    line(
        out,
        "total_blocking_keys_on_nokey",
        engine.blocking.key_count_waking_on_loss(),
    );
}

fn memory(out: &mut String, source: &Source<'_>) {
    let (engine, memory) = (source.engine, source.memory);
    let used = memory.allocated_bytes;
    let peak = engine.stats.peak_memory_bytes.load(Relaxed).max(used);
    let clients = super::clients_memory_bytes(engine);
    let tables: u64 = engine
        .store
        .iter()
        .filter(|db| !db.is_empty())
        .map(|db| db.memory())
        .map(|memory| (memory.table_bytes + memory.deadline_bytes) as u64)
        .sum();
    let overhead = memory.startup_bytes + clients + tables;
    let dataset = used.saturating_sub(overhead);
    let net = used.saturating_sub(memory.startup_bytes).max(1);
    let ratio = |part: u64, whole: u64| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    let less = |part: u64, whole: u64| part as i64 - whole as i64;
    bytes(out, "used_memory", used);
    bytes(out, "used_memory_rss", memory.process_bytes);
    bytes(out, "used_memory_peak", peak);
    line(
        out,
        "used_memory_peak_perc",
        format_args!("{:.2}%", ratio(used, peak) * 100.0),
    );
    line(out, "used_memory_overhead", overhead);
    line(out, "used_memory_startup", memory.startup_bytes);
    line(out, "used_memory_dataset", dataset);
    line(
        out,
        "used_memory_dataset_perc",
        format_args!("{:.2}%", ratio(dataset, net) * 100.0),
    );
    line(out, "allocator_allocated", memory.allocated_bytes);
    line(out, "allocator_active", memory.active_bytes);
    line(out, "allocator_resident", memory.resident_bytes);
    bytes(out, "total_system_memory", memory.system_bytes);
    let scripts = engine.script_figures;
    let lua = (scripts.script_lua_bytes + scripts.function_lua_bytes) as u64;
    bytes(out, "used_memory_lua", scripts.script_lua_bytes as u64);
    line(out, "used_memory_vm_eval", scripts.script_lua_bytes);
    line(out, "used_memory_scripts_eval", scripts.source_bytes);
    line(out, "number_of_cached_scripts", scripts.scripts);
    line(out, "number_of_functions", scripts.functions);
    line(out, "number_of_libraries", scripts.libraries);
    line(out, "used_memory_vm_functions", scripts.function_lua_bytes);
    bytes(out, "used_memory_vm_total", lua);
    bytes(out, "used_memory_scripts", scripts.source_bytes as u64);
    bytes(out, "maxmemory", engine.settings.maxmemory);
    line(
        out,
        "maxmemory_policy",
        MaxmemoryPolicy::name(engine.settings.maxmemory_policy),
    );
    line(
        out,
        "allocator_frag_ratio",
        format_args!("{:.2}", ratio(memory.active_bytes, memory.allocated_bytes)),
    );
    line(
        out,
        "allocator_frag_bytes",
        less(memory.active_bytes, memory.allocated_bytes),
    );
    line(
        out,
        "allocator_rss_ratio",
        format_args!("{:.2}", ratio(memory.resident_bytes, memory.active_bytes)),
    );
    line(
        out,
        "allocator_rss_bytes",
        less(memory.resident_bytes, memory.active_bytes),
    );
    line(
        out,
        "rss_overhead_ratio",
        format_args!("{:.2}", ratio(memory.process_bytes, memory.resident_bytes)),
    );
    line(
        out,
        "rss_overhead_bytes",
        less(memory.process_bytes, memory.resident_bytes),
    );
    line(
        out,
        "mem_fragmentation_ratio",
        format_args!("{:.2}", ratio(memory.process_bytes, used)),
    );
    line(
        out,
        "mem_fragmentation_bytes",
        less(memory.process_bytes, used),
    );
    line(out, "mem_not_counted_for_evict", 0);
    line(out, "mem_replication_backlog", 0);
    line(out, "mem_total_replication_buffers", 0);
    line(out, "mem_clients_slaves", 0);
    line(out, "mem_clients_normal", clients);
    line(out, "mem_cluster_links", 0);
    line(out, "mem_aof_buffer", engine.persistence.log.waiting_bytes);
    line(out, "mem_allocator", "jemalloc-5.3.0");
    line(out, "active_defrag_running", 0);
    line(
        out,
        "lazyfree_pending_objects",
        engine.outside.lazy_free_pending(),
    );
    line(
        out,
        "lazyfreed_objects",
        engine.stats.lazy_freed_objects.load(Relaxed),
    );
}

fn persistence(out: &mut String, source: &Source<'_>) {
    let engine = source.engine;
    let now_s = source.now.unix_us / 1_000_000;
    let state = &engine.persistence;
    let log = &state.log;
    let status = |ok: bool| if ok { "ok" } else { "err" };
    let since = |started: Option<i64>| started.map_or(-1, |started| now_s - started);
    line(out, "loading", u32::from(engine.loading.is_some()));
    line(out, "async_loading", 0);
    line(out, "current_cow_peak", 0);
    line(out, "current_cow_size", 0);
    line(out, "current_cow_size_age", 0);
    line(out, "current_fork_perc", "0.00");
    let (processed, total) = if engine.job_is_running() {
        (state.keys_processed, state.keys_total)
    } else {
        (0, 0)
    };
    line(out, "current_save_keys_processed", processed);
    line(out, "current_save_keys_total", total);
    line(out, "rdb_changes_since_last_save", engine.dirty);
    let saving = state.save_started_unix_s.or(state.sync_started_unix_s);
    line(out, "rdb_bgsave_in_progress", u32::from(saving.is_some()));
    line(out, "rdb_last_save_time", state.last_save_unix_s);
    line(out, "rdb_last_bgsave_status", status(state.last_save_ok));
    line(out, "rdb_last_bgsave_time_sec", state.last_save_duration_s);
    line(out, "rdb_current_bgsave_time_sec", since(saving));
    line(out, "rdb_saves", state.saves);
    line(out, "rdb_last_cow_size", 0);
    line(out, "rdb_last_load_keys_expired", state.load_keys_expired);
    line(out, "rdb_last_load_keys_loaded", state.load_keys_loaded);
    line(out, "aof_enabled", u32::from(log.enabled));
    let rewriting = log.rewrite_started_unix_s;
    line(
        out,
        "aof_rewrite_in_progress",
        u32::from(rewriting.is_some()),
    );
    line(
        out,
        "aof_rewrite_scheduled",
        u32::from(log.rewrite_scheduled),
    );
    line(
        out,
        "aof_last_rewrite_time_sec",
        log.last_rewrite_duration_s,
    );
    line(out, "aof_current_rewrite_time_sec", since(rewriting));
    line(
        out,
        "aof_last_bgrewrite_status",
        status(log.last_rewrite_ok),
    );
    line(out, "aof_rewrites", log.rewrites);
    line(
        out,
        "aof_rewrites_consecutive_failures",
        log.rewrite_failures_in_row,
    );
    line(out, "aof_last_write_status", status(log.last_write_ok));
    line(out, "aof_last_cow_size", 0);
    line(out, "module_fork_in_progress", 0);
    line(out, "module_fork_last_cow_size", 0);
    if log.enabled {
        line(out, "aof_current_size", log.current_bytes);
        line(out, "aof_base_size", log.base_bytes);
        line(out, "aof_pending_rewrite", 0);
        line(out, "aof_buffer_length", log.waiting_bytes);
        line(out, "aof_pending_bio_fsync", 0);
        line(out, "aof_delayed_fsync", log.delayed_syncs);
    }
    if let Some(loading) = engine.loading {
        loading_progress(out, loading, now_s);
    }
}

fn loading_progress(out: &mut String, loading: Loading, now_s: i64) {
    line(out, "loading_start_time", loading.started_unix_s);
    line(out, "loading_total_bytes", loading.total_bytes);
    line(out, "loading_rdb_used_mem", 0);
    line(out, "loading_loaded_bytes", loading.loaded_bytes);
    let part = loading.loaded_bytes as f64 / loading.total_bytes.max(1) as f64;
    line(
        out,
        "loading_loaded_perc",
        format_args!("{:.2}", part * 100.0),
    );
    let elapsed_s = (now_s - loading.started_unix_s).max(0);
    let left = loading.total_bytes.saturating_sub(loading.loaded_bytes);
    let eta_s = match loading.loaded_bytes {
        0 => 1,
        loaded => elapsed_s as u64 * left / loaded,
    };
    line(out, "loading_eta_seconds", eta_s);
}

/// Clients that were disconnected for their buffers.
fn cut_off(out: &mut String, engine: &Engine) {
    let stats = &engine.stats;
    line(
        out,
        "client_query_buffer_limit_disconnections",
        stats.query_limit_disconnections.load(Relaxed),
    );
    line(
        out,
        "client_output_buffer_limit_disconnections",
        stats.output_limit_disconnections.load(Relaxed),
    );
}

fn statistics(out: &mut String, source: &Source<'_>) {
    let engine = source.engine;
    let stats = &engine.stats;
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
    line(
        out,
        "total_connections_received",
        count(&stats.connections_received),
    );
    line(
        out,
        "total_commands_processed",
        count(&stats.commands_processed),
    );
    line(
        out,
        "instantaneous_ops_per_sec",
        engine.rates.commands_per_second(),
    );
    line(out, "total_net_input_bytes", engine.net_input_bytes());
    line(out, "total_net_output_bytes", engine.net_output_bytes());
    line(out, "total_net_repl_input_bytes", 0);
    line(out, "total_net_repl_output_bytes", 0);
    line(
        out,
        "instantaneous_input_kbps",
        format_args!("{:.2}", engine.rates.input_kib_per_second()),
    );
    line(
        out,
        "instantaneous_output_kbps",
        format_args!("{:.2}", engine.rates.output_kib_per_second()),
    );
    line(out, "instantaneous_input_repl_kbps", "0.00");
    line(out, "instantaneous_output_repl_kbps", "0.00");
    line(
        out,
        "rejected_connections",
        count(&stats.connections_rejected),
    );
    line(out, "sync_full", count(&stats.sync_full));
    line(out, "sync_partial_ok", 0);
    line(out, "sync_partial_err", 0);
    line(out, "expired_keys", count(&stats.expired_keys));
    line(
        out,
        "expired_stale_perc",
        format_args!("{:.2}", count(&stats.expired_stale_percent) as f64),
    );
    line(out, "expired_time_cap_reached_count", 0);
    line(
        out,
        "expire_cycle_cpu_milliseconds",
        count(&stats.expire_cycle_us) / 1_000,
    );
    line(out, "evicted_keys", count(&stats.evicted_keys));
    line(out, "evicted_clients", count(&stats.evicted_clients));
    cut_off(out, engine);
    line(out, "total_eviction_exceeded_time", 0);
    line(out, "current_eviction_exceeded_time", 0);
    line(out, "keyspace_hits", count(&stats.keyspace_hits));
    line(out, "keyspace_misses", count(&stats.keyspace_misses));
    line(
        out,
        "pubsub_channels",
        engine.pubsub.channel_count(ChannelSpace::Plain),
    );
    line(out, "pubsub_patterns", engine.pubsub.pattern_count());
    line(
        out,
        "pubsubshard_channels",
        engine.pubsub.channel_count(ChannelSpace::Shard),
    );
    line(out, "latest_fork_usec", engine.persistence.last_begin_us);
    line(out, "total_forks", engine.persistence.jobs);
    line(out, "migrate_cached_sockets", 0);
    line(out, "slave_expires_tracked_keys", 0);
    // What is not there to count still has a name that exporters and graphs look for.
    for name in [
        "active_defrag_hits",
        "active_defrag_misses",
        "active_defrag_key_hits",
        "active_defrag_key_misses",
        "total_active_defrag_time",
        "current_active_defrag_time",
    ] {
        line(out, name, 0);
    }
    line(out, "tracking_total_keys", engine.tracking.key_count());
    line(out, "tracking_total_items", engine.tracking.reader_count());
    line(
        out,
        "tracking_total_prefixes",
        engine.tracking.prefix_count(),
    );
    line(out, "unexpected_error_replies", 0);
    line(out, "total_error_replies", count(&stats.error_replies));
    line(out, "dump_payload_sanitizations", 0);
    line(out, "total_reads_processed", count(&stats.reads_processed));
    line(
        out,
        "total_writes_processed",
        count(&stats.writes_processed),
    );
    line(out, "io_threaded_reads_processed", 0);
    line(out, "io_threaded_writes_processed", 0);
    line(out, "reply_buffer_shrinks", 0);
    line(out, "reply_buffer_expands", 0);
    line(out, "unblocked_clients", count(&stats.unblocked_clients));
    line(out, "acl_access_denied_auth", count(&stats.acl_denied_auth));
    line(out, "acl_access_denied_cmd", count(&stats.acl_denied_cmd));
    line(out, "acl_access_denied_key", count(&stats.acl_denied_key));
    line(
        out,
        "acl_access_denied_channel",
        count(&stats.acl_denied_channel),
    );
}

fn replication(out: &mut String, source: &Source<'_>) {
    let engine = source.engine;
    line(out, "role", "master");
    line(out, "connected_slaves", engine.followers.len());
    if engine.wants_followers() {
        let in_step = engine.followers_in_step(source.now);
        line(out, "min_slaves_good_slaves", in_step);
    }
    let now_s = source.now.unix_us / 1_000_000;
    for (index, follower) in engine.followers.iter().enumerate() {
        let lag_s = if follower.state() == FollowState::Online {
            now_s - follower.acked_unix_s
        } else {
            0
        };
        line(
            out,
            &format!("slave{index}"),
            format_args!(
                "ip={},port={},state={},offset={},lag={lag_s}",
                follower.client.host(),
                follower.terms.port,
                follower.state().name(),
                follower.acked
            ),
        );
    }
    line(out, "master_failover_state", "no-failover");
    line(out, "master_replid", &engine.identity.replication_id);
    line(out, "master_replid2", "0".repeat(40));
    line(out, "master_repl_offset", engine.effects.offset());
    line(out, "second_repl_offset", -1);
    line(out, "repl_backlog_active", 0);
    line(out, "repl_backlog_size", 1_048_576);
    line(out, "repl_backlog_first_byte_offset", 0);
    line(out, "repl_backlog_histlen", 0);
}

fn cpu(out: &mut String, source: &Source<'_>) {
    let cpu = source.engine.outside.cpu();
    for (name, seconds) in [
        ("used_cpu_sys", cpu.system_s),
        ("used_cpu_user", cpu.user_s),
        ("used_cpu_sys_children", 0.0),
        ("used_cpu_user_children", 0.0),
        ("used_cpu_sys_main_thread", cpu.main_system_s),
        ("used_cpu_user_main_thread", cpu.main_user_s),
    ] {
        line(out, name, format_args!("{seconds:.6}"));
    }
}

fn command_statistics(out: &mut String, source: &Source<'_>) {
    for command in source.engine.table.iter() {
        let stats = source.engine.stats.command(command.id);
        let [calls, rejected, failed] =
            [&stats.calls, &stats.rejected, &stats.failed].map(|count| count.load(Relaxed));
        if calls + rejected + failed == 0 {
            continue;
        }
        let total_us = stats.total_ns.load(Relaxed) / 1_000;
        let each_us = if calls == 0 {
            0.0
        } else {
            total_us as f64 / calls as f64
        };
        line(
            out,
            &format!("cmdstat_{}", command.full_name),
            format_args!(
                "calls={calls},usec={total_us},usec_per_call={each_us:.2},rejected_calls={rejected},failed_calls={failed}"
            ),
        );
    }
}

fn error_statistics(out: &mut String, source: &Source<'_>) {
    for (prefix, count) in source.engine.stats.errors() {
        line(
            out,
            &format!("errorstat_{prefix}"),
            format_args!("count={count}"),
        );
    }
}

fn latency_statistics(out: &mut String, source: &Source<'_>) {
    let engine = source.engine;
    if !engine.settings.latency_tracking {
        return;
    }
    for command in engine.table.iter() {
        let stats = engine.stats.command(command.id);
        if stats.calls.load(Relaxed) == 0 {
            continue;
        }
        let shown: Vec<String> = engine
            .settings
            .latency_tracking_info_percentiles
            .iter()
            .map(|&percentile| {
                format!(
                    "p{percentile}={:.3}",
                    percentile_us(&stats.latency, percentile)
                )
            })
            .collect();
        line(
            out,
            &format!("latency_percentiles_usec_{}", command.full_name),
            shown.join(","),
        );
    }
}

fn keyspace(out: &mut String, source: &Source<'_>) {
    for (index, db) in source
        .engine
        .store
        .iter()
        .enumerate()
        .filter(|(_, db)| !db.is_empty())
    {
        let left_ms: Vec<i64> = db
            .iter()
            .take(TTL_SAMPLE_KEYS)
            .filter_map(|entry| entry.deadline)
            .map(|deadline| (deadline - source.now.unix_ms()).max(0))
            .collect();
        let average_ms = left_ms.iter().sum::<i64>() / left_ms.len().max(1) as i64;
        line(
            out,
            &format!("db{index}"),
            format_args!(
                "keys={},expires={},avg_ttl={average_ms}",
                db.len(),
                db.expires_len()
            ),
        );
    }
}
