"""Plain HTTP/1.1 with keep-alive: what both clients send, and how they read the answer."""
