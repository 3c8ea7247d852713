"""Tests of learning: letters, machines, suites, queries and what is learned in memory."""
