//! Data: keyspace, values, expiry. Synchronous; time comes in as an argument.
