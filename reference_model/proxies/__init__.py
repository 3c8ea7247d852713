"""A correct proxy in front of the reference broker, and faults to plant in it."""

from reference_model.proxies.faults import FAULTS
from reference_model.proxies.model_proxy import ModelProxy, ProxyConnection

__all__ = ["FAULTS", "ModelProxy", "ProxyConnection"]
