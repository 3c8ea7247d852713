"""What the brokers of a cluster support: their tables, read, compared, and matched with the features that one needs."""
