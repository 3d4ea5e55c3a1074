"""The objects of docs/wire.md as checked dataclasses."""
