"""What each call asks the service for and makes of the answers, without any input or output."""
