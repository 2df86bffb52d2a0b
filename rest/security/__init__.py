"""Who may ask a worker for what: authentication, roles, and the audit log. Off unless `rest.security.*` says so.

middleware.py is where a request meets the rest: authentication.py finds out who asks (users.py, tokens.py,
certificates.py), permissions.py what a request needs, roles.py who has it; access.py answers the resources,
forwarded.py carries it all to the leader, audit.py writes down what was changed.
"""
