"""Finds the patch releases of Apache Kafka whose tables differ within their line."""
