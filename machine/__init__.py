"""Services of the local machine: compiled loops, caches, workers, processes, files, logs and command lines.

All packages but `protocol` may import it; it may import only `protocol`.

- Loops: compiled.py runs loops with numba or as plain Python, generator.py generates random numbers for them.
  compiled_cache.py, cache.py and source_digest.py cache compiled code. sums.py adds floats as they do.
- Time and load: event_loop.py, timestamps.py, timeouts.py, backoff.py (retries), keyed_limiter.py
  (rate limits, and waits after failures), keyed_items.py, histogram.py, cores.py and memory.py.
- Files: atomic_write.py writes a file whole or not at all, file_lock.py locks one. input_file.py, output_file.py and
  text_encoding.py handle files that a person named.
- Terminals and commands: terminal.py prints to a terminal, and console.py does so for the library rich; nothing else
  prints. command_line.py runs a command and reports its errors, arguments.py and command_words.py read its arguments,
  standard_streams.py makes its standard streams safe.
- Processes: subprocesses.py controls processes by system calls. run_program.py runs a program to its end. keeper.py
  runs a program and kills all its descendants if the program's owner ends. process_tree.py finds the processes below
  another one, and says whether they are idle. service_manager.py talks to systemd,
  held_signals.py blocks signals, interrupts.py defers Ctrl-C, log_output.py writes a server's log.
- Network: bounded_fetch.py is an HTTP request with one time limit, host_names.py reads names of hosts and URLs.
  client/ connects clients to the nodes of an arena.
"""
