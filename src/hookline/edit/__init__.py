"""Changes to settings files as people wrote them: comments and layout stay."""
