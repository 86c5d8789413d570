"""Tournaments: plans that follow from a seed, contestants, hosts, workers and sandboxes.

It may import the server and the layers below, but not `bots`.
"""
