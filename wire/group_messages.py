"""Schemas of the messages with which a member joins a group and stays in it.

Source: the message schemas of release 4.4.0; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wire.api_keys import HEARTBEAT_KEY, JOIN_GROUP_KEY, SYNC_GROUP_KEY
from wire.message_schemas import Api, api

JOIN_GROUP = api(f"""
    {JOIN_GROUP_KEY} JoinGroup 0-9 6+
    request
        GroupId string 0+
        SessionTimeoutMs int32 0+
        RebalanceTimeoutMs int32 1+ default=-1
        MemberId string 0+
        GroupInstanceId string 5+ nullable=5+ default=null
        ProtocolType string 0+
        Protocols []JoinGroupRequestProtocol 0+
            Name string 0+
            Metadata bytes 0+
        Reason string 8+ nullable=8+ default=null
    response
        ThrottleTimeMs int32 2+
        ErrorCode int16 0+
        GenerationId int32 0+ default=-1
        ProtocolType string 7+ nullable=7+ default=null
        ProtocolName string 0+ nullable=7+
        Leader string 0+
        SkipAssignment bool 9+ default=false
        MemberId string 0+
        Members []JoinGroupResponseMember 0+
            MemberId string 0+
            GroupInstanceId string 5+ nullable=5+ default=null
            Metadata bytes 0+
    """)

SYNC_GROUP = api(f"""
    {SYNC_GROUP_KEY} SyncGroup 0-5 4+
    request
        GroupId string 0+
        GenerationId int32 0+
        MemberId string 0+
        GroupInstanceId string 3+ nullable=3+ default=null
        ProtocolType string 5+ nullable=5+ default=null
        ProtocolName string 5+ nullable=5+ default=null
        Assignments []SyncGroupRequestAssignment 0+
            MemberId string 0+
            Assignment bytes 0+
    response
        ThrottleTimeMs int32 1+
        ErrorCode int16 0+
        ProtocolType string 5+ nullable=5+ default=null
        ProtocolName string 5+ nullable=5+ default=null
        Assignment bytes 0+
    """)

HEARTBEAT = api(f"""
    {HEARTBEAT_KEY} Heartbeat 0-4 4+
    request
        GroupId string 0+
        GenerationId int32 0+
        MemberId string 0+
        GroupInstanceId string 3+ nullable=3+ default=null
    response
        ThrottleTimeMs int32 1+
        ErrorCode int16 0+
    """)

GROUP_APIS: Mapping[int, Api] = MappingProxyType({each.api_key: each for each in (JOIN_GROUP, SYNC_GROUP, HEARTBEAT)})
"""The three APIs, by key."""
