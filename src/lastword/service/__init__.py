"""Tables over HTTP: ``Service`` runs it, ``ServiceConfig`` and ``Mount`` say what and where."""

from lastword.service.config import ServiceConfig, TlsFiles
from lastword.service.limits import Limits
from lastword.service.served import Mount
from lastword.service.server import Service
from lastword.service.tokens import TokenFile

__all__ = ["Limits", "Mount", "Service", "ServiceConfig", "TlsFiles", "TokenFile"]
