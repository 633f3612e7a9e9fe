import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Aggregator;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Initializer;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Merger;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Reducer;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Runs cases through Kafka Streams' own test driver: one JSON object per line in, one out.
 *
 * <p>A case is a topology and its records, in the order in which they are processed; see
 * streams_cases.py, which has the same functions under the same names. The answer has every record
 * of the store's changelog and of the output topic as [key in hex, value, timestamp], with windowed
 * keys as Kafka's serializers write them, and how many records were dropped.
 */
public final class StreamsCases {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();
    private static final String STORE = "store";
    private static final String OUT = "out";
    private static final int SEQUENCE_BYTES = 4;
    private static final Serde<JsonNode> VALUES = Serdes.serdeFrom(
        (topic, value) -> value == null ? null : value.toString().getBytes(StandardCharsets.UTF_8),
        (topic, bytes) -> bytes == null ? null : parse(bytes));

    public static void main(final String[] arguments) throws IOException {
        final String stateDir = Files.createTempDirectory("streams-cases").toString();
        try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                System.out.println(run(JSON.readTree(line), stateDir));
            }
        } finally {
            Utils.delete(new File(stateDir));
        }
    }

    private static JsonNode run(final JsonNode given, final String stateDir) {
        final StreamsBuilder builder = new StreamsBuilder();
        build(builder, given);
        final Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDir);
        // Every update is seen: which of them a cache would leave out is not the question.
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        try (var driver = new TopologyTestDriver(builder.build(), settings)) {
            final List<TestInputTopic<byte[], byte[]>> inputs = new ArrayList<>();
            for (final JsonNode topic : given.get("topics")) {
                inputs.add(driver.createInputTopic(
                    topic.textValue(), new ByteArraySerializer(), new ByteArraySerializer()));
            }
            for (final JsonNode each : given.get("records")) {
                inputs.get(each.get(0).intValue())
                    .pipeInput(bytesOfHex(each.get(1)), bytesOfText(each.get(2)), each.get(3).longValue());
            }
            final boolean timeWindows = given.get("windows").has("size");
            final ObjectNode answer = JSON.createObjectNode();
            answer.set("changelog", read(driver, "app-" + STORE + "-changelog", timeWindows));
            answer.set("emitted", read(driver, OUT, false));
            answer.put("dropped", dropped(driver));
            return answer;
        }
    }

    private static double dropped(final TopologyTestDriver driver) {
        return driver.metrics().entrySet().stream()
            .filter(each -> each.getKey().name().equals("dropped-records-total"))
            .mapToDouble(each -> (double) each.getValue().metricValue())
            .sum();
    }

    /** Rows of windows have a number at their end in the changelog, which is always 0. */
    private static ArrayNode read(
            final TopologyTestDriver driver, final String topic, final boolean numbered) {
        final TestOutputTopic<byte[], byte[]> output =
            driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        final ArrayNode found = JSON.createArrayNode();
        while (!output.isEmpty()) {
            final var each = output.readRecord();
            final byte[] key = each.key();
            final int length = numbered ? key.length - SEQUENCE_BYTES : key.length;
            final ArrayNode row = found.addArray();
            row.add(HEX.formatHex(key, 0, length));
            row.add(each.value() == null ? null : HEX.formatHex(each.value()));
            row.add(each.timestamp());
        }
        return found;
    }

    private static void build(final StreamsBuilder builder, final JsonNode given) {
        final List<KStream<Bytes, JsonNode>> ways = new ArrayList<>();
        final Map<List<String>, KStream<Bytes, JsonNode>> read = new HashMap<>();
        for (final JsonNode way : given.get("ways")) {
            final List<String> topics = new ArrayList<>();
            way.get("topics").forEach(topic -> topics.add(topic.textValue()));
            ways.add(withSteps(read(builder, read, topics), way.get("steps")));
        }
        final KStream<Bytes, JsonNode> stream =
            withSteps(ways.stream().reduce(KStream::merge).orElseThrow(), given.get("steps"));
        final String fold = given.get("fold").textValue();
        final JsonNode windows = given.get("windows");
        final String function = given.get("function").textValue();
        if (windows.isNull() && fold.equals("latest")) {
            stream.toTable(Materialized.<Bytes, JsonNode, KeyValueStore<Bytes, byte[]>>as(STORE)
                    .withKeySerde(Serdes.Bytes()).withValueSerde(VALUES))
                .toStream().to(OUT, Produced.with(Serdes.Bytes(), VALUES));
            return;
        }
        final KGroupedStream<Bytes, JsonNode> grouped = stream.groupByKey(Grouped.with(Serdes.Bytes(), VALUES));
        final Initializer<JsonNode> initial = () -> nullable(given.get("initial"));
        final Aggregator<Bytes, JsonNode, JsonNode> aggregator =
            (key, value, aggregate) -> reduced(function, aggregate, value);
        final Reducer<JsonNode> reducer = fold.equals("latest")
            ? (old, value) -> value : (old, value) -> reduced(function, old, value);
        final Duration retention = given.get("retention").isNull()
            ? null : Duration.ofMillis(given.get("retention").longValue());
        final boolean suppress = given.get("suppress").booleanValue();
        final Kept kept = new Kept(retention);
        if (windows.isNull()) {
            final Told<Bytes> told = new Told<>(Serdes.Bytes(), false);
            switch (fold) {
                case "count" -> told.write(grouped.count(kept.rows(Serdes.Long())), Serdes.Long());
                case "reduce" -> told.write(grouped.reduce(reducer, kept.rows(VALUES)), VALUES);
                default -> told.write(grouped.aggregate(initial, aggregator, kept.rows(VALUES)), VALUES);
            }
        } else if (windows.has("gap")) {
            final var sessions = grouped.windowedBy(
                SessionWindows.ofInactivityGapAndGrace(ms(windows, "gap"), ms(windows, "grace")));
            final String named = given.get("merger").textValue();
            final Merger<Bytes, JsonNode> merger = (key, one, two) -> reduced(named, one, two);
            final var told = new Told<>(new WindowedSerdes.SessionWindowedSerde<>(Serdes.Bytes()), suppress);
            switch (fold) {
                case "count" -> told.write(sessions.count(kept.sessions(Serdes.Long())), Serdes.Long());
                case "aggregate" ->
                    told.write(sessions.aggregate(initial, aggregator, merger, kept.sessions(VALUES)), VALUES);
                default -> told.write(sessions.reduce(reducer, kept.sessions(VALUES)), VALUES);
            }
        } else {
            final Duration size = ms(windows, "size");
            final var timed = grouped.windowedBy(
                TimeWindows.ofSizeAndGrace(size, ms(windows, "grace")).advanceBy(ms(windows, "advance")));
            final var told =
                new Told<>(new WindowedSerdes.TimeWindowedSerde<>(Serdes.Bytes(), size.toMillis()), suppress);
            switch (fold) {
                case "count" -> told.write(timed.count(kept.windows(Serdes.Long())), Serdes.Long());
                case "aggregate" -> told.write(timed.aggregate(initial, aggregator, kept.windows(VALUES)), VALUES);
                default -> told.write(timed.reduce(reducer, kept.windows(VALUES)), VALUES);
            }
        }
    }

    /** A topic can be read once only, so that what reads several of them merges them. */
    private static KStream<Bytes, JsonNode> read(
            final StreamsBuilder builder,
            final Map<List<String>, KStream<Bytes, JsonNode>> read,
            final List<String> topics) {
        KStream<Bytes, JsonNode> known = read.get(topics);
        if (known == null && topics.size() == 1) {
            known = builder.stream(topics, Consumed.with(Serdes.Bytes(), VALUES));
        } else if (known == null) {
            known = read(builder, read, topics.subList(0, 1));
            for (final String topic : topics.subList(1, topics.size())) {
                known = known.merge(read(builder, read, List.of(topic)));
            }
        }
        read.put(topics, known);
        return known;
    }

    private static KStream<Bytes, JsonNode> withSteps(
            final KStream<Bytes, JsonNode> start, final JsonNode steps) {
        KStream<Bytes, JsonNode> stream = start;
        for (final JsonNode step : steps) {
            final String function = step.get(1).textValue();
            stream = switch (step.get(0).textValue()) {
                case "filter" -> stream.filter((key, value) -> keeps(function, value));
                case "map" -> stream.mapValues(value -> mapped(function, value));
                default -> stream.selectKey((key, value) -> rekeyed(function, value));
            };
        }
        return stream;
    }

    /** Where results are kept: in the default stores, for as long as the case says. */
    private record Kept(Duration retention) {
        <V> Materialized<Bytes, V, KeyValueStore<Bytes, byte[]>> rows(final Serde<V> values) {
            return Materialized.<Bytes, V, KeyValueStore<Bytes, byte[]>>as(STORE)
                .withKeySerde(Serdes.Bytes()).withValueSerde(values);
        }

        <V> Materialized<Bytes, V, WindowStore<Bytes, byte[]>> windows(final Serde<V> values) {
            final var kept = Materialized.<Bytes, V, WindowStore<Bytes, byte[]>>as(STORE)
                .withKeySerde(Serdes.Bytes()).withValueSerde(values);
            return retention == null ? kept : kept.withRetention(retention);
        }

        <V> Materialized<Bytes, V, SessionStore<Bytes, byte[]>> sessions(final Serde<V> values) {
            final var kept = Materialized.<Bytes, V, SessionStore<Bytes, byte[]>>as(STORE)
                .withKeySerde(Serdes.Bytes()).withValueSerde(values);
            return retention == null ? kept : kept.withRetention(retention);
        }
    }

    /** What goes on from a table: every update, or final windows only. */
    private record Told<K>(Serde<K> keys, boolean suppress) {
        @SuppressWarnings("unchecked")
        <V> void write(final KTable<K, V> table, final Serde<V> values) {
            final KTable<K, V> told = suppress
                ? table.suppress((Suppressed<? super K>)
                    (Suppressed<?>) Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))
                : table;
            told.toStream().to(OUT, Produced.with(keys, values));
        }
    }

    private static boolean keeps(final String function, final JsonNode value) {
        return switch (function) {
            case "even" -> number(value) % 2 == 0;
            default -> value != null;
        };
    }

    private static JsonNode mapped(final String function, final JsonNode value) {
        final long n = number(value);
        return switch (function) {
            case "more" -> LongNode.valueOf(n + 1);
            case "same" -> value;
            case "gone" -> n % 3 == 0 ? null : value;
            default -> n % 4 == 0 ? NullNode.instance : value;
        };
    }

    private static Bytes rekeyed(final String function, final JsonNode value) {
        final String key = function.equals("empty") && number(value) % 3 == 0 ? "" : "k" + number(value) % 3;
        return Bytes.wrap(key.getBytes(StandardCharsets.UTF_8));
    }

    private static JsonNode reduced(final String function, final JsonNode old, final JsonNode value) {
        final long mixed = (number(old) * 31 + number(value)) % 9973;
        return switch (function) {
            case "mix" -> LongNode.valueOf(mixed);
            case "gone" -> mixed % 3 == 0 ? null : LongNode.valueOf(mixed);
            default -> mixed % 3 == 0 ? NullNode.instance : LongNode.valueOf(mixed);
        };
    }

    /** No value, JSON's null and a number: three different things. */
    private static long number(final JsonNode value) {
        return value == null ? 1000 : value.isNull() ? 100 : value.longValue();
    }

    private static JsonNode nullable(final JsonNode number) {
        return number.isNull() ? null : number;
    }

    private static Duration ms(final JsonNode windows, final String name) {
        return Duration.ofMillis(windows.get(name).longValue());
    }

    private static byte[] bytesOfHex(final JsonNode text) {
        return text.isNull() ? null : HEX.parseHex(text.textValue());
    }

    private static byte[] bytesOfText(final JsonNode text) {
        return text.isNull() ? null : text.textValue().getBytes(StandardCharsets.UTF_8);
    }

    private static JsonNode parse(final byte[] bytes) {
        try {
            return JSON.readTree(bytes);
        } catch (final IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
