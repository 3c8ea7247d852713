package main

// What every franz-go can do with records, with and without transactions; an older one has a link to this file.

import (
	"bytes"
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func newClient(given arguments, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(settings(given, more...)...)
}

func settings(given arguments, more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(given.bootstrap),
		kgo.ClientID(given.operation),
		kgo.RetryTimeout(given.timeout),
		// A record that no broker takes is given up, with a reason, before the driver's time is over.
		kgo.RecordDeliveryTimeout(given.timeout * 3 / 4),
		kgo.AllowAutoTopicCreation(),
		// A record goes to its own partition, which is 0 here.
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, more...)
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

// Only a member of a group commits offsets in a transaction.
var session *kgo.GroupTransactSession

// transaction writes a record and commits an offset, in a transaction of the producer that the first call made.
func transaction(given arguments) (string, error) {
	if session == nil {
		member := []kgo.Opt{kgo.TransactionalID(name()), kgo.ConsumerGroup(name()), kgo.ConsumeTopics(transactionTopic)}
		made, err := kgo.NewGroupTransactSession(settings(given, member...)...)
		if err != nil {
			return "", err
		}
		session = made
	}
	if err := session.Begin(); err != nil {
		return "", err
	}
	written := session.ProduceSync(ctx, plainRecord(transactionTopic)).FirstErr()
	isCommitted, err := session.End(kgo.PreTxnCommitFnContext(ctx, addOffset), kgo.TransactionEndTry(written == nil))
	return "a transaction", errors.Join(written, err, check(isCommitted, "the transaction was aborted"))
}

// addOffset gives the offset that is committed: a scripted broker assigns no partition whose offset would be committed.
func addOffset(request *kmsg.TxnOffsetCommitRequest) error {
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset = 1
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = transactionTopic, append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	return nil
}
