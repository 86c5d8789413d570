"""Services of the local machine, for all packages: compiled loops, caches, workers, processes, files, logs, commands.

It may import only `protocol`.
"""
