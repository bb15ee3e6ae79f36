"""A page that shows what an agent sends and what a release of @ag-ui/client receives through the middleware.

`agui-middleware demo` serves it on 127.0.0.1, with a sample agent. It needs the extra `demo`, but no API key and no network.
"""
