"""Instances of one application: who is a member, who owns which partition, and how they talk."""
