import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.kafka.headers.MessageTypeSerdeHeaders;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Apicurio's serializers and deserializers, set to Confluent's wire format.
 *
 * <p>Each line of the input is a value in JSON to write, with the bytes of another writer to read;
 * its answer is the bytes written and the value read. The schemas are in the registry already.
 */
public final class SchemaRecords {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final Map<String, Object> CONFLUENT = Map.ofEntries(
            Map.entry("apicurio.registry.use-id", "contentId"),
            Map.entry("apicurio.registry.headers.enabled", "false"),
            Map.entry("apicurio.registry.auto-register", "false"),
            Map.entry("apicurio.registry.find-latest", "true"),
            Map.entry("apicurio.registry.serde.send-type-ref", "false"),
            Map.entry("apicurio.registry.serde.send-indexes", "true"),
            Map.entry("apicurio.registry.serde.read-type-ref", "false"),
            Map.entry("apicurio.registry.serde.read-indexes", "true"),
            Map.entry("apicurio.registry.serde.validation-enabled", "true"));

    private final String topic;
    private final Map<String, Object> settings;

    private SchemaRecords(String url, String topic) {
        this.topic = topic;
        settings = new HashMap<>(CONFLUENT);
        settings.put("apicurio.registry.url", url);
    }

    public static void main(String[] arguments) {
        int status = 1;
        try {
            answerLines();
            status = 0;
        } catch (Exception | LinkageError error) {
            error.printStackTrace();
        }
        System.exit(status); // the client's threads would keep the process
    }

    private static void answerLines() throws Exception {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            SchemaRecords records = new SchemaRecords(
                    request.get("url").textValue(), request.get("topic").textValue());
            System.out.println(records.answer(request));
        }
    }

    private ObjectNode answer(JsonNode request) throws Exception {
        byte[] given = HexFormat.of().parseHex(request.get("data").textValue());
        JsonNode value = request.get("value");
        return switch (request.get("kind").textValue()) {
            case "avro" -> avro(request.get("schema").textValue(), value, given);
            case "json_schema" -> jsonSchema(value, given);
            case "protobuf" -> protobuf(request, value, given);
            default -> throw new IllegalArgumentException(request.toString());
        };
    }

    private ObjectNode avro(String text, JsonNode value, byte[] given) throws Exception {
        Schema schema = new Schema.Parser().parse(text);
        GenericRecord record = new GenericDatumReader<GenericRecord>(schema)
                .read(null, DecoderFactory.get().jsonDecoder(schema, value.toString()));
        GenericRecord found = read(new AvroKafkaDeserializer<GenericRecord>(), given);
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        JsonEncoder encoder = EncoderFactory.get().jsonEncoder(found.getSchema(), shown);
        new GenericDatumWriter<GenericRecord>(found.getSchema()).write(found, encoder);
        encoder.flush();
        byte[] written = write(new AvroKafkaSerializer<GenericRecord>(), record);
        return said(written, JSON.readTree(shown.toByteArray()));
    }

    private ObjectNode jsonSchema(JsonNode value, byte[] given) {
        settings.put("apicurio.registry.deserializer.value.return-class", JsonNode.class.getName());
        byte[] written = write(new JsonSchemaKafkaSerializer<JsonNode>(), value);
        return said(written, read(new JsonSchemaKafkaDeserializer<JsonNode>(), given));
    }

    private ObjectNode protobuf(JsonNode request, JsonNode value, byte[] given) throws Exception {
        FileDescriptorProto file = FileDescriptorProto.parseFrom(
                HexFormat.of().parseHex(request.get("descriptor").textValue()));
        FileDescriptor[] needed = new FileDescriptor[0];
        String name = request.get("message").textValue();
        DynamicMessage.Builder message = DynamicMessage.newBuilder(
                FileDescriptor.buildFrom(file, needed).findMessageTypeByName(name));
        JsonFormat.parser().merge(value.toString(), message);
        // It takes the map of a message that no generated class describes for another type.
        settings.put("apicurio.registry.serde.validation-enabled", "false");
        byte[] written = write(new ProtobufKafkaSerializer<Message>(), message.build());
        settings.put(
                "apicurio.registry.deserializer.value.return-class", DynamicMessage.class.getName());
        Message found = read(new ProtobufKafkaDeserializer<Message>(), given, name);
        String shown = JsonFormat.printer().preservingProtoFieldNames().print(found);
        return said(written, JSON.readTree(shown));
    }

    private <T> byte[] write(Serializer<T> serializer, T value) {
        try (serializer) {
            serializer.configure(settings, false);
            return serializer.serialize(topic, value);
        }
    }

    private <T> T read(Deserializer<T> deserializer, byte[] data) {
        try (deserializer) {
            deserializer.configure(settings, false);
            return deserializer.deserialize(topic, data);
        }
    }

    /** Without a generated class it wants the name of the message; it skips the path to it. */
    private <T> T read(Deserializer<T> deserializer, byte[] data, String message) {
        RecordHeaders headers = new RecordHeaders();
        new MessageTypeSerdeHeaders(settings, false).addMessageTypeHeader(headers, message);
        try (deserializer) {
            deserializer.configure(settings, false);
            return deserializer.deserialize(topic, headers, data);
        }
    }

    private static ObjectNode said(byte[] written, JsonNode read) {
        ObjectNode answer = JSON.createObjectNode();
        answer.put("data", HexFormat.of().formatHex(written));
        answer.set("value", read);
        return answer;
    }
}
