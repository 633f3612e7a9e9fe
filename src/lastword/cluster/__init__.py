"""The instances of one application: membership, ownership of partitions, requests between them."""
