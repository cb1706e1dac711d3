// A client of Sluice in grpc-go. docs/interop.md has the cases; tests/interop/cases.py says what must come of them.
//
//	client MODE ADDRESS [CA]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"interop/health"
	"interop/reflection"
	"interop/sluice"
)

// Longer than a whole run takes.
var patient, _ = context.WithTimeout(context.Background(), 2*time.Minute)

func report(name string, err error, text string) {
	if err != nil {
		text = fmt.Sprint(status.Convert(err).Proto()) // the message and its details
	}
	line, _ := json.Marshal(map[string]any{"case": name, "code": status.Code(err), "text": text})
	fmt.Println(string(line))
}

func connect(address string, options ...grpc.DialOption) *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		panic(err)
	}
	return conn
}

func plain(address string, options ...grpc.DialOption) *grpc.ClientConn {
	return connect(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
}

func check(ctx context.Context, conn *grpc.ClientConn, name string, request *sluice.CheckRequest) {
	answer, err := sluice.NewRateLimiterClient(conn).CheckAndIncrement(ctx, request)
	report(name, err, fmt.Sprintf("%t of %d", answer.GetAllowed(), answer.GetLimit()))
}

func one(key string) *sluice.CheckRequest {
	return &sluice.CheckRequest{PolicyId: "p", Dimensions: map[string]string{"key": key}}
}

func batch(conn *grpc.ClientConn, name string, options ...grpc.CallOption) {
	request := &sluice.CheckBatchRequest{}
	for i := range 1000 {
		request.Checks = append(request.Checks, one(fmt.Sprintf("%s-%d-%s", name, i, strings.Repeat("k", 100))))
	}
	answer, err := sluice.NewRateLimiterClient(conn).CheckBatch(patient, request, options...)
	allowed := 0
	for _, result := range answer.GetResults() {
		if result.GetAllowed() {
			allowed++
		}
	}
	report(name, err, fmt.Sprintf("%d allowed", allowed))
}

func list(conn *grpc.ClientConn) {
	count := 0
	stream, err := sluice.NewRateLimiterClient(conn).ListPolicies(patient, &sluice.ListPoliciesRequest{})
	for ; err == nil; count++ {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if err.Error() == "EOF" {
		err = nil
	}
	report("server stream", err, fmt.Sprintf("%d policies", count))
}

func watch(conn *grpc.ClientConn) {
	ctx, cancel := context.WithCancel(patient)
	stream, err := health.NewHealthClient(conn).Watch(ctx, &health.HealthCheckRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if err == nil {
		cancel()
		_, err = stream.Recv()
	}
	cancel()
	report("cancelled stream", err, "")
}

func watchForAWhile(conn *grpc.ClientConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	stream, err := health.NewHealthClient(conn).Watch(ctx, &health.HealthCheckRequest{})
	for err == nil {
		_, err = stream.Recv()
	}
	report("deadline", err, "")
}

func talk(conn *grpc.ClientConn) {
	count := 0
	stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(patient)
	for i := 0; i < 3 && err == nil; i++ {
		if err = stream.Send(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_ListServices{}}); err != nil {
			break
		}
		if _, err = stream.Recv(); err == nil {
			count++
		}
	}
	if err == nil {
		stream.CloseSend()
		if _, err = stream.Recv(); err.Error() == "EOF" {
			err = nil
		}
	}
	report("both stream", err, fmt.Sprintf("%d answers", count))
}

func withMetadata(bytes int) context.Context {
	return metadata.AppendToOutgoingContext(patient, "x-big", strings.Repeat("m", bytes), "x-binary-bin", "\x00\xff")
}

func calls(address string) {
	conn := plain(address)
	defer conn.Close()
	limiter := sluice.NewRateLimiterClient(conn)
	check(patient, conn, "unary", one("unary"))
	batch(conn, "large message")
	list(conn)
	talk(conn)
	watchForAWhile(conn)
	check(patient, conn, "not found", &sluice.CheckRequest{PolicyId: "nobody"})
	below := int32(-1)
	check(patient, conn, "invalid argument", &sluice.CheckRequest{PolicyId: "p", Cost: &below})
	answer := &sluice.CheckResponse{}
	report("unknown method", conn.Invoke(patient, "/sluice.v1.RateLimiter/Nothing", one("x"), answer), "")
	report("unknown service", conn.Invoke(patient, "/nobody.v1.Nothing/At", one("x"), answer), "")
	// To a server, field 2 is an entry of a map; this one claims more bytes than there are.
	report("malformed message", conn.Invoke(patient, "/sluice.v1.RateLimiter/CheckAndIncrement",
		&sluice.Policy{Document: "\n\x7f"}, answer), "")
	_, err := limiter.CheckAndIncrement(patient, &sluice.CheckRequest{Resource: strings.Repeat("a", 2<<20)})
	report("too large", err, "")
	check(withMetadata(12<<10), conn, "big metadata", one("big"))
	check(withMetadata(64<<10), conn, "too big metadata", one("big"))
	check(patient, conn, "after it", one("after"))
	batch(conn, "gzip", grpc.UseCompressor(gzip.Name))
	_, err = limiter.CheckAndIncrement(patient, &sluice.CheckRequest{Resource: strings.Repeat("a", 8<<20)},
		grpc.UseCompressor(gzip.Name))
	report("gzip bomb", err, "")
}

func slow(address string) {
	conn := plain(address)
	defer conn.Close()
	watch(conn)
	ctx, cancel := context.WithCancel(patient)
	time.AfterFunc(300*time.Millisecond, cancel)
	check(ctx, conn, "cancelled call", one("cancel"))
	soon, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	check(soon, conn, "deadline", one("deadline"))
	cancel()
	check(patient, conn, "after both", one("after"))
}

func secure(address, ca string) {
	trusting, err := credentials.NewClientTLSFromFile(ca, "localhost")
	if err != nil {
		panic(err)
	}
	conn := connect(address, grpc.WithTransportCredentials(trusting))
	defer conn.Close()
	check(patient, conn, "tls", one("tls"))
	stranger := connect(address, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(nil, "localhost")))
	defer stranger.Close()
	check(patient, stranger, "tls, unknown authority", one("tls"))
}

// Keeps eight calls under way until one fails, and tells how each ended.
func drain(address string) {
	conn := plain(address)
	defer conn.Close()
	limiter := sluice.NewRateLimiterClient(conn)
	check(patient, conn, "before the drain", one("load"))
	var mutex sync.Mutex
	var workers sync.WaitGroup
	counts := map[codes.Code]int{}
	for range 8 {
		workers.Go(func() {
			for code := codes.OK; code == codes.OK; {
				_, err := limiter.CheckAndIncrement(patient, one("load"))
				code = status.Code(err)
				mutex.Lock()
				counts[code]++
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	text, _ := json.Marshal(counts)
	report("drain", nil, string(text))
}

func idle(address string) {
	conn := plain(address, grpc.WithKeepaliveParams(keepalive.ClientParameters{
		Time: 10 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}))
	defer conn.Close()
	check(patient, conn, "before the pings", one("idle"))
	time.Sleep(25 * time.Second)
	check(patient, conn, "after the pings", one("idle"))
}

func main() {
	mode, address := os.Args[1], os.Args[2]
	switch mode {
	case "calls":
		calls(address)
	case "slow":
		slow(address)
	case "tls":
		secure(address, os.Args[3])
	case "drain":
		drain(address)
	case "idle":
		idle(address)
	}
}
