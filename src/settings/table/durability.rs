//! Snapshots and the append-only log.

use super::Section;
use crate::settings::choices::{FsyncPolicy, SanitizePayload};
use crate::settings::spec::{Change, Empty, INT_MAX, Kind, LONG_MAX, Spec, TextCheck};
use crate::settings::value::Value;

pub(super) const SNAPSHOTS: Section = Section {
    title: "Snapshots",
    rows: &[
        Spec::kind(
            "save",
            Kind::Save,
            "3600 1 300 100 60 10000",
            "Pairs of seconds and changes: a snapshot is written when so many seconds have \
             passed with at least so many changes. Empty writes none.",
        )
        .used(|f, v| {
            if let Value::Save(points) = v {
                f.save = points.clone();
            }
        }),
        Spec::kind(
            "dbfilename",
            Kind::Text {
                check: TextCheck::FileName,
                empty: Empty::IsValue,
            },
            "dump.rdb",
            "File name of the snapshot, in dir.",
        )
        .change(Change::Protected)
        .used(|f, v| f.dbfilename = v.path()),
        Spec::switch(
            "rdbcompression",
            "yes",
            "Whether long texts in a snapshot are compressed.",
        )
        .used(|f, v| f.rdbcompression = v.bool()),
        Spec::switch(
            "rdbchecksum",
            "yes",
            "Whether a snapshot ends with a checksum.",
        )
        .at_start()
        .used(|f, v| f.rdbchecksum = v.bool()),
        Spec::switch(
            "rdb-save-incremental-fsync",
            "yes",
            "Whether a snapshot goes to disk bit by bit while it is written.",
        )
        .used(|f, v| f.rdb_save_incremental_fsync = v.bool()),
        Spec::switch(
            "stop-writes-on-bgsave-error",
            "yes",
            "Whether writes are refused after a snapshot failed.",
        )
        .used(|f, v| f.stop_writes_on_bgsave_error = v.bool()),
        Spec::choice(
            "sanitize-dump-payload",
            SanitizePayload::NAMES,
            "no",
            "Which payloads are checked in depth when loaded: no, yes, or those of clients.",
        ),
        Spec::switch(
            "rdb-del-sync-files",
            "no",
            "Whether a replica deletes the primary's snapshot.",
        ),
    ],
};

pub(super) const LOG: Section = Section {
    title: "Append-only log",
    rows: &[
        Spec::switch(
            "appendonly",
            "no",
            "Whether every write goes to the append-only log.",
        )
        .change(Change::NotWhileLoading)
        .used(|f, v| f.appendonly = v.bool()),
        Spec::choice(
            "appendfsync",
            FsyncPolicy::NAMES,
            "everysec",
            "When the log is forced to disk: always (before the reply), everysec, or no (when the \
             system likes).",
        )
        .used(|f, v| f.appendfsync = FsyncPolicy::from_name(v.choice())),
        Spec::kind(
            "appendfilename",
            Kind::Text {
                check: TextCheck::FileNameNotEmpty,
                empty: Empty::IsValue,
            },
            "appendonly.aof",
            "First part of the names of the log's files.",
        )
        .at_start()
        .used(|f, v| f.appendfilename = v.path()),
        Spec::kind(
            "appenddirname",
            Kind::Text {
                check: TextCheck::FolderName,
                empty: Empty::IsValue,
            },
            "appendonlydir",
            "Folder of the log's files, in dir.",
        )
        .at_start()
        .used(|f, v| f.appenddirname = v.path()),
        Spec::switch(
            "no-appendfsync-on-rewrite",
            "no",
            "Whether the log is not forced to disk while it is rewritten or a snapshot is written.",
        ),
        Spec::integer(
            "auto-aof-rewrite-percentage",
            (0, INT_MAX),
            "100",
            "Percent of growth since the last rewrite at which the log is rewritten; 0 is never.",
        )
        .used(|f, v| f.auto_aof_rewrite_percentage = v.number()),
        Spec::memory(
            "auto-aof-rewrite-min-size",
            (0, LONG_MAX as u64),
            "64mb",
            "Size below which the log is not rewritten by itself.",
        )
        .used(|f, v| f.auto_aof_rewrite_min_size = v.number()),
        Spec::switch(
            "aof-load-truncated",
            "yes",
            "Whether a log whose last write is cut off is loaded up to there.",
        )
        .used(|f, v| f.aof_load_truncated = v.bool()),
        Spec::switch(
            "aof-use-rdb-preamble",
            "yes",
            "Whether a rewritten log begins with a snapshot instead of commands.",
        )
        .used(|f, v| f.aof_use_rdb_preamble = v.bool()),
        Spec::switch(
            "aof-timestamp-enabled",
            "no",
            "Whether the log notes the time, for restoring a past state.",
        )
        .used(|f, v| f.aof_timestamp_enabled = v.bool()),
        Spec::switch(
            "aof-rewrite-incremental-fsync",
            "yes",
            "Whether a rewritten log goes to disk bit by bit while it is written.",
        )
        .used(|f, v| f.aof_rewrite_incremental_fsync = v.bool()),
        Spec::switch(
            "aof-disable-auto-gc",
            "no",
            "Whether files of older logs are kept.",
        )
        .hidden()
        .used(|f, v| f.aof_disable_auto_gc = v.bool()),
    ],
};
