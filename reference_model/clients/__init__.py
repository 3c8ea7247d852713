"""The other end: scripts of what a broker does, what a client then does, and which of that is allowed."""
