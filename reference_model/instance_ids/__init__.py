"""KIP-1313, a proposal under discussion: a broker that gives every request a client instance id, and its planted faults."""

from reference_model.instance_ids.faults import FAULTS as FAULTS
from reference_model.instance_ids.model_broker import PROPOSALS as PROPOSALS
from reference_model.instance_ids.model_broker import InstanceIdBroker as InstanceIdBroker
from reference_model.instance_ids.model_broker import InstanceIdConnection as InstanceIdConnection
