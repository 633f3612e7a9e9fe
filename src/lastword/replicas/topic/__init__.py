"""What is known of a topic at one moment, looked up about once a second."""
