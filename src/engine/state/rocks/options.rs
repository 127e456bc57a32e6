//! How a database is set up.

use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, LogLevel, Options};

use super::ttl_filter::TtlFilter;
use crate::engine::state::BackendSetup;

/// Many small databases that open fast and start no work by themselves. Everything not set here is RocksDB's default.
///
/// With `create` false, files without their `CURRENT` are an error and not an empty database.
pub(super) fn options(
    create: bool,
    setup: BackendSetup,
    filter: &TtlFilter,
) -> Result<Options, rocksdb::Error> {
    // An identity is for humans with many databases; its file costs two of ten waits for the disk. No setter exists.
    let mut options = Options::default().get_options_from_string("write_identity_file=false")?;
    options.create_if_missing(create);
    options.set_compression_type(DBCompressionType::None);
    let buffer_bytes = write_buffer_bytes(setup);
    if setup.is_stepped {
        // Flushed and compacted by us, at moments that are the same in every run. Never full before that.
        options.set_write_buffer_size(8 * buffer_bytes);
        options.set_arena_block_size(buffer_bytes / 8);
        options.set_disable_auto_compactions(true);
    } else {
        options.set_write_buffer_size(buffer_bytes);
    }
    let trigger = i32::try_from(setup.options.compaction_trigger).unwrap_or(i32::MAX);
    if trigger > 0 {
        options.set_level_zero_file_num_compaction_trigger(trigger);
    } else {
        options.set_disable_auto_compactions(true);
    }
    // An upload or a restore has one file at a time in memory.
    options.set_target_file_size_base(memory_bytes(setup).min(MAX_FILE_BYTES) as u64);
    options.set_max_background_jobs(2);
    options.set_max_file_opening_threads(1);
    options.set_skip_stats_update_on_db_open(true);
    // No threads that write statistics, and hardly a log.
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_keep_log_file_num(1);
    options.set_log_level(LogLevel::Header);
    let mut tables = BlockBasedOptions::default();
    let memory_bytes = memory_bytes(setup);
    tables.set_block_cache(&Cache::new_lru_cache(memory_bytes - buffer_bytes));
    options.set_block_based_table_factory(&tables);
    options.set_compaction_filter_factory(filter.clone());
    Ok(options)
}

/// RocksDB's own for a file of a lower level (`target_file_size_base`).
const MAX_FILE_BYTES: usize = 64 << 20;

fn memory_bytes(setup: BackendSetup) -> usize {
    setup.options.memory_mib.max(1) as usize * (1 << 20)
}

/// A third of the memory is for what is not yet written.
pub(super) fn write_buffer_bytes(setup: BackendSetup) -> usize {
    memory_bytes(setup) / 3
}
