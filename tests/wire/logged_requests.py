"""Entries as real brokers wrote them, one of each form, and their meaning.

Long requests and responses are shortened.
"""

from __future__ import annotations

from wire.request_log import LoggedRequest
from wire.request_log_counts import LogCounts

USER = "User:ANONYMOUS"
_TIMES = (
    b"totalTime:1.5,requestQueueTime:0.7,localTime:0.3,remoteTime:0.0,throttleTime:0.2,responseQueueTime:0.1,sendTime:0.3,"
    b"securityProtocol:PLAINTEXT,principal:User:ANONYMOUS,listener:PLAINTEXT"
)
_JSON_TIMES = (
    b'"totalTimeMs":2.3,"requestQueueTimeMs":0.5,"localTimeMs":1.5,"remoteTimeMs":0.0,"throttleTimeMs":0,'
    b'"responseQueueTimeMs":0.05,"sendTimeMs":0.1,"securityProtocol":"PLAINTEXT","principal":"User:ANONYMOUS","listener":"PLAINTEXT",'
)
_END = b" (kafka.request.logger)"

ENTRIES: dict[str, tuple[bytes, LoggedRequest]] = {
    "0.10.0": (
        b"[2026-11-27 02:43:19,324] DEBUG Completed request:{api_key=3,api_version=1,correlation_id=3,"
        b'client_id=shop "a", b-(c)} -- {topics=[topic-a]} from connection 127.0.0.1:45451-127.0.0.1:54846;totalTime:52,'
        b"requestQueueTime:1,localTime:50,remoteTime:0,responseQueueTime:1,sendTime:0,securityProtocol:PLAINTEXT,"
        b"principal:User:ANONYMOUS (kafka.request.logger)",
        LoggedRequest(3, 1, 'shop "a", b-(c)', "127.0.0.1", USER),
    ),
    "0.10.0-fetch": (
        "[2026-11-27 02:43:20,916] DEBUG Completed request:Name: FetchRequest; Version: 2; CorrelationId: 9; "
        "ClientId: konsument ü; ReplicaId: -1; MaxWait: 500 ms; MinBytes: 1 bytes from connection "
        "127.0.0.1:45451-127.0.0.1:54866;totalTime:11,requestQueueTime:2,localTime:8,remoteTime:0,responseQueueTime:0,"
        "sendTime:1,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS (kafka.request.logger)".encode(),
        LoggedRequest(1, 2, "konsument ü", "127.0.0.1", USER),
    ),
    "0.10.0-null": (
        b"[2026-11-27 02:43:20,935] DEBUG Completed request:{api_key=18,api_version=0,correlation_id=7,client_id=null} -- {} "
        b"from connection 127.0.0.1:45451-127.0.0.1:54870;totalTime:1,requestQueueTime:1,localTime:0,remoteTime:0,"
        b"responseQueueTime:0,sendTime:0,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS (kafka.request.logger)",
        LoggedRequest(18, 0, None, "127.0.0.1", USER),
    ),
    "0.11": (
        b"[2026-11-27 02:43:39,711] DEBUG Completed request:{api_key=18,api_version=3,correlation_id=1,client_id=shop} -- {} "
        b"from connection 127.0.0.1:55997-127.0.0.1:53162;" + _TIMES + _END,
        LoggedRequest(18, 3, "shop", "127.0.0.1", USER),
    ),
    "1.0": (
        b"[2026-11-27 02:51:26,127] DEBUG Completed request:RequestHeader(apiKey=API_VERSIONS, apiVersion=3, clientId=named, "
        b"correlationId=7) -- {},response:{error_code=35,api_versions=[]} from connection "
        b"127.0.0.1:41257-127.0.0.1:49968-3;" + _TIMES + _END,
        LoggedRequest(18, 3, "named", "127.0.0.1", USER),
    ),
    "2.4": (
        b"[2026-11-27 02:45:24,262] DEBUG Completed request:RequestHeader(apiKey=API_VERSIONS, apiVersion=3, clientId=named, "
        b"correlationId=7) -- {client_software_name=my-app,client_software_version=1.2.3,_tagged_fields={}},response:"
        b"{error_code=0,api_keys=[{api_key=0,min_version=0,max_version=8,_tagged_fields={}},{api_key=1,min_version=0,"
        b"max_version=11,_tagged_fields={}}],throttle_time_ms=0,_tagged_fields={}} from connection "
        b"127.0.0.1:42055-127.0.0.1:39910-3;" + _TIMES + _END,
        LoggedRequest(18, 3, "named", "127.0.0.1", USER, "my-app", "1.2.3"),
    ),
    "2.7": (
        b"[2026-11-27 02:50:41,000] DEBUG Completed request:RequestHeader(apiKey=FIND_COORDINATOR, apiVersion=2, clientId=shop, "
        b"correlationId=3) -- {key=g1,key_type=0,_tagged_fields={}},response:{throttle_time_ms=0,error_code=15} from connection "
        b"127.0.0.1:49083-127.0.0.1:39872-1;" + _TIMES + b",clientInformation:ClientInformation("
        b"softwareName=confluent-kafka-python, softwareVersion=2.16.1-rdkafka-2.16.0)" + _END,
        LoggedRequest(10, 2, "shop", "127.0.0.1", USER, "confluent-kafka-python", "2.16.1-rdkafka-2.16.0"),
    ),
    "2.8": (
        b'[2026-11-27 02:45:41,885] DEBUG Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":18,'
        b'"requestApiVersion":3,"correlationId":0,"clientId":"named","requestApiKeyName":"API_VERSIONS"},"request":'
        b'{"clientSoftwareName":"my-app","clientSoftwareVersion":"1.2.3"},"response":{"errorCode":0,"apiKeys":[{"apiKey":0,'
        b'"minVersion":0,"maxVersion":9},{"apiKey":1,"minVersion":0,"maxVersion":12}],"throttleTimeMs":0},"connection":'
        b'"127.0.0.1:45663-127.0.0.1:58800-3",' + _JSON_TIMES + b'"clientInformation":{"softwareName":"unknown",'
        b'"softwareVersion":"unknown"}}' + _END,
        LoggedRequest(18, 3, "named", "127.0.0.1", USER, "my-app", "1.2.3"),
    ),
    "4.4": (
        "[2026-11-27 02:46:09,978] DEBUG Completed request:"
        '{"isForwarded":false,"requestHeader":{"requestApiKey":3,"requestApiVersion":0,"correlationId":7,'
        '"clientId":"x clientId=\\"quoted\\", \\\\ \\n newline ü","requestApiKeyName":"METADATA"},"request":{"topics":[]},'
        '"response":{"brokers":[{"nodeId":1,"host":"127.0.0.1","port":46545}],"topics":[]},'
        '"connection":"0:0:0:0:0:0:0:1%lo:46545-0:0:0:0:0:0:0:1%lo:58816-3-7",'.encode()
        + _JSON_TIMES
        + b'"clientInformation":{"softwareName":"apache-kafka-java","softwareVersion":"4.4.0"}}'
        + _END,
        LoggedRequest(3, 0, 'x clientId="quoted", \\ \n newline ü', "::1", USER, "apache-kafka-java", "4.4.0"),
    ),
}
"""By release, and what is special: the line and what it says."""

FORWARDED = (
    b'[2026-11-27 02:42:18,300] DEBUG Completed request:{"isForwarded":true,"requestHeader":{"requestApiKey":19,'
    b'"requestApiVersion":7,"correlationId":2,"clientId":"1","requestApiKeyName":"CREATE_TOPICS"},"request":{},"response":{},'
    b'"connection":"127.0.0.1:52953-127.0.0.1:42470-0",'
    + _JSON_TIMES
    + b'"clientInformation":{"softwareName":"unknown",'
    b'"softwareVersion":"unknown"}}' + _END
)
"""The controller's entry of a request that a broker has passed on."""


def counted(*lines: bytes) -> LogCounts:
    """Return what is counted in some lines."""
    counts = LogCounts()
    counts.count(lines)
    return counts
