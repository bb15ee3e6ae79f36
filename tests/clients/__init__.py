"""The published releases of @ag-ui/client, run for real."""
