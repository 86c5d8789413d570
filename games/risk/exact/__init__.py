"""Exact values of bounded Risk. table.py finds the table of a config and grades moves with it.

values.py solves small maps in memory. solving.py solves large ones once, with a proven error: sweeps.py has the
sweeps, rows.py the rows of a table. file.py and shape.py define the format of a table's file.
"""
