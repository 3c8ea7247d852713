// Package vectors reads the handshake vectors with Go's own test framework.
//
// responses.json is decoded by franz-go's kmsg: what a table or a refusal lists must be what the vector says, and a
// malformed response must cause no panic; one that is read all the same is noted. VECTORS names the folder of the vectors, and RESULTS a file for
// `kafka-conformance vectors check`.
package vectors

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const unsupportedVersion = 35

type response struct {
	ID             string    `json:"id"`
	Sentence       string    `json:"sentence"`
	RequestVersion int16     `json:"request_version"`
	CorrelationID  int32     `json:"correlation_id"`
	Bytes          string    `json:"bytes"`
	Meaning        string    `json:"meaning"`
	ErrorCode      *int16    `json:"error_code"`
	Entries        [][]int16 `json:"entries"`
	OnlyAfterBody  bool      `json:"only_bytes_after_the_body"`
}

// unhex reads hexadecimal in which spaces mean nothing, and 61*300 stands for 300 times the byte 61.
func unhex(t *testing.T, text string) []byte {
	var data []byte
	for _, part := range strings.Fields(text) {
		digits, times, repeated := strings.Cut(part, "*")
		count := 1
		if repeated {
			count, _ = strconv.Atoi(times)
		}
		unit, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%q: %v", part, err)
		}
		for ; count > 0; count-- {
			data = append(data, unit...)
		}
	}
	return data
}

func load(t *testing.T, name string, into any) {
	data, err := os.ReadFile(filepath.Join(os.Getenv("VECTORS"), name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// record writes one line for `kafka-conformance vectors check`.
func record(t *testing.T, id, result string) {
	path := os.Getenv("RESULTS")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var index struct {
		Version int `json:"version"`
	}
	load(t, "index.json", &index)
	fmt.Fprintf(file, "{\"id\": %q, \"version\": %d, \"result\": %q}\n", id, index.Version, result)
}

// read returns what kmsg makes of a frame, or why it cannot be read.
func read(frame []byte, vector response) (decoded *kmsg.ApiVersionsResponse, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("PANIC: %v", panicked)
		}
	}()
	if len(frame) < 8 || int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		return nil, fmt.Errorf("the size is not that of the frame")
	}
	if int32(binary.BigEndian.Uint32(frame[4:])) != vector.CorrelationID {
		return nil, fmt.Errorf("another correlation id")
	}
	decoded = kmsg.NewPtrApiVersionsResponse()
	decoded.SetVersion(vector.RequestVersion)
	if len(frame) >= 10 && binary.BigEndian.Uint16(frame[8:]) == unsupportedVersion {
		decoded.SetVersion(0) // A refusal is always in the layout of v0; franz-go's client reads it so as well.
	}
	return decoded, decoded.ReadFrom(frame[8:])
}

func check(t *testing.T, vector response, frame []byte) error {
	decoded, err := read(frame, vector)
	if err != nil && strings.HasPrefix(err.Error(), "PANIC") {
		return err
	}
	switch vector.Meaning {
	case "malformed":
		if err == nil && !vector.OnlyAfterBody {
			t.Logf("it is read as if nothing were wrong: error %d and %d entries", decoded.ErrorCode, len(decoded.ApiKeys))
		}
		return nil
	case "error":
		if err == nil && decoded.ErrorCode != *vector.ErrorCode {
			return fmt.Errorf("error code %d, not %d", decoded.ErrorCode, *vector.ErrorCode)
		}
		return nil // A client need not read the rest of an error.
	}
	if err != nil {
		return err
	}
	var entries [][]int16
	for _, key := range decoded.ApiKeys {
		entries = append(entries, []int16{key.ApiKey, key.MinVersion, key.MaxVersion})
	}
	if decoded.ErrorCode != *vector.ErrorCode {
		return fmt.Errorf("error code %d, not %d", decoded.ErrorCode, *vector.ErrorCode)
	}
	if len(entries)+len(vector.Entries) > 0 && !reflect.DeepEqual(grouped(entries), grouped(vector.Entries)) {
		return fmt.Errorf("it lists %v, not %v", entries, vector.Entries)
	}
	return nil
}

// grouped returns the ranges by API key, because the order of the keys means nothing.
func grouped(entries [][]int16) map[int16][][]int16 {
	ranges := map[int16][][]int16{}
	for _, entry := range entries {
		ranges[entry[0]] = append(ranges[entry[0]], entry[1:])
	}
	return ranges
}

func TestResponses(t *testing.T) {
	var file struct {
		Vectors []response `json:"vectors"`
	}
	load(t, "responses.json", &file)
	if len(file.Vectors) == 0 {
		t.Fatal("there are no vectors")
	}
	for _, vector := range file.Vectors {
		t.Run(vector.ID, func(t *testing.T) {
			result := "pass"
			if err := check(t, vector, unhex(t, vector.Bytes)); err != nil {
				result = "fail"
				t.Errorf("%s\n%v\n%s", vector.Sentence, err, vector.Bytes)
			}
			record(t, vector.ID, result)
		})
	}
}
