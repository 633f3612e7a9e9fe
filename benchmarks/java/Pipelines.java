import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorSupplier;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * The topologies of benchmarks/pipeline.py in Kafka Streams, several times in one JVM.
 *
 * <pre>Pipelines count|windowed|reduce|deduplicate TOPIC STATE_DIR APPLICATION_ID RECORDS ROUNDS WINDOW_MS name=value...</pre>
 *
 * Each round is an application of its own (APPLICATION_ID-0, -1, ...) that processes the whole topic. Its time
 * ends when close() has flushed and committed everything. Writes one line of JSON. With 0 rounds, APPLICATION_ID-0
 * runs until the process is told to end.
 */
public final class Pipelines {
    private static final String STORE = "result";
    private static final long TIMEOUT_MINUTES = 15;
    private static final long REMEMBERED_MS = Duration.ofDays(1).toMillis();
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        if (args[5].equals("0")) {
            follow(args);
            return;
        }
        long records = Long.parseLong(args[4]);
        StringJoiner seconds = new StringJoiner(", ");
        for (int round = 0; round < Integer.parseInt(args[5]); round++) {
            AtomicLong seen = new AtomicLong();
            CountDownLatch done = new CountDownLatch(1);
            Topology topology = topology(args[0], args[1], Long.parseLong(args[6]), () -> {
                if (seen.incrementAndGet() == records) done.countDown();
            });
            long started = System.nanoTime();
            KafkaStreams streams = new KafkaStreams(topology, settings(args, round));
            streams.start();
            if (!done.await(TIMEOUT_MINUTES, TimeUnit.MINUTES)) throw new IllegalStateException("not done in time");
            if (!streams.close(Duration.ofMinutes(TIMEOUT_MINUTES))) throw new IllegalStateException("not closed in time");
            seconds.add(String.format("%.3f", (System.nanoTime() - started) / 1e9));
        }
        System.out.printf("{\"rounds\": [%s], \"ready_at\": %.3f}%n", seconds, System.currentTimeMillis() / 1e3);
    }

    private static void follow(String[] args) throws InterruptedException {
        Topology topology = topology(args[0], args[1], Long.parseLong(args[6]), () -> { });
        KafkaStreams streams = new KafkaStreams(topology, settings(args, 0));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
        streams.start();
        Thread.currentThread().join();
    }

    private static Topology topology(String kind, String topic, long windowMs, Runnable onRecord) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, byte[]> events = builder
            .stream(topic, Consumed.with(Serdes.String(), Serdes.ByteArray()))
            .peek((key, value) -> onRecord.run());
        KGroupedStream<String, byte[]> grouped =
            events.groupByKey(Grouped.with(Serdes.String(), Serdes.ByteArray()));
        switch (kind) {
            case "count" -> grouped.count(Materialized.as(STORE));
            case "windowed" -> grouped
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMillis(windowMs)))
                .count(Materialized.as(STORE));
            case "reduce" -> grouped.reduce(Pipelines::sum, Materialized.as(STORE));
            case "deduplicate" -> events
                .processValues(new Deduplicate())
                .toTable(Materialized.<String, byte[], KeyValueStore<Bytes, byte[]>>as(STORE)
                    .withKeySerde(Serdes.String()).withValueSerde(Serdes.ByteArray()));
            default -> throw new IllegalArgumentException(kind);
        }
        return builder.build();
    }

    /** The new object with the sum of both sequence numbers, as the Python reducer does it. */
    private static byte[] sum(byte[] before, byte[] now) {
        try {
            ObjectNode result = (ObjectNode) JSON.readTree(now);
            result.put("seq", JSON.readTree(before).get("seq").asLong() + result.get("seq").asLong());
            return JSON.writeValueAsBytes(result);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Lets the first event of each id through, and those a day or more after the last one that was. */
    private static final class Deduplicate implements FixedKeyProcessorSupplier<String, byte[], byte[]> {
        private static final String SEEN = "seen";

        @Override
        public Set<StoreBuilder<?>> stores() {
            return Set.of(Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(SEEN), Serdes.String(), Serdes.Long()).withCachingEnabled());
        }

        @Override
        public FixedKeyProcessor<String, byte[], byte[]> get() {
            return new FixedKeyProcessor<>() {
                private FixedKeyProcessorContext<String, byte[]> context;
                private KeyValueStore<String, Long> seen;

                @Override
                public void init(FixedKeyProcessorContext<String, byte[]> context) {
                    this.context = context;
                    this.seen = context.getStateStore(SEEN);
                }

                @Override
                public void process(FixedKeyRecord<String, byte[]> event) {
                    String id = idOf(event.value());
                    Long before = seen.get(id);
                    if (before != null && event.timestamp() - before < REMEMBERED_MS) return;
                    seen.put(id, event.timestamp());
                    context.forward(event);
                }
            };
        }
    }

    private static String idOf(byte[] event) {
        try {
            return JSON.readTree(event).get("id").asText();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static Properties settings(String[] args, int round) {
        Properties settings = new Properties();
        String application = args[3] + "-" + round;
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, Path.of(args[2]).toString());
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        for (int i = 7; i < args.length; i++) {
            String[] nameAndValue = args[i].split("=", 2);
            settings.put(nameAndValue[0], nameAndValue[1]);
        }
        return settings;
    }
}
