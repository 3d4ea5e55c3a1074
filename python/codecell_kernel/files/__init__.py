"""Serves the workspace's files to the host, for cells whose files no directory of the host holds."""
