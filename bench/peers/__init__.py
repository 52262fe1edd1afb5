"""The same load through others that do a part of this: `python -m bench.peers`. See docs/performance.md."""
