"""The engine, in the order data flows: settings, registry, planner, runner, aggregator."""
