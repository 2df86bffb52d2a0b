"""What is done to a run. A fault is a generator: it chooses, yields whom it meets, then does it and undoes it."""
