"""SDKs other than @ag-ui/client: real ones where they install here, and models of their decoders where they do not."""
