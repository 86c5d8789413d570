"""Value functions of Risk: features of positions, exact tables, and shipped coefficients that were fitted once."""
