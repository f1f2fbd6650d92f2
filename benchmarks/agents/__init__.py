"""The same small agent in each framework: a scripted model and one tool."""
