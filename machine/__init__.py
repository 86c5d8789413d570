"""Services of the local machine: compiled loops, caches, worker pools, processes, files, logs and command lines.

It may import only `protocol`; every other package may import it.
"""
