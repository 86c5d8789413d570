"""The options of `arena replay`, `arena bot` and `arena db`, a module each.

options.py has the options that several commands share, option_sets.py those made of settings or of another
command's options. group.py puts commands under one word.
"""
