"""What runs in the process of a script that is validated; it alone, of ``npuport.validate``, imports torch."""
