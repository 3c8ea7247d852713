"""The oldest version of each library that works with a release."""
