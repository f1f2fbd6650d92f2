"""What belongs to no room: files, places, notices, problems."""
