"""AG-UI as the packages that people run produce it, around fake models: recorded, and live in a leg of its own."""
