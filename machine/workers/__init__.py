"""Worker pools for long computations: processes of this machine, or the workers of a Dask cluster.

local.py has the interface and the pool of local processes, cluster.py the one on Dask. Every task is done exactly
once, even if workers die.
"""
