"""One arena on the network: connections, seeks, matches under way, and who may come in."""
