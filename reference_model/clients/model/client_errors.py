"""Errors of the model client, and two ends of its process that only faults cause.

The errors are those that the client reports to its application.
"""

from __future__ import annotations


class ClientError(Exception):
    """Something that the client reports to its application."""


class Aborted(BaseException):
    """The client's process ends by SIGABRT; only a planted fault raises it."""


class Hung(BaseException):
    """The client's process does nothing any more and does not end; only a planted fault raises it."""


class ConnectionLost(ClientError):
    """The broker refused or closed the connection, or did not respond in time."""


class Nonsense(ClientError):
    """A response cannot be understood."""


class NoCommonVersion(ClientError):
    """Client and broker share no version of an API."""


class BrokerError(ClientError):
    """The broker responded with an error."""


class RequestRefused(BrokerError):
    """The broker considers the request itself wrong, so that another attempt is pointless."""


class RebootstrapRequired(BrokerError):
    """The connection leads to another cluster or another node than the client meant."""
