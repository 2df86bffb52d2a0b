"""What a plug-in is: connectors, tasks, transformations, converters and their contracts."""
