"""A reverse proxy as an ASGI app, for `AGUIMiddleware` to wrap: any AG-UI server, in any language. The extra `proxy`."""

from agui_middleware.proxy.app import Proxy
from agui_middleware.proxy.forwarding import UpstreamAborted

__all__ = ["Proxy", "UpstreamAborted"]
