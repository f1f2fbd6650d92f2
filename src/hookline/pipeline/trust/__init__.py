"""What a review of a project's hooks covers, and whether it still holds."""
