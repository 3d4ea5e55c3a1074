"""What the supervisor and the worker have in common. It imports from neither."""
