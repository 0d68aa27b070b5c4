"""Readers of what file system benchmarks print, as far as load runs need it."""
