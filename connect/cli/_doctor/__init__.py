"""What `connect doctor` looks at: a module for each family of checks, the findings, and how they are shown."""
