"""How RocksDB is set up for one partition of a table."""

from __future__ import annotations

from rocksdict import BlockBasedOptions, DataBlockIndexType, DBCompressionType, Options

from lastword.stores.rocksdb_memory import MemoryBudget

_BLOOM_BITS_PER_KEY = 10  # one false positive in a hundred
_HASHED_KEYS_PER_BUCKET = 0.75  # RocksDB's own default
_ROWS_PER_RESTART = 4
_NEVER = 1 << 30


def database_options(budget: MemoryBudget) -> Options:
    """Options of a store; RocksDB keeps none of them, so they are passed at every opening."""
    options = _table_options(budget, DBCompressionType.lz4())
    options.create_if_missing(True)
    options.set_write_buffer_manager(budget.write_buffers)
    options.set_write_buffer_size(16 << 20)
    # RocksDB allocates at least one arena block per store: small ones keep hundreds of idle
    # partitions within the budget.
    options.set_arena_block_size(64 << 10)

    # A write holds the interpreter lock while RocksDB makes it wait, so nothing may make it
    # wait: neither many files in level 0 (after a restore) nor a flush in progress.
    options.set_max_write_buffer_number(6)
    options.set_level_zero_slowdown_writes_trigger(_NEVER)
    options.set_level_zero_stop_writes_trigger(_NEVER)
    options.set_soft_pending_compaction_bytes_limit(0)
    options.set_hard_pending_compaction_bytes_limit(0)

    # Files of a restore overlap. With Bloom filters 16 of them cost a get 15 %, and merging a
    # million rows takes RocksDB half a second in the background: its own compaction is enough,
    # it only should not compete with the restore too early.
    options.set_level_zero_file_num_compaction_trigger(8)
    options.set_max_background_jobs(2)

    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.enable_statistics()  # measured: a get takes no longer
    return options


def ingested_file_options(budget: MemoryBudget) -> Options:
    """Options of a file that a restore writes; compaction compresses it later, elsewhere."""
    return _table_options(budget, DBCompressionType.none())


def _table_options(budget: MemoryBudget, compression: DBCompressionType) -> Options:
    blocks = BlockBasedOptions()
    blocks.set_block_cache(budget.block_cache)
    blocks.set_bloom_filter(_BLOOM_BITS_PER_KEY, False)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    # A get of a row of 130 bytes walked through half of its block of 4 KB: now a hash leads to four
    # rows at most. Measured: a tenth less time, for 4 bytes per row more.
    blocks.set_data_block_index_type(DataBlockIndexType.binary_and_hash())
    blocks.set_data_block_hash_ratio(_HASHED_KEYS_PER_BUCKET)
    blocks.set_block_restart_interval(_ROWS_PER_RESTART)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(compression)
    return options
