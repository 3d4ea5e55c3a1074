"""The program inside a cell: a supervisor that holds the channel and a worker that runs user code."""
