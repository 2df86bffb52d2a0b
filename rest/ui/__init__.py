"""The operations page: what runs, what needs attention and why, and what can be done about it.

Pages are made on the server from what the REST interface answers, and from nothing else: so whoever looks sees and may
do what the interface lets them, and the same pages serve a cluster of Java workers. A script of one file refreshes what
is shown and filters lists; without it every page works, by links and forms.
"""
