"""Every published release of @ag-ui/client reads what the downgrades make of a stream."""
