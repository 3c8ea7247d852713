import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersion;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersionCollection;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;

/**
 * Reads the handshake vectors with JUnit: kafka-clients decodes the responses and makes the choices.
 *
 * <p>VECTORS names the folder of the vectors, and RESULTS a file for `kafka-conformance vectors check`.
 */
class VectorsTest {
    private static final Path FOLDER = Path.of(System.getenv("VECTORS"));
    private static final int HEADER_BYTES = 8; // size and correlation id

    private static JsonNode load(String name) throws IOException {
        return new ObjectMapper().readTree(FOLDER.resolve(name).toFile());
    }

    private static Stream<JsonNode> vectors(String kind) throws IOException {
        return StreamSupport.stream(load(kind + ".json").get("vectors").spliterator(), false);
    }

    /** Reads hexadecimal in which spaces mean nothing, and 61*300 stands for 300 times the byte 61. */
    private static byte[] unhex(String text) throws IOException {
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        for (String part : text.split("\\s+")) {
            String[] unit = part.split("\\*");
            for (int count = unit.length == 1 ? 1 : Integer.parseInt(unit[1]); count > 0; count--) {
                data.write(HexFormat.of().parseHex(unit[0]));
            }
        }
        return data.toByteArray();
    }

    private static DynamicTest test(JsonNode vector, Executable body) {
        String id = vector.get("id").asText();
        return DynamicTest.dynamicTest(id + ": " + vector.get("sentence").asText(), () -> {
            String result = "fail";
            try {
                body.execute();
                result = "pass";
            } finally {
                record(id, result);
            }
        });
    }

    private static synchronized void record(String id, String result) throws IOException {
        String file = System.getenv("RESULTS");
        if (file != null) {
            String line = String.format("{\"id\": \"%s\", \"version\": %d, \"result\": \"%s\"}%n", id, load("index.json").get("version").asInt(), result);
            Files.writeString(Path.of(file), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }

    private static ApiVersionsResponse read(JsonNode vector) throws IOException {
        ByteBuffer frame = ByteBuffer.wrap(unhex(vector.get("bytes").asText()));
        if (frame.remaining() < HEADER_BYTES || frame.getInt() != frame.remaining()) {
            throw new IOException("the size is not that of the frame");
        }
        if (frame.getInt() != vector.get("correlation_id").asInt()) {
            throw new IOException("another correlation id");
        }
        return ApiVersionsResponse.parse(new ByteBufferAccessor(frame.slice()), (short) vector.get("request_version").asInt());
    }

    private static void check(JsonNode vector) throws IOException {
        String meaning = vector.get("meaning").asText();
        ApiVersionsResponse response;
        try {
            response = read(vector);
        } catch (IOException | RuntimeException error) {
            // A client need not read the rest of an error, and must only come to an end with what is malformed.
            assertTrue(meaning.equals("malformed") || meaning.equals("error"), error.toString());
            return;
        }
        if (meaning.equals("malformed")) {
            return;
        }
        assertEquals(vector.get("error_code").asInt(), response.data().errorCode());
        if (vector.has("entries")) {
            // The order of the keys means nothing; kafka-clients keeps one entry of a key that stands twice.
            TreeMap<Integer, List<String>> listed = new TreeMap<>();
            vector.get("entries").forEach(each -> listed
                .computeIfAbsent(each.get(0).asInt(), key -> new ArrayList<>())
                .add(each.get(1).asInt() + " to " + each.get(2).asInt()));
            for (ApiVersion each : response.data().apiKeys()) {
                String range = each.minVersion() + " to " + each.maxVersion();
                assertTrue(listed.getOrDefault((int) each.apiKey(), List.of()).contains(range), each.toString());
            }
            assertEquals(listed.keySet().size(), response.data().apiKeys().stream().map(ApiVersion::apiKey).distinct().count());
        }
    }

    @TestFactory
    Stream<DynamicTest> responses() throws IOException {
        return vectors("responses").map(vector -> test(vector, () -> check(vector)));
    }

    private static short choose(JsonNode vector) {
        JsonNode tables = vector.get("tables");
        ApiVersionCollection entries = new ApiVersionCollection();
        for (JsonNode entry : tables.get(tables.size() - 1).get("entries")) {
            entries.add(new ApiVersion().setApiKey((short) entry.get(0).asInt())
                .setMinVersion((short) entry.get(1).asInt()).setMaxVersion((short) entry.get(2).asInt()));
        }
        NodeApiVersions versions = new NodeApiVersions(entries, List.of(), List.of(), -1L);
        JsonNode client = vector.get("client");
        return versions.latestUsableVersion(ApiKeys.forId(vector.get("api_key").asInt()), (short) client.get(0).asInt(), (short) client.get(1).asInt());
    }

    @TestFactory
    Stream<DynamicTest> choices() throws IOException {
        // The features of transactions are applied elsewhere in kafka-clients.
        return vectors("choices").filter(each -> !each.get("in_transaction").asBoolean()).map(vector -> test(vector, () -> {
            if (vector.get("allowed").isEmpty()) {
                assertThrows(UnsupportedVersionException.class, () -> choose(vector));
            } else if (vector.get("newest").isNull()) {
                assertTrue(vector.get("allowed").toString().matches(".*\\b" + choose(vector) + "\\b.*"));
            } else {
                assertEquals(vector.get("newest").asInt(), choose(vector));
            }
        }));
    }
}
