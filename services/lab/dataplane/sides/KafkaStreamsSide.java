import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Side: Kafka Streams with one thread. State is in memory with a changelog; its cache lets a key's changes go to the
 * changelog once a commit, as ours do, while every record gives its result. With a seventh argument, "standby", another
 * member of the group follows the state of each partition.
 */
public final class KafkaStreamsSide {
    public static final class Packet {
        public String src;
        public String dst;
        public String proto;
        public int bytes;
        public int dport;
    }

    public record Slim(String src, String peer, int bytes, int port) {}

    public record Totals(String src, long n, long bytes) {}

    private static final ObjectMapper MAPPER =
            new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

    public static void main(String[] arguments) {
        String bootstrap = arguments[0];
        String workload = arguments[1];
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[4]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[5]);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        if (arguments.length > 6 && arguments[6].equals("standby")) {
            settings.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
            // One that stops says so, instead of being missed after 45 s.
            settings.put(StreamsConfig.mainConsumerPrefix("internal.leave.group.on.close"), true);
        }
        Topology topology = workload.equals("count-sum") ? countSum(arguments) : filterProject(arguments);
        KafkaStreams streams = new KafkaStreams(topology, settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }

    private static Topology filterProject(String[] arguments) {
        StreamsBuilder builder = new StreamsBuilder();
        packets(builder, arguments[2])
                .filter((key, packet) -> packet.proto.equals("tcp") && packet.bytes > 0)
                .mapValues(packet -> new Slim(packet.src, packet.dst, packet.bytes, packet.dport))
                .to(arguments[3], Produced.with(Serdes.String(), json(Slim.class)));
        return builder.build();
    }

    private static Topology countSum(String[] arguments) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.addStateStore(
                Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("totals"), Serdes.String(), pair())
                        .withCachingEnabled()
                        .withLoggingEnabled(Map.of()));
        packets(builder, arguments[2])
                .process(CountSum::new, "totals")
                .to(arguments[3], Produced.with(Serdes.String(), json(Totals.class)));
        return builder.build();
    }

    private static KStream<String, Packet> packets(StreamsBuilder builder, String topic) {
        return builder.stream(topic, Consumed.with(Serdes.String(), json(Packet.class)));
    }

    private static final class CountSum implements Processor<String, Packet, String, Totals> {
        private ProcessorContext<String, Totals> context;
        private KeyValueStore<String, long[]> totals;

        @Override
        public void init(ProcessorContext<String, Totals> given) {
            context = given;
            totals = given.getStateStore("totals");
        }

        @Override
        public void process(Record<String, Packet> record) {
            long[] before = totals.get(record.key());
            long count = before == null ? 1 : before[0] + 1;
            long bytes = record.value().bytes + (before == null ? 0 : before[1]);
            totals.put(record.key(), new long[] {count, bytes});
            context.forward(record.withValue(new Totals(record.key(), count, bytes)));
        }
    }

    private static Serde<long[]> pair() {
        return Serdes.serdeFrom(
                (topic, value) -> value == null ? null : ByteBuffer.allocate(16).putLong(value[0]).putLong(value[1]).array(),
                (topic, raw) -> raw == null ? null : new long[] {ByteBuffer.wrap(raw).getLong(), ByteBuffer.wrap(raw).getLong(8)});
    }

    private static <T> Serde<T> json(Class<T> type) {
        ObjectReader reader = MAPPER.readerFor(type);
        ObjectWriter writer = MAPPER.writerFor(type);
        return Serdes.serdeFrom(
                (topic, value) -> {
                    try {
                        return value == null ? null : writer.writeValueAsBytes(value);
                    } catch (IOException error) {
                        throw new UncheckedIOException(error);
                    }
                },
                (topic, raw) -> {
                    try {
                        return raw == null ? null : reader.readValue(raw);
                    } catch (IOException error) {
                        throw new UncheckedIOException(error);
                    }
                });
    }
}
