"""Defects that show at an older level alone.

Listeners and nodes do not follow when new levels are finalized, nodes disagree, or transactions get no response.
"""

from __future__ import annotations

import dataclasses

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.clients.rules.transaction_versions import NEWEST_BEFORE_V2
from reference_model.faults.broker.registry import defect
from reference_model.faults.broker.transactions import IN_TRANSACTIONS, refuse, transactional_write
from reference_model.profiles.listeners import CONTROLLER, SASL_PLAINTEXT
from reference_model.profiles.profile import OLDER_REFERENCE, OLDER_REFERENCE_CLUSTER
from wire.api_keys import PRODUCE_KEY, TXN_OFFSET_COMMIT_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FinalizedFeatureKey
from wire.exchange import Outcome

FOLLOW = "FEATURES.levels-follow"
NODES_AGREE = "FEATURES.same-levels-on-every-node"
FIRST_NODE = 1


def _lists_new_levels(context: RequestContext) -> bool:
    """Return whether a response lists features, and new levels were finalized since the broker was started."""
    lists_features = context.succeeds and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION
    return lists_features and context.broker.features.epoch > 0


def _is_older_second_node(context: RequestContext) -> bool:
    """Return whether a response of the second node lists features, and no new levels were finalized."""
    lists_features = context.succeeds and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION
    is_second = context.broker.identity.node_id != FIRST_NODE
    return lists_features and is_second and context.broker.features.epoch == 0


def _list_old_levels(context: RequestContext) -> None:
    """List the levels and the epoch with which the broker was started."""
    context.replace_response(finalized_features=context.broker.profile.finalized_features, finalized_features_epoch=0)


@defect(Stage.RESPONSE, FOLLOW, listeners=(CONTROLLER,), model=OLDER_REFERENCE)
def the_controller_keeps_old_levels(context: RequestContext) -> None:
    """The controller listener lists the old levels and their epoch after new ones were finalized."""
    if _lists_new_levels(context):
        _list_old_levels(context)


@defect(Stage.RESPONSE, FOLLOW, listeners=(SASL_PLAINTEXT,), model=OLDER_REFERENCE)
def listeners_with_sasl_leave_out_a_new_level(context: RequestContext) -> None:
    """The listener with SASL leaves out one of the features after new levels were finalized."""
    if _lists_new_levels(context):
        context.replace_response(finalized_features=context.message.finalized_features[:-1])


@defect(Stage.RESPONSE, FOLLOW, model=OLDER_REFERENCE)
def the_epoch_stays_when_levels_rise(context: RequestContext) -> None:
    """After new levels were finalized, they are listed with the epoch of the old ones."""
    if _lists_new_levels(context):
        context.replace_response(finalized_features_epoch=0)


@defect(Stage.RESPONSE, FOLLOW, model=OLDER_REFERENCE_CLUSTER)
def the_second_node_keeps_old_levels(context: RequestContext) -> None:
    """The second node lists the old levels and their epoch after the first one has finalized new ones."""
    if _lists_new_levels(context) and context.broker.identity.node_id != FIRST_NODE:
        _list_old_levels(context)


@defect(Stage.RESPONSE, NODES_AGREE, model=OLDER_REFERENCE_CLUSTER)
def the_second_node_lists_lower_levels(context: RequestContext) -> None:
    """The second node lists each finalized level one lower than the first node does, at the same epoch."""
    if _is_older_second_node(context):
        lower = (
            dataclasses.replace(each, max_version_level=each.max_version_level - 1)
            for each in context.message.finalized_features
        )
        context.replace_response(finalized_features=tuple(lower))


@defect(Stage.RESPONSE, NODES_AGREE, model=OLDER_REFERENCE_CLUSTER)
def the_second_node_forgets_the_levels(context: RequestContext) -> None:
    """The second node lists no finalized feature, at the epoch at which the first one lists some."""
    if _is_older_second_node(context):
        context.replace_response(finalized_features=())


@defect(Stage.RESPONSE, NODES_AGREE, model=OLDER_REFERENCE_CLUSTER)
def the_second_node_is_ahead_at_the_same_epoch(context: RequestContext) -> None:
    """From v4 on the second node lists a feature as finalized that the first one does not, at the same epoch."""
    if _is_older_second_node(context) and context.reaction.response_version > FIRST_FLEXIBLE_VERSION:
        ahead = FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1)
        context.replace_response(finalized_features=(*context.message.finalized_features, ahead))


@defect(Stage.ANSWER, IN_TRANSACTIONS, every_api=True, model=OLDER_REFERENCE)
def old_levels_refuse_one_version_too_many(context: RequestContext) -> None:
    """Below transaction.version 2 already Produce v11 gets UNSUPPORTED_VERSION in a transaction."""
    newest = NEWEST_BEFORE_V2[PRODUCE_KEY]
    refuse(context, PRODUCE_KEY, newest, newest)


@defect(Stage.ANSWER, IN_TRANSACTIONS, every_api=True, model=OLDER_REFERENCE)
def old_levels_refuse_old_offsets_in_transactions(context: RequestContext) -> None:
    """Below transaction.version 2 TxnOffsetCommit gets UNSUPPORTED_VERSION from v3 on."""
    refuse(context, TXN_OFFSET_COMMIT_KEY, 3, 99)


@defect(Stage.REACTION, IN_TRANSACTIONS, every_api=True, model=OLDER_REFERENCE)
def what_the_level_forbids_closes(context: RequestContext) -> None:
    """Below transaction.version 2 Produce v12 and above closes the connection if it is one of a transaction."""
    if transactional_write(context, PRODUCE_KEY, NEWEST_BEFORE_V2[PRODUCE_KEY] + 1, 99) is not None:
        context.replace_reaction(outcome=Outcome.CLOSED)
