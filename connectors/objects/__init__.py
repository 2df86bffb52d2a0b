"""Records as objects of a store: their formats, and the sink that writes them, for every kind of store.

`store.py` is the seam: `connectors.s3`, `connectors.gcs` and `connectors.azure` stand behind it. How a connector of one
more store is made: its keys beside `sink.keys.ObjectOptions`, its `Store`, and a subclass of each of
`sink.task.ObjectSinkTask` and `sink.connector.ObjectSinkConnector`.
"""
