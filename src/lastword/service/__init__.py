"""Tables over HTTP: ``Service`` runs it, ``ServiceConfig`` and ``Mount`` say what and where."""

from lastword.service.api.served import Mount
from lastword.service.http.limits import Limits
from lastword.service.http.server import Service
from lastword.service.http.service_config import ServiceConfig, TlsFiles
from lastword.service.http.tokens import TokenFile

__all__ = ["Limits", "Mount", "Service", "ServiceConfig", "TlsFiles", "TokenFile"]
