"""The thread that follows a topic, and its parts."""
