"""Measures what Everthread adds to an upstream: `python -m bench`. See docs/performance.md."""
