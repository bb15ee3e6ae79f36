"""A page that shows what the middleware does: what an agent sends, and what a release of @ag-ui/client receives of it.

`agui-middleware demo` serves it on this machine, with a sample agent; it needs the extra `demo`, no key and no network.
"""
