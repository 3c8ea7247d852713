package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

const apiVersions, maxRequest = 18, 128 << 10

type request struct {
	data         []byte
	key, version int
	at           time.Time
}

type connection struct {
	*running
	stream                *net.TCPConn
	script                script
	node                  int
	last                  *told  // The last reply to ApiVersions on the connection to the same node before.
	told                  []told // The replies to ApiVersions that were written.
	state, asked, answers int    // Requests of ApiVersions, and responses to others.
	isSilent              bool
	held                  func() bool
}

// talk serves the connection to its end; a request that is cut off ends it.
func (c *connection) talk() {
	defer c.stream.Close()
	if opening := c.script.Opening; opening != nil && !c.write(opening, make([]byte, 12)) {
		return
	}
	requests := make(chan request, 1000)
	go c.receive(requests)
	defer c.noteEnd()
	for each := range requests {
		if !c.isSilent && !c.serve(each) {
			return
		}
	}
}

// receive notes when each request came; those that come in one read came at the same time.
func (c *connection) receive(requests chan<- request) {
	defer close(requests)
	for stream, at := bufio.NewReaderSize(c.stream, 1<<16), time.Now(); ; {
		waits := stream.Buffered() == 0
		head, err := stream.Peek(12) // Size, API key, version and correlation id.
		if waits {
			at = time.Now()
		}
		if err != nil || binary.BigEndian.Uint32(head) > maxRequest {
			return
		}
		key, version := int16(binary.BigEndian.Uint16(head[4:])), int16(binary.BigEndian.Uint16(head[6:]))
		asked := request{make([]byte, 4+binary.BigEndian.Uint32(head)), int(key), int(version), at}
		if _, err := io.ReadFull(stream, asked.data); err != nil {
			return
		}
		requests <- asked
	}
}

// find returns the first reply whose conditions a request meets, or nil.
func (c *connection) find(asked request) *reply {
	ends := func(end string) bool { return strings.HasSuffix(hex.EncodeToString(asked.data), end) }
	state := c.script.States[c.state]
	for _, r := range slices.Concat(state.Replies, c.set.Others[state.Others]) {
		isMeant := r.API == nil || *r.API == asked.key
		isMeant = isMeant && (r.Versions == nil || r.Versions[0] <= asked.version && asked.version <= r.Versions[1])
		if isMeant && (r.EndsWith == nil || slices.ContainsFunc(r.EndsWith, ends)) {
			return &r
		}
	}
	return nil
}

// serve replies to a request, and returns whether the connection stays.
func (c *connection) serve(asked request) bool {
	found := c.find(asked)
	isFrame := found != nil && found.API == nil // A frame that is no request.
	if !isFrame {
		c.judge(asked)
	}
	if found == nil {
		return false
	} else if found.State != nil {
		c.state = *found.State
	}
	respond := func() bool {
		stays := c.write(found, asked.data)
		c.Lock()
		defer c.Unlock()
		if asked.key == apiVersions && !isFrame {
			c.noteReply(found, asked)
		} else if found.Send != "" && !isFrame {
			c.answers, c.allAnswers = c.answers+1, c.allAnswers+1
			stays = stays && c.answers != c.script.ClosesAfter
		}
		if c.EndsAfter > 0 && c.allAnswers >= c.EndsAfter {
			c.end()
		}
		return stays
	}
	held := c.held
	if c.held = nil; found.HeldBack {
		c.held, respond = respond, func() bool { return true }
	}
	return respond() && (held == nil || held())
}

// write sends what a reply sends, and returns whether the connection stays.
func (c *connection) write(r *reply, asked []byte) bool {
	id := binary.BigEndian.Uint32(asked[8:])
	names := append([]string{"{id}", fmt.Sprintf("%08x", id), "{id+1}", fmt.Sprintf("%08x", id+1)}, c.ports...)
	data, _ := hex.DecodeString(strings.NewReplacer(names...).Replace(c.set.Frames[r.Send]))
	pieces := max(1, min(r.Pieces, len(data)))
	for index := range pieces {
		time.Sleep(time.Duration(r.DelayMs) * time.Millisecond)
		_, _ = c.stream.Write(data[len(data)*index/pieces : len(data)*(index+1)/pieces])
	}
	_ = c.stream.SetLinger(map[bool]int{true: 0, false: -1}[r.Then == "reset"])
	c.isSilent = r.Then == "silence"
	return r.Then == "" || c.isSilent
}
