"""One streaming query and what a task does about it: where it begins, how far it is, when it may go on."""
