"""Tests of learning: letters, machines, suites, queries and learning in memory."""
