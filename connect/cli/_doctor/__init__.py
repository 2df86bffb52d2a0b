"""The checks of `connect doctor`: a module for each family, the findings, and their output."""
