package main

// What every franz-go can do with records, with and without transactions; an older one has a link to this file.

import (
	"bytes"
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

func newClient(given arguments, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(given.bootstrap),
		kgo.ClientID(given.operation),
		kgo.RetryTimeout(given.timeout),
		kgo.AllowAutoTopicCreation(),
		// A record goes to its own partition, which is 0 here.
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, more...)...)
}

// Every operation ends with the driver, so nothing is closed and no time is limited here.
var ctx = context.Background()

// writeRecord writes one record, and sets its place in the log.
func writeRecord(given arguments, record *kgo.Record, options ...kgo.Opt) error {
	client, err := newClient(given, options...)
	if err != nil {
		return err
	}
	return client.ProduceSync(ctx, record).FirstErr()
}

func plainRecord(topic string) *kgo.Record {
	return &kgo.Record{Topic: topic, Value: []byte(value)}
}

// writePlain writes with a producer that is not idempotent; franz-go's own default is one that is.
func writePlain(given arguments, record *kgo.Record) error {
	return writeRecord(given, record, kgo.DisableIdempotentWrite())
}

// firstRecord returns the first record that a client gets.
func firstRecord(client *kgo.Client) (*kgo.Record, error) {
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			return record, check(bytes.Equal(record.Value, []byte(value)), "the record came back as %q", record.Value)
		}
	}
}

// read reads the first record of a topic without a group.
func read(given arguments, topic string, options ...kgo.Opt) (*kgo.Record, error) {
	starts := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	client, err := newClient(given, append(options, kgo.ConsumePartitions(starts))...)
	if err != nil {
		return nil, err
	}
	return firstRecord(client)
}

func isFirst(record *kgo.Record, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return "a record at offset 0", check(record.Offset == 0, "the first record has the offset %d", record.Offset)
}

func produce(given arguments) (string, error) {
	record := plainRecord(name())
	return isFirst(record, writePlain(given, record))
}

func idempotentProduce(given arguments) (string, error) {
	record := plainRecord(name())
	return isFirst(record, writeRecord(given, record))
}

func consume(given arguments) (string, error) {
	topic := name()
	if err := writePlain(given, plainRecord(topic)); err != nil {
		return "", err
	}
	_, err := read(given, topic)
	return "a record came back", err
}

func transactionalProduce(given arguments) (string, error) {
	record := plainRecord(name())
	client, err := newClient(given, kgo.TransactionalID(name()))
	if err != nil {
		return "", err
	}
	aborted := &kgo.Record{Topic: record.Topic, Value: []byte("an aborted value")}
	if err := transact(client, aborted, kgo.TryAbort); err != nil {
		return "", err
	}
	if err := transact(client, record, kgo.TryCommit); err != nil {
		return "", err
	}
	_, err = read(given, record.Topic, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return "a committed record came back, and an aborted one did not", err
}

// transact writes one record in a transaction, and ends it.
func transact(client *kgo.Client, record *kgo.Record, end kgo.TransactionEndTry) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(ctx, end)
}

var transactional *kgo.Client

// transaction writes a record in a transaction of the producer that the first call made, and commits it.
func transaction(given arguments) (string, error) {
	if transactional == nil {
		client, err := newClient(given, kgo.TransactionalID(name()))
		if err != nil {
			return "", err
		}
		transactional = client
	}
	return "a transaction", transact(transactional, plainRecord(transactionTopic), kgo.TryCommit)
}
