"""The stages an event passes, from settings to the aggregated answer."""
