"""Values and how often: what expressions of the whole program may be, and how often lines run."""
