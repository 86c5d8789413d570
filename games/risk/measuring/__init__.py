"""Value functions of Risk: features of positions, exact tables, and shipped coefficients that were fitted once.

features.py has the features, value_functions.py the value functions made of features and tables, share_value.py the
value function for more than two seats.
"""
