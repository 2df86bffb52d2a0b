"""The operations page: what runs, what needs attention and why, and what can be done about it.

Pages are rendered on the server from responses of the REST interface, and from nothing else: so users see and may do
what the interface lets them, and the same pages serve a cluster of Java workers. A script of one file refreshes figures
and filters lists; without it every page works, by links and forms.
"""
