"""Every model of the library once more, in NumPy, for recorded tests. See tools/make-golden."""
