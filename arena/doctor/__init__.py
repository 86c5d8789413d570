"""Faults that befall a bot on a network, played to it one by one between it and a real arena."""
