"""Worker pools for long computations: processes of this machine, or the workers of a Dask cluster."""
