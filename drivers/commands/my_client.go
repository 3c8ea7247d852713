// A command for --client-cmd, with franz-go: three of the operations, as an example.
//
//	my_client OPERATION HOST:PORT SECONDS
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const noSuchOperation = 89

var topic, record = os.Getenv("CONFORMANCE_TOPIC"), os.Getenv("CONFORMANCE_RECORD")

func produce(ctx context.Context, client *kgo.Client) error {
	written := &kgo.Record{Topic: topic, Value: []byte(record)}
	err := client.ProduceSync(ctx, written).FirstErr()
	if err == nil {
		fmt.Println("offset", written.Offset)
	}
	return err
}

func consume(ctx context.Context, client *kgo.Client) error {
	if err := produce(ctx, client); err != nil {
		return err
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
	fetches := client.PollFetches(ctx)
	fetches.EachRecord(func(read *kgo.Record) { fmt.Println("record", string(read.Value)) })
	return fetches.Err()
}

func main() {
	operations := map[string]func(context.Context, *kgo.Client) error{
		"metadata": func(ctx context.Context, client *kgo.Client) error { return client.Ping(ctx) },
		"produce":  produce,
		"consume":  consume,
	}
	operation, isThere := operations[os.Args[1]]
	if !isThere {
		os.Exit(noSuchOperation)
	}
	limit, _ := time.ParseDuration(os.Args[3] + "s")
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[2]), kgo.AllowAutoTopicCreation(), kgo.DisableIdempotentWrite(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err == nil {
		err = operation(ctx, client)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line is what the suite quotes, to find what the broker lacks
		os.Exit(1)
	}
}
