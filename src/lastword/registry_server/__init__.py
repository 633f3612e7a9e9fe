"""A schema registry on this machine: Apicurio, with Confluent's REST interface."""
