"""What other servers serve: `tests.proxy.served:app`, a wrapped proxy before the server at $AGUI_MIDDLEWARE_UPSTREAM."""

import os

from agui_middleware import AGUIMiddleware, Settings
from agui_middleware.proxy import Proxy

app = AGUIMiddleware(Proxy(os.environ["AGUI_MIDDLEWARE_UPSTREAM"]), Settings())
