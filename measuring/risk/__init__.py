"""Value functions of Risk: features of positions, exact tables, and shipped coefficients that were fitted once.

features.py has the features, value_functions.py the functions made of them, share_value.py the one for more than
two seats, position_kinds.py the kinds of positions.
"""
