"""What a broker does at the limits that its operator sets."""
