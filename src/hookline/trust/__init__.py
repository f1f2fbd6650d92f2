"""What a user reviewed of a project: what it covers, the copy of it, and what runs by it."""
