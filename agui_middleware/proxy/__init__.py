"""A reverse proxy as an ASGI app, with which `AGUIMiddleware` wraps an AG-UI server in any language. Extra: `proxy`."""

from agui_middleware.proxy.app import Proxy
from agui_middleware.proxy.forwarding import UpstreamAborted

__all__ = ["Proxy", "UpstreamAborted"]
