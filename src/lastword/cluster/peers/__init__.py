"""How instances talk: an endpoint, persistent connections, mutual proof, one hop at most."""

from lastword.cluster.peers.settings import PeerSettings, PeerTls

__all__ = ["PeerSettings", "PeerTls"]
