"""Worker pools for long computations: processes of this machine, or the workers of a Dask cluster.

local.py has the interface of pools and the pool of local processes, cluster.py the pool on Dask. Every task is done
exactly once, even if workers die.
"""
