"""The process that holds the channel. It never runs user code and never imports from `worker`."""
