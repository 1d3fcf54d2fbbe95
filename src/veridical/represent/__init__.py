"""What can be taken away or changed."""
