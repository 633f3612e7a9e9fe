"""How instances talk to each other: an endpoint, kept connections, one hop, both sides proven."""

from lastword.cluster.peers.settings import PeerSettings, PeerTls

__all__ = ["PeerSettings", "PeerTls"]
