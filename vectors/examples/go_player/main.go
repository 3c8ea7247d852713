// Command player plays the plays of plays.json to a client, and judges it by what holds for any client in any play.
//
//	player [-vectors FOLDER] [-only ID,ID] [-parallel N] [-start TIME] COMMAND > results.jsonl
//
// COMMAND is run by a shell, once for each play; a play is skipped if it opens no connection. $BOOTSTRAP is HOST:PORT, and
// $TIMEOUT how many seconds the client has. $AGAIN is set if it repeats its operation until then, $SASL if it authenticates:
//
//	exec ./client --bootstrap $BOOTSTRAP --timeout $TIMEOUT ${AGAIN:+--again} ${SASL:+--username conformance --password conformance-secret}
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const timeToStart, timeToEnd = 30 * time.Second, 4 * time.Second

// set, play, script and reply are as in schema.json.
type set struct {
	Version int
	Frames  map[string]string
	Tables  map[string][][3]int
	Others  map[string][]reply
	Vectors []play
}

type reply struct {
	API, State        *int
	Versions, Again   []int
	EndsWith          []string `json:"ends_with"`
	HeldBack          bool     `json:"held_back"`
	DelayMs           int      `json:"delay_ms"`
	Pieces            int
	Leave             bool
	Send, Then, Table string
}

type script struct {
	Opening *reply
	States  []struct {
		Replies []reply
		Others  string
	}
	ClosesAfter int `json:"closes_after"`
}

type play struct {
	ID, Outcome           string
	Options               []string
	Sasl                  bool
	Nodes                 [][]script
	Healed                []script
	KeepsAsking           bool `json:"keeps_asking"`
	TimeoutMs             int  `json:"timeout_ms"`
	EndsAfter             int  `json:"ends_after"`
	HealsAfterMs          int  `json:"heals_after_ms"`
	HealsAfterConnections int  `json:"heals_after_connections"`
}

// running is a play that is played to a client.
type running struct {
	play
	sync.Mutex
	set                  *set
	ports, problems      []string
	opened               []int // How many connections to each node.
	last                 []*told
	allAsked, allAnswers int
	isEnough             bool
	end                  func()           // Ends the client, because enough was seen.
	began                func() time.Time // When the first connection was opened.
}

func (p *running) accept(node int, listener *net.TCPListener) {
	for {
		stream, err := listener.AcceptTCP()
		if err != nil {
			return
		}
		p.Lock()
		number, own := p.opened[node], p.Nodes[node]
		c := &connection{running: p, stream: stream, node: node, last: p.last[node]}
		c.script = own[min(number, len(own)-1)]
		isTime := time.Since(p.began()) >= time.Duration(p.HealsAfterMs)*time.Millisecond
		if isTime && len(p.Healed) > 0 && number >= p.HealsAfterConnections {
			c.script = p.Healed[node]
		}
		p.opened[node], p.last[node] = number+1, nil
		p.Unlock()
		go c.talk()
	}
}

// run plays to a client; it returns pass, fail or skip, and why.
func (p *running) run(command string, start time.Duration) (string, string) {
	limit := time.Duration(p.TimeoutMs)*time.Millisecond + start
	ending, end := context.WithTimeout(context.Background(), timeToStart+limit+timeToEnd)
	defer end()
	p.opened, p.last = make([]int, len(p.Nodes)), make([]*told, len(p.Nodes))
	p.end = func() { p.isEnough = true; end() }
	// A client measures its time from its start, and a busy machine starts it late.
	p.began = sync.OnceValue(func() time.Time { time.AfterFunc(limit+timeToEnd, end); return time.Now() })
	p.Lock() // Nothing is answered before all ports are known.
	listeners := make([]*net.TCPListener, len(p.Nodes))
	for node := range listeners {
		listeners[node], _ = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		defer listeners[node].Close()
		port := fmt.Sprintf("%08x", listeners[node].Addr().(*net.TCPAddr).Port)
		p.ports = append(p.ports, fmt.Sprintf("{port%d}", node), port)
		go p.accept(node, listeners[node])
	}
	p.Unlock()
	client, yes := exec.CommandContext(ending, "sh", "-c", command), map[bool]string{true: "1"}
	client.Env = append(os.Environ(), "BOOTSTRAP="+listeners[0].Addr().String(), fmt.Sprint("TIMEOUT=", limit.Seconds()))
	client.Env = append(client.Env, "AGAIN="+yes[p.KeepsAsking], "SASL="+yes[p.Sasl])
	client.WaitDelay = time.Second
	output, err := client.CombinedOutput()
	if client.ProcessState == nil || p.opened[0] == 0 {
		return "skip", fmt.Sprintf("the client opened no connection: %v %s", err, output)
	}
	problems := p.judgeEnd(client.ProcessState.ExitCode(), ending.Err() != nil)
	return map[bool]string{true: "pass", false: "fail"}[problems == ""], problems
}

func load(values any, path string) {
	data, _ := os.ReadFile(path)
	if err := json.Unmarshal(data, values); err != nil {
		log.Fatalf("%s cannot be read: %v", path, err)
	}
}

func main() {
	folder, only := flag.String("vectors", "vectors", "folder of the vectors"), flag.String("only", "", "ids of plays")
	start, parallel := flag.Duration("start", time.Second, "how long the client takes to start"), flag.Int("parallel", 4, "plays at a time")
	flag.Parse()
	var all set
	load(&all, *folder+"/index.json") // It has the version.
	load(&all, *folder+"/plays.json")
	room, group := make(chan bool, *parallel), sync.WaitGroup{}
	for _, each := range all.Vectors {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), each.ID) {
			continue
		}
		room <- true
		group.Go(func() {
			result, why := "skip", "it needs options of the client"
			if len(each.Options) == 0 {
				result, why = (&running{play: each, set: &all}).run(flag.Arg(0), *start)
			}
			line, _ := json.Marshal(map[string]any{"id": each.ID, "version": all.Version, "result": result, "why": why})
			fmt.Println(string(line))
			<-room
		})
	}
	group.Wait()
}
