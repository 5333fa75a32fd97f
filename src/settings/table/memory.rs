//! Memory: limit and eviction, expiry and freeing, thresholds of the small encodings.

use super::Section;
use crate::settings::choices::MaxmemoryPolicy;
use crate::settings::spec::{INT_MAX, INT_MIN, LONG_MAX, Spec};

pub(super) const MEMORY: Section = Section {
    title: "Memory",
    rows: &[
        Spec::memory(
            "maxmemory",
            (0, u64::MAX),
            "0",
            "Memory for data, in bytes; 0 is no limit.",
        )
        .unsigned()
        .used(|f, v| f.maxmemory = v.number()),
        Spec::choice(
            "maxmemory-policy",
            MaxmemoryPolicy::NAMES,
            "noeviction",
            "What makes room at maxmemory: allkeys-lru, allkeys-lfu, allkeys-random, the same \
             with volatile- (keys that expire only), volatile-ttl (next to expire), or noeviction \
             (refuse writes).",
        )
        .used(|f, v| f.maxmemory_policy = MaxmemoryPolicy::from_name(v.choice())),
        Spec::integer(
            "maxmemory-samples",
            (1, 64),
            "5",
            "Keys looked at to choose one to evict: more is more exact and slower.",
        )
        .used(|f, v| f.maxmemory_samples = v.number()),
        Spec::integer(
            "maxmemory-eviction-tenacity",
            (0, 100),
            "10",
            "How long a command may be held up by eviction: 0 shortest, 100 without limit.",
        ),
        Spec::integer(
            "lfu-log-factor",
            (0, INT_MAX),
            "10",
            "How slowly the access counter of the lfu policies grows.",
        )
        .used(|f, v| f.lfu_log_factor = v.number()),
        Spec::integer(
            "lfu-decay-time",
            (0, INT_MAX),
            "1",
            "Minutes after which the access counter of the lfu policies drops by one.",
        )
        .used(|f, v| f.lfu_decay_time = v.number()),
        Spec::switch(
            "activedefrag",
            "no",
            "Whether scattered memory is gathered while running.",
        ),
        Spec::memory(
            "active-defrag-ignore-bytes",
            (1, LONG_MAX as u64),
            "100mb",
            "Waste below which activedefrag rests.",
        )
        .unsigned(),
        Spec::integer(
            "active-defrag-threshold-lower",
            (0, 1000),
            "10",
            "Percent of waste at which activedefrag begins.",
        ),
        Spec::integer(
            "active-defrag-threshold-upper",
            (0, 1000),
            "100",
            "Percent of waste at which activedefrag works hardest.",
        ),
        Spec::integer(
            "active-defrag-cycle-min",
            (1, 99),
            "1",
            "Least percent of a processor for activedefrag.",
        ),
        Spec::integer(
            "active-defrag-cycle-max",
            (1, 99),
            "25",
            "Most percent of a processor for activedefrag.",
        ),
        Spec::integer(
            "active-defrag-max-scan-fields",
            (1, LONG_MAX),
            "1000",
            "Size above which activedefrag handles a key in parts.",
        ),
        Spec::switch(
            "activerehashing",
            "yes",
            "Whether idle time goes into resizing hash tables.",
        ),
    ],
};

pub(super) const EXPIRY: Section = Section {
    title: "Expiry and freeing",
    rows: &[
        Spec::integer(
            "active-expire-effort",
            (1, 10),
            "1",
            "How hard the background looks for expired keys, 1 to 10.",
        ),
        Spec::switch(
            "lazyfree-lazy-eviction",
            "no",
            "Whether evicted values are freed in the background.",
        )
        .used(|f, v| f.lazyfree_lazy_eviction = v.bool()),
        Spec::switch(
            "lazyfree-lazy-expire",
            "no",
            "Whether expired values are freed in the background.",
        )
        .used(|f, v| f.lazyfree_lazy_expire = v.bool()),
        Spec::switch(
            "lazyfree-lazy-server-del",
            "no",
            "Whether values that a command overwrites are freed in the background.",
        )
        .used(|f, v| f.lazyfree_lazy_server_del = v.bool()),
        Spec::switch(
            "lazyfree-lazy-user-del",
            "no",
            "Whether DEL frees as UNLINK does.",
        ),
        Spec::switch(
            "lazyfree-lazy-user-flush",
            "no",
            "Whether FLUSHALL and FLUSHDB without a word mean ASYNC.",
        ),
    ],
};

pub(super) const ENCODINGS: Section = Section {
    title: "Small encodings",
    rows: &[
        Spec::integer(
            "zset-max-listpack-entries",
            (0, LONG_MAX),
            "128",
            "Members up to which a sorted set stays in its small encoding.",
        )
        .unsigned()
        .alias("zset-max-ziplist-entries")
        .used(|f, v| f.zset_max_listpack_entries = v.number()),
        Spec::memory(
            "zset-max-listpack-value",
            (0, LONG_MAX as u64),
            "64",
            "Longest member, in bytes, in the small encoding of a sorted set.",
        )
        .unsigned()
        .alias("zset-max-ziplist-value")
        .used(|f, v| f.zset_max_listpack_value = v.number()),
        Spec::integer(
            "hash-max-listpack-entries",
            (0, LONG_MAX),
            "512",
            "Fields up to which a hash stays in its small encoding.",
        )
        .unsigned()
        .alias("hash-max-ziplist-entries")
        .used(|f, v| f.hash_max_listpack_entries = v.number()),
        Spec::memory(
            "hash-max-listpack-value",
            (0, LONG_MAX as u64),
            "64",
            "Longest field or value, in bytes, in the small encoding of a hash.",
        )
        .unsigned()
        .alias("hash-max-ziplist-value")
        .used(|f, v| f.hash_max_listpack_value = v.number()),
        Spec::integer(
            "set-max-intset-entries",
            (0, LONG_MAX),
            "512",
            "Members up to which a set of integers stays in its small encoding.",
        )
        .unsigned()
        .used(|f, v| f.set_max_intset_entries = v.number()),
        Spec::integer(
            "set-max-listpack-entries",
            (0, LONG_MAX),
            "128",
            "Members up to which any other set stays in its small encoding.",
        )
        .unsigned()
        .used(|f, v| f.set_max_listpack_entries = v.number()),
        Spec::integer(
            "set-max-listpack-value",
            (0, LONG_MAX),
            "64",
            "Longest member, in bytes, in the small encoding of a set.",
        )
        .unsigned()
        .used(|f, v| f.set_max_listpack_value = v.number()),
        Spec::integer(
            "list-max-listpack-size",
            (INT_MIN, INT_MAX),
            "-2",
            "Entries in one node of a list, or a size: -1 is 4 kb, -2 8 kb, up to -5 64 kb.",
        )
        .alias("list-max-ziplist-size")
        .used(|f, v| f.list_max_listpack_size = v.number()),
        Spec::integer(
            "list-compress-depth",
            (0, INT_MAX),
            "0",
            "Nodes at each end of a list that are never compressed; 0 compresses none.",
        ),
        Spec::memory(
            "stream-node-max-bytes",
            (0, LONG_MAX as u64),
            "4096",
            "Bytes of one node of a stream; 0 is no limit.",
        )
        .unsigned()
        .used(|f, v| f.stream_node_max_bytes = v.number()),
        Spec::integer(
            "stream-node-max-entries",
            (0, LONG_MAX),
            "100",
            "Entries of one node of a stream; 0 is no limit.",
        )
        .used(|f, v| f.stream_node_max_entries = v.number()),
        Spec::memory(
            "hll-sparse-max-bytes",
            (0, LONG_MAX as u64),
            "3000",
            "Bytes up to which a HyperLogLog stays in its sparse encoding.",
        )
        .unsigned()
        .used(|f, v| f.hll_sparse_max_bytes = v.number()),
    ],
};
