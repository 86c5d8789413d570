"""Services of the local machine: compiled loops, caches, workers, processes, files, logs and command lines.

All packages but `protocol` may import it; it may import only `protocol`.
"""
