"""The operators: what each step does with a batch of events."""
