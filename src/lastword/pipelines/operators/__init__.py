"""What happens to a batch of events at each step."""
