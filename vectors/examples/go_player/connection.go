package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"
)

const maxOnOneConnection, maxInAll = 20, 200 // ApiVersions requests; more are a loop.
const maxRequest = 128 << 10
const inFlight = 200 * time.Millisecond // So far apart two requests may come that a client sends without waiting.

// told is a response to ApiVersions: when it was asked for and given, and what the client could read.
type told struct {
	asked, at        time.Time
	version, failure int
	entries          []entry
	isReadable       bool
}

type request struct {
	data []byte
	at   time.Time
}

type connection struct {
	*play
	stream                  *net.TCPConn
	script                  object
	node                    int
	last                    *told // The last response on the connection to the same node before.
	told                    []told
	served                  []entry // The last table.
	awaits                  string  // versions, handshake, token, bare token, or nothing of SASL.
	asked, answered, others int
	isSilent                bool
	held                    func() bool
}

func (c *connection) note(format string, values ...any) {
	c.Lock()
	defer c.Unlock()
	if text := fmt.Sprintf(format, values...); !slices.Contains(c.problems, text) {
		c.problems = append(c.problems, text)
	}
}

// talk serves the connection to its end; a request that is cut off ends it.
func (c *connection) talk() {
	defer c.stream.Close()
	defer func() { _ = recover() }()
	c.isSilent = c.script.text("on_open") == "silence"
	c.awaits = map[bool]string{true: "versions"}[c.object["sasl"] == true]
	if unasked, isGiven := c.script["unasked"].(map[string]any); isGiven {
		c.write(versionsFrame(unasked, c.tables[object(unasked).int("table", 0)], 0, 0), unasked)
	}
	requests := make(chan request, 1000)
	if c.script.text("on_open") == "close" {
		return
	}
	go c.receive(requests)
	for each := range requests {
		if !c.serve(each.data, each.at) {
			return
		}
	}
	c.Lock()
	defer c.Unlock()
	if len(c.told) > 0 {
		c.play.last[c.node] = &c.told[len(c.told)-1]
	}
}

// receive notes when each request came; those that come in one read came at the same time.
func (c *connection) receive(requests chan<- request) {
	defer close(requests)
	var data []byte
	for piece := make([]byte, 1<<16); ; {
		count, err := c.stream.Read(piece)
		at := time.Now()
		for data = append(data, piece[:count]...); len(data) >= 4; {
			size := int(int32(binary.BigEndian.Uint32(data)))
			if size < 0 || size > maxRequest {
				return
			} else if len(data) < 4+size {
				break
			}
			requests <- request{bytes.Clone(data[4 : 4+size]), at}
			data = data[4+size:]
		}
		if err != nil {
			return
		}
	}
}

func (c *connection) serve(data []byte, at time.Time) bool {
	key, version := int(int16(binary.BigEndian.Uint16(data))), int(int16(binary.BigEndian.Uint16(data[2:])))
	correlation := int(binary.BigEndian.Uint32(data[4:]))
	refused := c.script.text("refused_login")
	if c.isSilent {
		return true
	} else if c.awaits == "bare token" {
		c.awaits = ""
		return refused == "" && c.write(i32(0), object{})
	}
	c.judge(key, version, at)
	if key == apiVersions {
		return c.aboutVersions(data, version, correlation, at)
	}
	next := map[string][]int{"": {metadata, describeCluster}, "token": {authenticate}}[c.awaits]
	if next == nil {
		next = []int{handshake}
	}
	_, isListed := ranges(c.servedNow(), key, version)
	if !isListed || version > newestServed[key] || !slices.Contains(next, key) || key == authenticate && refused == "close" {
		return false
	}
	failure := 0
	switch {
	case key == metadata:
		failure = c.script.int("metadata_error", 0)
	case key == handshake && refused == "mechanism":
		failure = 33
	case key == authenticate && refused != "":
		failure = 58
	}
	c.awaits = ""
	if key == handshake {
		c.awaits = map[bool]string{true: "bare token", false: "token"}[version == 0]
	}
	c.others++
	stays := c.write(otherFrame(key, version, correlation, c.nodes(), c.cluster(), failure), object{})
	c.Lock()
	defer c.Unlock()
	if c.responses++; c.responses == c.int("ends_after", -1) {
		c.hasEnough = true
		c.stop()
	}
	return stays && c.others != c.script.int("closes_after", 0) && (failure == 0 || key == metadata)
}

func (c *connection) cluster() string {
	if c.script.has("cluster_id") {
		return c.script.text("cluster_id")
	}
	return c.text("cluster_id")
}

func (c *connection) idOf(index int) int {
	if ids := c.script.list("node_ids"); ids != nil {
		return int(ids[index].(float64))
	}
	return index + 1
}

// nodes are those that Metadata lists.
func (c *connection) nodes() (nodes []node) {
	for index, listener := range c.listeners {
		if !slices.Contains(c.list("unlisted"), any(float64(index))) {
			nodes = append(nodes, node{c.idOf(index), listener.Addr().(*net.TCPAddr).Port})
		}
	}
	return nodes
}

// ranges returns the entries for an API, and whether one of them has the version.
func ranges(entries []entry, key, version int) (own []entry, isListed bool) {
	for _, each := range entries {
		if each.key == key {
			own, isListed = append(own, each), isListed || each.low <= version && version <= each.high
		}
	}
	return own, isListed && version >= 0
}

func (c *connection) nextAnswer() (object, []entry) {
	a := object{}
	if answers := c.script.list("answers"); answers != nil {
		a = answers[min(c.answered, len(answers)-1)].(map[string]any)
	}
	return a, c.tables[a.int("table", 0)]
}

func givesTable(a object) bool {
	isAnswer := a.text("action") == "" || a.text("action") == "answer"
	return isAnswer && a.int("error_code", 0) == 0 && !a.has("claimed_count") && !a.has("count_bytes") && !a.has("raw")
}

// servedNow returns the table by which other APIs are served; it does not depend on whether the client asked.
func (c *connection) servedNow() []entry {
	if c.served != nil {
		return c.served
	} else if a, entries := c.nextAnswer(); givesTable(a) {
		return entries
	}
	return c.tables[0]
}

// answerFor returns what an ApiVersions request gets, and the entries that are written.
func (c *connection) answerFor(data []byte, version int) (object, []entry) {
	newest := c.script.int("newest_version", newestVersion)
	own, isServed := ranges(c.served, apiVersions, version)
	switch {
	case c.awaits == "handshake":
		return object{"action": "close"}, nil
	case c.awaits == "token":
		return object{"error_code": 34.0, "then": "close"}, nil
	case (version < 0 || version > newest) && c.script.has("refusal"):
		a := object(c.script["refusal"].(map[string]any))
		return a, c.tables[a.int("table", 0)]
	case version < 0 || version > newest:
		return object{"error_code": 35.0, "layout": 0.0}, []entry{{apiVersions, 0, newest}}
	case own != nil && !isServed:
		return object{"error_code": 35.0, "layout": 0.0}, own
	}
	a, entries := c.nextAnswer()
	c.answered++
	if version < a.int("from_version", 0) {
		a, entries = object{}, c.tables[c.script.int("older_table", 0)]
	}
	if version >= 5 && givesTable(a) {
		if failure := c.failureOfIds(data[8:]); failure != 0 {
			return object{"error_code": float64(failure), "delay_ms": 250.0}, nil
		}
	}
	return a, entries
}

// failureOfIds returns what the ids of KIP-1242 in a request get.
func (c *connection) failureOfIds(data []byte) int {
	data = data[2+max(int(int16(binary.BigEndian.Uint16(data))), 0)+1:] // Client id, and an empty tag section.
	var texts [3]string
	isNull := false
	for index := range texts {
		size, width := binary.Uvarint(data)
		isNull = size == 0
		texts[index] = string(data[width : width+max(int(size)-1, 0)])
		data = data[width+max(int(size)-1, 0):]
	}
	id := int(int32(binary.BigEndian.Uint32(data)))
	switch {
	case isNull && id == -1 || texts[2] == c.cluster() && id == c.idOf(c.node):
		return 0
	case isNull || id == -1:
		return 42
	}
	return 129
}

func (c *connection) aboutVersions(data []byte, version, correlation int, at time.Time) bool {
	c.countAsked()
	a, entries := c.answerFor(data, version)
	if a.text("action") == "silence" {
		c.isSilent = true
		return true
	} else if a.has("action") && a.text("action") != "answer" {
		return c.write(nil, object{"delay_ms": a["delay_ms"], "then": a["action"]})
	}
	if givesTable(a) {
		c.served = entries
		if own, _ := ranges(entries, authenticate, 0); c.awaits == "versions" && own != nil {
			c.awaits = "handshake" // SASL lets a client ask once.
		}
	}
	frame, clean, failure := versionsFrame(a, entries, version, correlation), object{}, a.int("error_code", 0)
	for _, name := range []string{"error_code", "throttle_time_ms", "supported_features", "finalized_features",
		"finalized_features_epoch", "unknown_tags"} {
		clean[name] = a[name]
	}
	if failure == 35 {
		clean["layout"] = 0.0
	}
	isReadable := bytes.Equal(frame, versionsFrame(clean, entries, version, correlation))
	respond := func() bool {
		stays := c.write(frame, a)
		c.told = append(c.told, told{at, time.Now(), version, failure, entries, isReadable})
		return stays
	}
	held := c.held
	c.held = nil
	if a["held_back"] == true {
		c.held, respond = respond, func() bool { return true }
	}
	return respond() && (held == nil || held())
}

// countAsked ends the play if requests do not come to an end.
func (c *connection) countAsked() {
	c.Lock()
	defer c.Unlock()
	c.play.asked++
	if c.asked++; c.asked == maxOnOneConnection+1 || c.play.asked == maxInAll+1 {
		c.problems = append(c.problems, fmt.Sprintf("%d ApiVersions requests, %d on one connection", c.play.asked, c.asked))
		c.hasEnough = true
		c.stop()
	}
}

func (c *connection) write(data []byte, a object) bool {
	pieces := max(1, min(a.int("pieces", 1), len(data)))
	for index := range pieces {
		time.Sleep(time.Duration(a.int("delay_ms", 0)) * time.Millisecond)
		if _, err := c.stream.Write(data[len(data)*index/pieces : len(data)*(index+1)/pieces]); err != nil {
			return false
		}
	}
	if a.text("then") == "reset" {
		_ = c.stream.SetLinger(0)
	}
	return a.text("then") == "" || a.text("then") == "stay"
}

// judge notes what a client may not send in any play.
func (c *connection) judge(key, version int, at time.Time) {
	var table, latest *told
	if len(c.told) == 0 && c.asked == 0 {
		latest = c.last
	}
	for index := range c.told {
		each := &c.told[index]
		if !each.at.Before(at) {
			continue // The request was on its way.
		}
		if latest = each; each.isReadable && each.failure == 0 {
			table = each
		}
		isReaction := each.at.Sub(each.asked) >= inFlight || at.Sub(each.at) >= inFlight
		if isReaction && (each.failure == 42 && each.version >= 3 || each.failure == 129 && each.version >= 5) {
			c.note("API %d v%d was sent after error %d", key, version, each.failure)
		}
	}
	if key != apiVersions && table != nil {
		own, isListed := ranges(table.entries, key, version)
		if !isListed && (own != nil || key != handshake && key != authenticate) {
			c.note("API %d v%d was sent although the table lists %v", key, version, own)
		}
	}
	if key != apiVersions || latest == nil || !latest.isReadable || latest.failure != 35 || latest.version*version == 0 {
		return
	}
	own, isNamed := ranges(latest.entries, apiVersions, version)
	namesLower := len(own) > 0 && 0 <= own[0].low && own[0].low <= own[0].high && own[0].low < latest.version
	isLower := version < latest.version
	if namesLower && !(isNamed && isLower) || !namesLower && (!isLower || own == nil) {
		c.note("ApiVersions v%d was sent after v%d was refused with %v", version, latest.version, own)
	}
}
