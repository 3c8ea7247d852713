package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

const apiVersions, metadata, handshake, authenticate, describeCluster = 18, 3, 17, 36, 60
const newestVersion = 5

var newestServed = map[int]int{metadata: 13, handshake: 1, authenticate: 2, describeCluster: 2}

func i16(value int) []byte    { return binary.BigEndian.AppendUint16(nil, uint16(value)) }
func i32(value int) []byte    { return binary.BigEndian.AppendUint32(nil, uint32(value)) }
func varint(value int) []byte { return binary.AppendUvarint(nil, uint64(uint32(value))) }

func when(condition bool, parts ...[]byte) []byte {
	if !condition {
		return nil
	}
	return slices.Concat(parts...)
}

// In flexible versions lengths are compact, -1 is that of null, and there are tag sections.
func array(flexible bool, count int, items ...[]byte) []byte {
	return slices.Concat(when(flexible, varint(count+1)), when(!flexible, i32(count)), slices.Concat(items...))
}

func text(flexible bool, value string) []byte {
	return slices.Concat(when(flexible, varint(len(value)+1)), when(!flexible, i16(len(value))), []byte(value))
}
func null(flexible bool) []byte {
	return slices.Concat(when(flexible, varint(0)), when(!flexible, i16(-1)))
}
func tags(flexible bool) []byte { return when(flexible, varint(0)) }

// object is an object of the JSON; what it does not name is as a correct broker does it.
type object map[string]any

func (o object) has(name string) bool     { return o[name] != nil }
func (o object) list(name string) []any   { values, _ := o[name].([]any); return values }
func (o object) text(name string) string  { value, _ := o[name].(string); return value }
func (o object) bytes(name string) []byte { data, _ := hex.DecodeString(o.text(name)); return data }
func (o object) int(name string, otherwise int) int {
	if value, isGiven := o[name].(float64); isGiven {
		return int(value)
	}
	return otherwise
}

type entry struct{ key, low, high int }

func entriesOf(table string) (entries []entry) {
	for _, each := range strings.Fields(table) {
		var own entry
		_, _ = fmt.Sscanf(strings.NewReplacer(":", " ", "..", " ").Replace(each), "%d %d %d", &own.key, &own.low, &own.high)
		entries = append(entries, own)
	}
	return entries
}

// versionsFrame returns a response to ApiVersions, as wrong as the answer says.
func versionsFrame(a object, entries []entry, version, correlation int) []byte {
	if a.has("raw") {
		return a.bytes("raw")
	}
	body := a.bytes("body")
	if !a.has("body") {
		body = versionsBody(a, entries, min(max(a.int("layout", version), 0), newestVersion))
	}
	body = body[:min(a.int("cut_to", len(body)), len(body))]
	header := slices.Concat(i32(correlation+a.int("correlation_shift", 0)), tags(a["flexible_header"] == true))
	payload := slices.Concat(header, body, a.bytes("trailing"))
	frame := append(i32(a.int("claimed_size", len(payload))), payload...)
	return append(bytes.Repeat(frame, a.int("copies", 1)), a.bytes("appended")...)
}

func versionsBody(a object, entries []entry, version int) []byte {
	flexible := version >= 3
	body := append(i16(a.int("error_code", 0)), array(flexible, a.int("claimed_count", len(entries)))...)
	if flexible && a.has("count_bytes") {
		body = append(i16(a.int("error_code", 0)), a.bytes("count_bytes")...)
	}
	for _, each := range entries {
		body = slices.Concat(body, i16(each.key), i16(each.low), i16(each.high), tags(flexible))
	}
	body = append(body, when(version >= 1, i32(a.int("throttle_time_ms", 0)))...)
	if !flexible || a.has("tag_section") {
		return append(body, when(flexible, a.bytes("tag_section"))...)
	}
	count, fields := 0, []byte{}
	add := func(tag int, data []byte) {
		count++
		fields = slices.Concat(fields, varint(tag), varint(len(data)), data)
	}
	if levels := levelsOf(a.list("supported_features"), version == 3); len(levels) > 0 {
		add(0, array(true, len(levels), levels...))
	}
	if a.has("finalized_features_epoch") {
		add(1, binary.BigEndian.AppendUint64(nil, uint64(a.int("finalized_features_epoch", 0))))
	}
	if levels := levelsOf(a.list("finalized_features"), false); len(levels) > 0 {
		add(2, array(true, len(levels), levels...))
	}
	for _, each := range a.list("unknown_tags") {
		data, _ := hex.DecodeString(each.([]any)[1].(string))
		add(int(each.([]any)[0].(float64)), data)
	}
	return slices.Concat(body, varint(count), fields)
}

// levelsOf writes name and two levels of each feature; v3 leaves out features that begin at level 0.
func levelsOf(features []any, leavesOutZero bool) (levels [][]byte) {
	for _, each := range features {
		feature := each.([]any)
		first, second := int(feature[1].(float64)), int(feature[2].(float64))
		if first != 0 || !leavesOutZero {
			levels = append(levels, slices.Concat(text(true, feature[0].(string)), i16(first), i16(second), tags(true)))
		}
	}
	return levels
}

type node struct {
	id, port int
}

// otherFrame returns the response to another API. No topic exists.
func otherFrame(key, version, correlation int, nodes []node, cluster string, failure int) []byte {
	flexible := map[int]bool{metadata: version >= 9, authenticate: version >= 2, describeCluster: true}[key]
	var body []byte
	switch key {
	case metadata:
		isError := failure != 0 && version >= 13
		leader, id := nodes[0].id, text(flexible, cluster)
		if isError {
			nodes, leader, id = nil, -1, null(true)
		}
		body = slices.Concat(when(version >= 3, i32(0)), brokers(flexible, nodes, version >= 1, false), when(version >= 2, id),
			when(version >= 1, i32(leader)), array(flexible, 0), when(8 <= version && version <= 10, i32(-1<<31)),
			when(version >= 13, i16(failure)))
	case describeCluster:
		body = slices.Concat(i32(0), i16(0), null(true), when(version >= 1, []byte{1}), text(true, cluster), i32(nodes[0].id),
			brokers(true, nodes, true, version >= 2), i32(-1<<31))
	case handshake:
		body = slices.Concat(i16(failure), i32(1), text(false, map[bool]string{true: "PLAIN", false: "SCRAM-SHA-512"}[failure == 0]))
	case authenticate:
		body = slices.Concat(i16(failure), null(flexible), array(flexible, 0), when(version >= 1, make([]byte, 8)))
	}
	payload := slices.Concat(i32(correlation), tags(flexible), body, tags(flexible))
	return append(i32(len(payload)), payload...)
}

func brokers(flexible bool, nodes []node, hasRack, hasFenced bool) []byte {
	var items [][]byte
	for _, each := range nodes {
		items = append(items, slices.Concat(i32(each.id), text(flexible, "127.0.0.1"), i32(each.port),
			when(hasRack, null(flexible)), when(hasFenced, []byte{0}), tags(flexible)))
	}
	return array(flexible, len(nodes), items...)
}
