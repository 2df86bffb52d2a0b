"""Topics to and from Elasticsearch and OpenSearch, through the client of each."""
