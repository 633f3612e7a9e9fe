"""How instances talk: an endpoint, persistent connections, mutual proof, one hop at most."""

from lastword.cluster.peers.peer_settings import PeerSettings, PeerTls

__all__ = ["PeerSettings", "PeerTls"]
