"""Every metric: its name and what it means. A metric that is not listed here is not exported."""

from __future__ import annotations

from typing import Literal

MetricKind = Literal["counter", "gauge", "histogram"]

NAMESPACE = "lastword_"

HELP: dict[str, str] = {
    "info": "The instance and its version; always 1.",
    # requests
    "http_requests_total": "Requests, by operation and status.",
    "http_request_seconds": "How long requests took until their answer was ready.",
    "watching": "Open watches.",
    "calls_under_way": "Calls that run or wait for a thread, by pool.",
    # a table's operations
    "operation_seconds": "How long operations on a table took; watch: the age of a change; "
    "staleness: the age of an answer.",
    "watchers": "Open watches of a table.",
    "watch_backlog_bytes": "Bytes of changes that wait for watchers, each change once.",
    "watch_changes_total": "Changes sent, counted once for each watcher.",
    "watchers_lost_total": "Watchers that were cut off.",
    "table_ready": "1 when the table serves reads.",
    "restore_offsets_done": "Offsets that the restore has read.",
    "restore_offsets_to_do": "All offsets of the restore, including those read.",
    # what the tailer did
    "records_applied_total": "Records read from the log and applied.",
    "keyless_records_total": "Records without a key, dropped.",
    "misplaced_records_total": "Records in a partition where their key does not belong, dropped.",
    "unreadable_headers_total": "Records kept without headers, because a header name is not UTF-8.",
    "foreign_records_total": "Records of a table with owned writes that no owner wrote, applied.",
    "owned_partitions": "Partitions whose writes this process decides.",
    "owned_requests_waiting": "Requests that wait for an owner in this process.",
    "bad_expiries_total": "Records with an invalid expiry, kept without one.",
    "quarantined_records_total": "Records that could not be decoded, dropped.",
    "skipped_records_total": "Reads of records that could not be decoded.",
    "swept_keys_total": "Rows dropped because the log no longer holds them.",
    "rebuilds_total": "Partitions restored from the beginning of the log.",
    "contact_age_seconds": "How long ago the cluster last answered for a table.",
    # partitions
    "keys": "Rows in the store.",
    "store_bytes": "Bytes the store holds.",
    "position": "The next offset to be read.",
    "log_start_offset": "The first offset of the log.",
    "log_end_offset": "The end of the log.",
    "lag_records": "Offsets that are not read yet.",
    "lag_seconds": "For how long there have been unread offsets.",
    "stale": "1 while deleted keys may still be here or the cluster has not answered for 10 s.",
    "quarantined_keys": "Keys whose last record could not be decoded.",
    # RocksDB
    "store_bytes_read_total": "Bytes read from RocksDB by gets and scans.",
    "store_bytes_written_total": "Bytes written to RocksDB.",
    "store_compaction_bytes_read_total": "Bytes that RocksDB's own compaction read.",
    "store_compaction_bytes_written_total": "Bytes that RocksDB's own compaction wrote.",
    "store_file_bytes": "Bytes of RocksDB's live files.",
    "store_write_buffer_bytes": "Bytes in RocksDB's write buffers.",
    "store_estimated_rows": "RocksDB's own estimate of its rows.",
    "store_level0_files": "Files that RocksDB has not sorted into its levels.",
    "store_running_compactions": "Compactions RocksDB runs now.",
    "store_pending_compaction_bytes": "Bytes that RocksDB has yet to compact.",
    # pipelines
    "pipeline_state": "1 for the state a pipeline is in.",
    "pipeline_records_total": "Records processed and committed, by stream.",
    "pipeline_skipped_total": "Records that a repeated batch skipped: committed before.",
    "pipeline_keyless_total": "Records without a key, dropped.",
    "pipeline_duplicates_total": "Events with a message id that was seen before, dropped.",
    "pipeline_unmatched_total": "Events without a row in the table they are joined with, dropped.",
    "pipeline_null_values_total": "Records without a value, dropped.",
    "pipeline_late_total": "Records that came after their window had closed, dropped.",
    "pipeline_quarantined_total": "Records that went to the quarantine topic.",
    "pipeline_updates_total": "New values of keys, before those of one batch are combined.",
    "pipeline_final_total": "Suppressed windows that closed and were emitted.",
    "pipeline_held_back": "Suppressed windows that were still open after the last batch.",
    "pipeline_evicted_total": "Keys that a store of fixed size evicted.",
    "pipeline_restored_total": "Records read from changelogs to restore stores.",
    "pipeline_batch_seconds": "How long batches took; the operation is the stream.",
    "pipeline_lag_records": "Records of a source that are not processed yet.",
    "pipeline_store_rows": "Rows of a store.",
    "pipeline_store_bytes": "Bytes of a store, on disk and in write buffers.",
    # captures
    "cdc_running": "1 while the connector of a capture runs and has not failed.",
    "cdc_events_behind": "Change events that the table does not have yet.",
    "cdc_lag_seconds": "How long ago the database committed the oldest change that the table "
    "lacks; NaN while the connector delivers nothing.",
    "cdc_last_event_timestamp_seconds": "When the last change event was written.",
    "cdc_lag_bytes": "Bytes of the database's log that the connector has not confirmed.",
    "cdc_slot_bytes": "Bytes of its log that the database keeps for the capture.",
    "cdc_slot_active": "1 while the connector is connected to its replication slot.",
    "cdc_slot_alert": "1 when the database keeps more than 1 GiB of its log for the capture, or "
    "has invalidated the slot.",
    # the instances of an application
    "cluster_members": "Members of the application, as this instance knows them.",
    "cluster_plan_number": "The number of the plan in force.",
    "cluster_leads": "1 for the instance that writes the plans.",
    "cluster_evictions_total": "Members that this instance evicted from the group.",
    "cluster_moved_partitions_total": "Partitions that plans of this instance moved, by cause.",
    "routed_reads_total": "Reads of a partitioned table that were sent to another instance.",
    "standby_reads_total": "Reads that were sent to the next instance because one did not answer.",
    "routed_writes_total": "Batches of writes that were sent to the owner of their partition.",
    "too_stale_reads_total": "Reads that this instance refused because its copy was too old.",
    "copy_age_seconds": "The age of the oldest copy that is ready here; answers state it.",
    # the log
    "log_bytes": "Bytes of the partition's log on its leader.",
    "log_records": "Records in the log, superseded ones included.",
    "log_duplicates": "Records with a later record of the same key.",
    "log_tombstones": "Tombstones in the log.",
    "log_live_bytes": "Keys and values of the current records, before compression.",
    "log_segments": "Files of the log.",
    "dirty_ratio": "The share of the log that the cleaner has not cleaned.",
    "cleanable_bytes": "Bytes that the cleaner could clean now.",
    "compaction_lag_seconds": "The age of the oldest record that waits to be cleaned.",
    "last_clean_timestamp_seconds": "When the cleaner last finished here.",
    # the process
    "process_cpu_seconds_total": "CPU time used.",
    "process_start_time_seconds": "When the service was started.",
    "process_threads": "Python threads.",
    "process_resident_bytes": "Memory in use.",
    "process_open_files": "Open files and sockets.",
    "process_disk_read_bytes_total": "Bytes the process had read from disk.",
    "process_disk_written_bytes_total": "Bytes the process had written to disk.",
}
_HISTOGRAMS = frozenset(("http_request_seconds", "operation_seconds", "pipeline_batch_seconds"))


def kind_of(name: str) -> MetricKind:
    """What Prometheus calls it."""
    if name in _HISTOGRAMS:
        return "histogram"
    return "counter" if name.endswith("_total") else "gauge"
