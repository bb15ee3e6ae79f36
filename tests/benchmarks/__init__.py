"""What the middleware costs, next to what people would do instead: `python -m tests.benchmarks`. Not part of pytest."""
