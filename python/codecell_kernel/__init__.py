"""The program inside a cell: a supervisor that owns the channel and a worker that runs user code."""
