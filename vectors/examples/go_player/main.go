// Command player plays the plays of plays.json to a client, and judges it by what holds for any client in any play.
//
//	player [-vectors FOLDER] [-results FILE] [-only ID,ID] [-parallel N] [-start TIME] [-again ARGS] [-sasl ARGS] COMMAND ARGUMENT...
//
// {bootstrap} and {timeout} in the command are filled in. -again has arguments with which the client repeats its operation,
// -sasl those for the user of index.json. A play that needs what is not given, or other options, is skipped.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const timeToStart, timeToEnd = 30 * time.Second, 4 * time.Second

type play struct {
	object
	sync.Mutex
	tables           [][]entry
	listeners        []net.Listener
	stop             context.CancelFunc
	began            time.Time
	start            time.Duration
	opened           []int
	last             []*told
	asked, responses int
	hasEnough        bool
	problems         []string
}

func (p *play) accept(node int) {
	for {
		stream, err := p.listeners[node].Accept()
		if err != nil {
			return
		}
		p.Lock()
		if p.began.IsZero() {
			p.began = time.Now()
			// A client measures its time from its start, a busy machine starts it late.
			time.AfterFunc(time.Duration(p.int("timeout_ms", 0))*time.Millisecond+p.start+timeToEnd, p.stop)
		}
		scripts, number := p.list("nodes")[node].([]any), p.opened[node]
		script := object(scripts[min(number, len(scripts)-1)].(map[string]any))
		healsAfter := time.Duration(p.int("heals_after_ms", 1<<30)) * time.Millisecond
		if time.Since(p.began) >= healsAfter && number >= p.int("heals_after_connections", 0) {
			script = object{}
		}
		c := &connection{play: p, stream: stream.(*net.TCPConn), script: script, node: node, last: p.last[node]}
		p.opened[node], p.last[node] = number+1, nil
		p.Unlock()
		go c.talk()
	}
}

// run plays to a client; it returns pass, fail or skip, and why.
func (p *play) run(command []string) (string, string) {
	timeout := time.Duration(p.int("timeout_ms", 0))*time.Millisecond + p.start
	ending, stop := context.WithTimeout(context.Background(), timeout+timeToEnd+timeToStart)
	defer stop()
	p.stop, p.opened, p.last = stop, make([]int, len(p.list("nodes"))), make([]*told, len(p.list("nodes")))
	for range p.opened {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "skip", err.Error()
		}
		defer listener.Close()
		p.listeners = append(p.listeners, listener)
	}
	for node := range p.opened {
		go p.accept(node)
	}
	given := strings.NewReplacer("{bootstrap}", p.listeners[0].Addr().String(), "{timeout}", fmt.Sprint(timeout.Seconds()))
	var arguments []string
	for _, each := range command {
		arguments = append(arguments, given.Replace(each))
	}
	client := exec.CommandContext(ending, arguments[0], arguments[1:]...)
	client.WaitDelay = time.Second
	output, err := client.CombinedOutput()
	p.Lock()
	defer p.Unlock()
	outcome := map[bool]string{true: "ok", false: "error"}[err == nil]
	switch {
	case p.hasEnough:
		outcome = p.text("outcome") // It was ended, because enough was seen.
	case client.ProcessState == nil:
		return "skip", err.Error()
	case ending.Err() != nil:
		outcome = "nothing: it had to be ended"
	case client.ProcessState.ExitCode() < 0:
		p.problems = append(p.problems, "the client crashed: "+err.Error())
	case p.began.IsZero():
		return "skip", "the client opened no connection: " + string(output)
	}
	if demanded := p.text("outcome"); demanded != "any" && outcome != demanded {
		p.problems = append(p.problems, fmt.Sprintf("the application must see %s, and saw %s", demanded, outcome))
	}
	return map[bool]string{true: "pass", false: "fail"}[p.problems == nil], strings.Join(p.problems, "; ")
}

func load(folder, name string) (values object) {
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err == nil {
		err = json.Unmarshal(data, &values)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	return values
}

func main() {
	folder, results := flag.String("vectors", "vectors", "folder of the vectors"), flag.String("results", "results.jsonl", "file for `vectors check`")
	start := flag.Duration("start", time.Second, "how long the client takes to start")
	parallel := flag.Int("parallel", 4, "plays at a time")
	only, again, sasl := flag.String("only", "", "ids of plays"), flag.String("again", "", "see above"), flag.String("sasl", "", "see above")
	flag.Parse()
	room := make(chan bool, *parallel)
	index, file := load(*folder, "index.json"), load(*folder, "plays.json")
	lines, counts := make([]string, len(file.list("vectors"))), map[string]int{}
	var group sync.WaitGroup
	var lock sync.Mutex
	for place, each := range file.list("vectors") {
		p := &play{object: each.(map[string]any), start: *start}
		for _, table := range p.list("tables") {
			text := strings.Replace(table.(string), "healthy", index.text("healthy_table"), 1)
			p.tables = append(p.tables, entriesOf(text))
		}
		command, isGiven := slices.Clone(flag.Args()), len(p.list("options")) == 0
		for need, arguments := range map[string]string{"keeps_asking": *again, "sasl": *sasl} {
			if p.object[need] == true {
				isGiven = isGiven && arguments != ""
				command = append(command, strings.Fields(arguments)...)
			}
		}
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.text("id")) {
			continue
		}
		room <- true
		group.Go(func() {
			defer func() { <-room }()
			result, why := "skip", "it needs options of the client"
			if isGiven {
				result, why = p.run(command)
			}
			line, _ := json.Marshal(object{"id": p.text("id"), "version": index["version"], "result": result, "why": why})
			lock.Lock()
			defer lock.Unlock()
			counts[result]++
			lines[place] = string(line) + "\n"
			fmt.Println(result, p.text("id"), why)
		})
	}
	group.Wait()
	if err := os.WriteFile(*results, []byte(strings.Join(lines, "")), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(min(counts["fail"], 1))
}
