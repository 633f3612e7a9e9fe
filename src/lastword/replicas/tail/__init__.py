"""The thread that follows a topic, and the parts it is made of."""
