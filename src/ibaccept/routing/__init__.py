"""LFTs as arrays; paths, reachability, spread, credit loops. Pure: no I/O."""
