"""Tables and queries of Spark into topics: changes of a Delta table, rows of any SQL query."""
