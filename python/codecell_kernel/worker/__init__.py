"""What runs in the same process as user code. Whatever it says to the supervisor can be forged."""
