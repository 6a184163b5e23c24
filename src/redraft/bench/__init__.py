"""Benchmarks of redraft against plain decoding, on pinned tasks. Knows the session, not the CLI."""
