"""Under load, faults and hostile input: nothing lost, nothing leaked, nothing hung."""
