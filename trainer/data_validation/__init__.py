"""Reads data to propose a schema, to check data against one, and to measure drift."""
