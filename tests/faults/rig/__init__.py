"""What the fault tests are made of: Redis in every topology, a network that fails on demand, and load that counts."""
