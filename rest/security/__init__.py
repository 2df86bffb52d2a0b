"""Who may send which requests: authentication, roles, and the audit log. Off unless `rest.security.*` is set.

middleware.py is where a request passes: authentication.py identifies the user (users.py, tokens.py, certificates.py),
permissions.py knows what a request needs, roles.py who has it; access.py serves the resources, forwarded.py carries it
all to the leader, audit.py logs changes.
"""
