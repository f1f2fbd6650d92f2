"""What hookline costs, beside what the same work costs without it and in its peer."""
