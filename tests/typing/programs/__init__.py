"""Programs as users write them: type checkers accept each as it stands, and it runs. They import
nothing of hookline but its root."""
