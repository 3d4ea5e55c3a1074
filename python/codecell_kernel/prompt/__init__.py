"""What a person at a prompt asks for: completion, inspection, measurements. Loaded when the first one asks."""
