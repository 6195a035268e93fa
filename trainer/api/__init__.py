"""The Python API: what `import trainer` offers; docs/python.md describes it."""
