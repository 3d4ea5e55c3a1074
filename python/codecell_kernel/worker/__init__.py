"""What runs in the same process as user code. User code can forge everything that it sends to the supervisor."""
