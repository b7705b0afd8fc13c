"""Stands for a package that cannot be installed any more; its environments are replaced in the scripts."""
