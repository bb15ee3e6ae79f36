"""The rows that only SDKs other than @ag-ui/client need."""
