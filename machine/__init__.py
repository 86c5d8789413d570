"""Services of the local machine: compiled loops, caches, workers, processes, files, logs and command lines.

All packages but `protocol` may import it; it may import only `protocol`.

- Loops: compiled.py runs them by numba or as plain Python, generator.py has their random numbers.
  compiled_cache.py, cache.py and source_digest.py keep compiled code.
- Time and load: event_loop.py, timestamps.py, timeouts.py, backoff.py (the delay before a retry), token_bucket.py
  (rate limits), histogram.py, cores.py and memory.py.
- Files: atomic_write.py writes a file whole or not at all, file_lock.py locks one. input_file.py, output_file.py
  and text_encoding.py handle files that a person named.
- Terminals and commands: terminal.py is the only way to print to a terminal, console.py the one for rich.
  command_line.py is the frame of a command, arguments.py and command_words.py read its words, standard_streams.py
  guards its streams.
- Processes: subprocesses.py asks the system, keeper.py stands between a program and its owner and ends all that the
  program started. service_manager.py talks to systemd, held_signals.py blocks signals, log_output.py is a server's
  log.
- Network: bounded_fetch.py is an HTTP request with one time limit, host_names.py reads names of hosts.
"""
