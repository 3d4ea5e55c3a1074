"""A `codecell serve` of this process."""
