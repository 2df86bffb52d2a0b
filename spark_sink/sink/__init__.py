"""Topics into tables: the Spark sink connector and its keys."""
