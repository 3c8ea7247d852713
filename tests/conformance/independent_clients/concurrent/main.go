// A small, correct Kafka client that does everything at once: a goroutine reads each connection, requests are pipelined,
// and all brokers are asked side by side. It uses nothing but Go's standard library and imports nothing of this project:
// a red cell for it is the suite's own fault.
//
// It begins with ApiVersions v3, and until its time is over tries again what failed, after a pause that doubles.
//
//	concurrent HOST:PORT SECONDS [--again]
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	apiVersions, metadata         = int16(18), int16(3)
	newestApiVersions             = int16(3)
	oldestMetadata                = int16(1)
	newestMetadata                = int16(7)
	unsupportedVersion            = int16(35)
	largestFrame                  = 8 << 20
	firstPause, longestPause      = 200 * time.Millisecond, 2 * time.Second
	attemptLimit                  = 5 * time.Second
	softwareName, softwareVersion = "independent-concurrent", "1.0.0"
)

var errMalformed = errors.New("a response cannot be decoded")

// fatal is an error that another attempt cannot change: the broker said what it does not support.
type fatal struct{ error }

type span struct{ low, high int16 }

type connection struct {
	net.Conn
	mutex   sync.Mutex
	last    int32
	waiting map[int32]chan []byte
	broken  chan struct{}
	problem error
	table   map[int16]span
}

func dial(ctx context.Context, address string) (*connection, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	made := &connection{Conn: raw, waiting: map[int32]chan []byte{}, broken: make(chan struct{})}
	go made.read()
	return made, nil
}

// read hands each response to the request with its correlation id, until the connection ends.
func (c *connection) read() {
	defer close(c.broken)
	defer c.Close()
	for {
		var size int32
		if c.problem = binary.Read(c, binary.BigEndian, &size); c.problem != nil {
			return
		}
		if size < 4 || size > largestFrame {
			c.problem = fmt.Errorf("a response of %d bytes", size)
			return
		}
		// Memory is taken as bytes come, not as the size promises.
		var payload bytes.Buffer
		if _, c.problem = io.CopyN(&payload, c, int64(size)); c.problem != nil {
			return
		}
		id := int32(binary.BigEndian.Uint32(payload.Next(4)))
		c.mutex.Lock()
		waiting, known := c.waiting[id]
		delete(c.waiting, id)
		c.mutex.Unlock()
		if !known {
			c.problem = fmt.Errorf("a response to request %d, which is not waiting", id)
			return
		}
		waiting <- payload.Bytes()
	}
}

// send writes a request and returns where its response will come.
func (c *connection) send(key, version int16, body []byte) (<-chan []byte, error) {
	response := make(chan []byte, 1)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.last++
	c.waiting[c.last] = response
	var frame bytes.Buffer
	for _, part := range []any{key, version, c.last, int16(len(softwareName))} {
		binary.Write(&frame, binary.BigEndian, part)
	}
	frame.WriteString(softwareName)
	if key == apiVersions && version >= 3 {
		frame.WriteByte(0)
	}
	frame.Write(body)
	whole := binary.BigEndian.AppendUint32(nil, uint32(frame.Len()))
	_, err := c.Write(append(whole, frame.Bytes()...))
	return response, err
}

func (c *connection) await(ctx context.Context, response <-chan []byte) (*fields, error) {
	select {
	case body := <-response:
		return &fields{data: body}, nil
	case <-c.broken:
		select {
		case body := <-response:
			return &fields{data: body}, nil
		default:
			return nil, fmt.Errorf("connection lost: %w", c.problem)
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fields reads a body field by field; after the first one that is not there, everything is zero and bad is true.
type fields struct {
	data []byte
	bad  bool
}

func (f *fields) take(count int) []byte {
	if f.bad || count < 0 || count > len(f.data) {
		f.bad = true
		return make([]byte, 8)
	}
	taken := f.data[:count]
	f.data = f.data[count:]
	return taken
}

func (f *fields) int16() int16 { return int16(binary.BigEndian.Uint16(f.take(2))) }
func (f *fields) int32() int32 { return int32(binary.BigEndian.Uint32(f.take(4))) }

func (f *fields) varint() int {
	value, length := binary.Uvarint(f.data)
	if length <= 0 || length > 5 {
		f.bad = true
		return 0
	}
	f.take(length)
	return int(value)
}

func (f *fields) tags() {
	for left := f.varint(); left > 0 && !f.bad; left-- {
		f.varint()
		f.take(f.varint())
	}
}

func (f *fields) text() string {
	length := f.int16()
	if length == -1 {
		return ""
	}
	return string(f.take(int(length)))
}

// negotiate learns the table of a connection: in v3, or in the newest version that a refusal names, or in v0.
func (c *connection) negotiate(ctx context.Context) error {
	for version := newestApiVersions; ; {
		var body []byte
		if version >= 3 {
			for _, word := range []string{softwareName, softwareVersion} {
				body = append(append(body, byte(len(word)+1)), word...)
			}
			body = append(body, 0)
		}
		response, err := c.send(apiVersions, version, body)
		if err != nil {
			return err
		}
		answer, err := c.await(ctx, response)
		if err != nil {
			return err
		}
		code := answer.int16()
		if answer.bad {
			return errMalformed
		}
		switch {
		case code == unsupportedVersion && version > 0:
			named, _ := answer.ranges(0)
			next := min(named[apiVersions].high, version-1)
			if _, isNamed := named[apiVersions]; !isNamed || next < named[apiVersions].low {
				next = 0
			}
			version = next
		case code != 0:
			return fatal{fmt.Errorf("ApiVersions v%d: error %d", version, code)}
		default:
			c.table, err = answer.ranges(version)
			return err
		}
	}
}

func (f *fields) ranges(version int16) (map[int16]span, error) {
	var count int
	if version >= 3 {
		count = f.varint() - 1
	} else {
		count = int(f.int32())
	}
	found := map[int16]span{}
	if count < 0 {
		return found, errMalformed
	}
	for ; count > 0 && !f.bad; count-- {
		key, low, high := f.int16(), f.int16(), f.int16()
		if version >= 3 {
			f.tags()
		}
		if low >= 0 && low <= high {
			found[key] = span{low, high}
		}
	}
	if version >= 1 {
		f.int32()
	}
	if version >= 3 {
		f.tags()
	}
	if f.bad {
		return map[int16]span{}, errMalformed
	}
	return found, nil
}

// brokers asks twice without waiting in between, and returns the addresses of the second response.
func (c *connection) brokers(ctx context.Context) ([]string, error) {
	listed, isListed := c.table[metadata]
	version := min(newestMetadata, listed.high)
	if !isListed || version < max(oldestMetadata, listed.low) {
		return nil, fatal{errors.New("no common version of Metadata")}
	}
	body := []byte{0, 0, 0, 0}
	if version >= 4 {
		body = append(body, 0)
	}
	var responses []<-chan []byte
	for range 2 {
		response, err := c.send(metadata, version, body)
		if err != nil {
			return nil, err
		}
		responses = append(responses, response)
	}
	var addresses []string
	for _, response := range responses {
		answer, err := c.await(ctx, response)
		if err != nil {
			return nil, err
		}
		addresses = nil
		if version >= 3 {
			answer.int32()
		}
		for left := answer.int32(); left > 0 && !answer.bad; left-- {
			answer.int32()
			host := answer.text()
			addresses = append(addresses, net.JoinHostPort(host, fmt.Sprint(answer.int32())))
			answer.text()
		}
		if answer.bad || len(addresses) == 0 {
			return nil, errMalformed
		}
	}
	return addresses, nil
}

// ask connects to one address and asks it for the brokers.
func ask(ctx context.Context, address string) ([]string, error) {
	limited, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	made, err := dial(limited, address)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	if err := made.negotiate(limited); err != nil {
		return nil, err
	}
	return made.brokers(limited)
}

// askAll asks the bootstrap address, and then all brokers side by side.
func askAll(ctx context.Context, bootstrap string) error {
	addresses, err := ask(ctx, bootstrap)
	if err != nil {
		return err
	}
	results := make(chan error, len(addresses))
	for _, address := range addresses {
		go func() {
			_, err := ask(ctx, address)
			results <- err
		}()
	}
	for range addresses {
		err = errors.Join(err, <-results)
	}
	return err
}

func run(bootstrap, seconds string, again bool) error {
	limit, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return err
	}
	// Its error has to come before the time that it was given is over.
	ctx, cancel := context.WithTimeout(context.Background(), limit-min(limit/10, 300*time.Millisecond))
	defer cancel()
	pause := firstPause
	var problem error
	for {
		if err := askAll(ctx, bootstrap); ctx.Err() == nil || problem == nil {
			problem = err
		}
		var hopeless fatal
		if !again && (problem == nil || errors.As(problem, &hopeless)) {
			return problem
		}
		if problem == nil {
			pause = firstPause
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return problem
		}
		if problem != nil {
			pause = min(2*pause, longestPause)
		}
	}
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: concurrent HOST:PORT SECONDS [--again]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], len(os.Args) > 3 && os.Args[3] == "--again"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
