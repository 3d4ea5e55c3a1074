"""The first process of a cell, one module per kind of runner: it finishes the cell, then becomes the supervisor."""
