"""The process that owns the channel. It never runs user code and never imports from `worker`."""
