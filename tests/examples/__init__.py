"""Every example runs from its folder, through the agent loop, and has to show its effect."""
