package interop;

import grpc.health.v1.HealthGrpc;
import grpc.health.v1.HealthOuterClass.HealthCheckRequest;
import grpc.reflection.v1.Reflection.ServerReflectionRequest;
import grpc.reflection.v1.Reflection.ServerReflectionResponse;
import grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.Context;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import sluice.v1.RateLimiterGrpc;
import sluice.v1.RateLimiterGrpc.RateLimiterBlockingStub;
import sluice.v1.RateLimiterOuterClass.CheckBatchRequest;
import sluice.v1.RateLimiterOuterClass.CheckRequest;
import sluice.v1.RateLimiterOuterClass.CheckResponse;
import sluice.v1.RateLimiterOuterClass.ListPoliciesRequest;
import sluice.v1.RateLimiterOuterClass.Policy;

/**
 * A client of Sluice in grpc-java. docs/interop.md has the cases; tests/interop/cases.py says what must come of them.
 *
 * <p>Arguments: MODE ADDRESS [CA]
 */
public final class Client implements AutoCloseable {
  private static final int PATIENCE_S = 120;
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final ManagedChannel channel;

  private Client(String address, ChannelCredentials credentials, UnaryOperator<NettyChannelBuilder> change) {
    channel = change.apply(NettyChannelBuilder.forTarget("dns:///" + address, credentials)).build();
  }

  private Client(String address) {
    this(address, InsecureChannelCredentials.create(), builder -> builder);
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  private static String quoted(String text) {
    String plain = text == null ? "" : text.replaceAll("\\p{Cntrl}", " ");
    return '"' + plain.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  private static void report(String name, int code, String text) {
    System.out.printf("{\"case\": %s, \"code\": %d, \"text\": %s}%n", quoted(name), code, quoted(text));
  }

  /** The message, and what can be read of its details. */
  private static String errorText(StatusRuntimeException error) {
    Metadata trailers = error.getTrailers();
    byte[] details = trailers == null ? null : trailers.get(DETAILS);
    String readable = details == null ? "" : new String(details, StandardCharsets.ISO_8859_1);
    return error.getStatus().getDescription() + " " + readable.replaceAll("[^ -~]", " ");
  }

  /** Reports how a call ended; its text is what the call returns. */
  private static void outcome(String name, Supplier<String> call) {
    try {
      report(name, 0, call.get());
    } catch (StatusRuntimeException error) {
      report(name, error.getStatus().getCode().value(), errorText(error));
    }
  }

  private static CheckRequest one(String key) {
    return CheckRequest.newBuilder().setPolicyId("p").putDimensions("key", key).build();
  }

  private static CheckRequest ofResource(int bytes) {
    return CheckRequest.newBuilder().setResource("a".repeat(bytes)).build();
  }

  private RateLimiterBlockingStub limiter() {
    return RateLimiterGrpc.newBlockingStub(channel).withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
  }

  private static void check(String name, RateLimiterBlockingStub limiter, CheckRequest request) {
    outcome(name, () -> {
      CheckResponse answer = limiter.checkAndIncrement(request);
      return answer.getAllowed() + " of " + answer.getLimit();
    });
  }

  private static void batch(String name, RateLimiterBlockingStub limiter) {
    CheckBatchRequest.Builder request = CheckBatchRequest.newBuilder();
    for (int i = 0; i < 1000; ++i) {
      request.addChecks(one(name + "-" + i + "-" + "k".repeat(100)));
    }
    outcome(name, () -> limiter.checkBatch(request.build()).getResultsList().stream()
        .filter(CheckResponse::getAllowed).count() + " allowed");
  }

  private void list() {
    outcome("server stream", () -> {
      int count = 0;
      for (var all = limiter().listPolicies(ListPoliciesRequest.getDefaultInstance()); all.hasNext(); all.next()) {
        ++count;
      }
      return count + " policies";
    });
  }

  private void talk() {
    ServerReflectionRequest ask = ServerReflectionRequest.newBuilder().setListServices("").build();
    CompletableFuture<Integer> end = new CompletableFuture<>();
    CompletableFuture<StreamObserver<ServerReflectionRequest>> requests = new CompletableFuture<>();
    requests.complete(ServerReflectionGrpc.newStub(channel).withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS)
        .serverReflectionInfo(new StreamObserver<ServerReflectionResponse>() {
          private int count = 0;

          @Override
          public void onNext(ServerReflectionResponse answer) {
            if (++count < 3) {
              requests.join().onNext(ask);
            } else {
              requests.join().onCompleted();
            }
          }

          @Override
          public void onError(Throwable error) {
            end.completeExceptionally(error);
          }

          @Override
          public void onCompleted() {
            end.complete(count);
          }
        }));
    requests.join().onNext(ask);
    end.whenComplete((count, error) -> outcome("both stream", () -> {
      if (error != null) {
        throw Status.fromThrowable(error).asRuntimeException();
      }
      return count + " answers";
    })).exceptionally(error -> 0).join();
  }

  private void watch() {
    Context.CancellableContext context = Context.current().withCancellation();
    context.run(() -> outcome("cancelled stream", () -> {
      var stream = HealthGrpc.newBlockingStub(channel).withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS)
          .watch(HealthCheckRequest.getDefaultInstance());
      stream.next();
      context.cancel(null);
      return "a message more: " + stream.hasNext();
    }));
  }

  private void watchForAWhile() {
    outcome("deadline", () -> {
      var stream = HealthGrpc.newBlockingStub(channel).withDeadlineAfter(300, TimeUnit.MILLISECONDS)
          .watch(HealthCheckRequest.getDefaultInstance());
      stream.forEachRemaining(message -> {});
      return "";
    });
  }

  /** Sends one message to a path that may take another. */
  private <T extends com.google.protobuf.Message> void send(String name, String path, T message, T prototype) {
    MethodDescriptor<T, CheckResponse> method = MethodDescriptor.<T, CheckResponse>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName(path)
        .setRequestMarshaller(ProtoUtils.marshaller(prototype))
        .setResponseMarshaller(ProtoUtils.marshaller(CheckResponse.getDefaultInstance())).build();
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(PATIENCE_S, TimeUnit.SECONDS);
    outcome(name, () -> ClientCalls.blockingUnaryCall(channel, method, options, message).toString());
  }

  private RateLimiterBlockingStub withMetadata(int bytes) {
    Metadata metadata = new Metadata();
    metadata.put(Metadata.Key.of("x-big", Metadata.ASCII_STRING_MARSHALLER), "m".repeat(bytes));
    metadata.put(Metadata.Key.of("x-binary-bin", Metadata.BINARY_BYTE_MARSHALLER), new byte[] {0, -1});
    return limiter().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  private static void calls(String address) {
    try (Client client = new Client(address)) {
      check("unary", client.limiter(), one("unary"));
      batch("large message", client.limiter());
      client.list();
      client.talk();
      client.watchForAWhile();
      check("not found", client.limiter(), CheckRequest.newBuilder().setPolicyId("nobody").build());
      check("invalid argument", client.limiter(), CheckRequest.newBuilder().setPolicyId("p").setCost(-1).build());
      client.send("unknown method", "sluice.v1.RateLimiter/Nothing", one("x"), CheckRequest.getDefaultInstance());
      client.send("unknown service", "nobody.v1.Nothing/At", one("x"), CheckRequest.getDefaultInstance());
      // To a server, field 2 is an entry of a map; this one claims more bytes than there are.
      client.send("malformed message", "sluice.v1.RateLimiter/CheckAndIncrement",
          Policy.newBuilder().setDocument("\n\u007f").build(), Policy.getDefaultInstance());
      check("too large", client.limiter(), ofResource(2 << 20));
      check("big metadata", client.withMetadata(12 << 10), one("big"));
      check("too big metadata", client.withMetadata(64 << 10), one("big"));
      check("after it", client.limiter(), one("after"));
      batch("gzip", client.limiter().withCompression("gzip"));
      check("gzip bomb", client.limiter().withCompression("gzip"), ofResource(8 << 20));
    }
  }

  private static void slow(String address) {
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    try (Client client = new Client(address)) {
      client.watch();
      Context.CancellableContext context = Context.current().withCancellation();
      timer.schedule(() -> context.cancel(null), 300, TimeUnit.MILLISECONDS);
      context.run(() -> check("cancelled call", client.limiter(), one("cancel")));
      check("deadline", client.limiter().withDeadlineAfter(300, TimeUnit.MILLISECONDS), one("deadline"));
      check("after both", client.limiter(), one("after"));
    } finally {
      timer.shutdownNow();
    }
  }

  private static void tls(String address, String ca) throws Exception {
    ChannelCredentials trusting = TlsChannelCredentials.newBuilder().trustManager(new File(ca)).build();
    try (Client client = new Client(address, trusting, builder -> builder.overrideAuthority("localhost"))) {
      check("tls", client.limiter(), one("tls"));
    }
    ChannelCredentials others = TlsChannelCredentials.create();
    try (Client stranger = new Client(address, others, builder -> builder.overrideAuthority("localhost"))) {
      check("tls, unknown authority", stranger.limiter(), one("tls"));
    }
  }

  /** Keeps eight calls under way until one fails, and tells how each ended. */
  private static void drain(String address) throws InterruptedException {
    Map<Integer, Integer> counts = new TreeMap<>();
    try (Client client = new Client(address)) {
      check("before the drain", client.limiter(), one("load"));
      Runnable work = () -> {
        for (int code = 0; code == 0;) {
          try {
            client.limiter().checkAndIncrement(one("load"));
          } catch (StatusRuntimeException error) {
            code = error.getStatus().getCode().value();
          }
          synchronized (counts) {
            counts.merge(code, 1, Integer::sum);
          }
        }
      };
      Thread[] workers = new Thread[8];
      for (int i = 0; i < workers.length; ++i) {
        workers[i] = new Thread(work);
        workers[i].start();
      }
      for (Thread worker : workers) {
        worker.join();
      }
    }
    StringBuilder text = new StringBuilder();
    counts.forEach((code, count) -> text.append(text.isEmpty() ? "{" : ", ").append("\"" + code + "\": " + count));
    report("drain", 0, text + "}");
  }

  private static void idle(String address) throws InterruptedException {
    UnaryOperator<NettyChannelBuilder> pinging = builder -> builder.keepAliveTime(10, TimeUnit.SECONDS)
        .keepAliveTimeout(10, TimeUnit.SECONDS).keepAliveWithoutCalls(true);
    try (Client client = new Client(address, InsecureChannelCredentials.create(), pinging)) {
      check("before the pings", client.limiter(), one("idle"));
      Thread.sleep(25_000);
      check("after the pings", client.limiter(), one("idle"));
    }
  }

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "calls" -> calls(arguments[1]);
      case "slow" -> slow(arguments[1]);
      case "tls" -> tls(arguments[1], arguments[2]);
      case "drain" -> drain(arguments[1]);
      case "idle" -> idle(arguments[1]);
      default -> throw new IllegalArgumentException("no mode " + arguments[0]);
    }
  }
}
