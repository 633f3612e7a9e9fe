"""Requests to a cluster: topics, settings, offsets, transactions."""

from lastword.kafka.admin.admin import REQUEST_TIMEOUT_SECONDS, Admin, PartitionInfo, TopicInfo

__all__ = ["REQUEST_TIMEOUT_SECONDS", "Admin", "PartitionInfo", "TopicInfo"]
