"""By what luck is measured in Risk: features of positions, exact tables, coefficients fitted once and shipped."""
