package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const saslHandshake, saslAuthenticate = 17, 36
const maxOnOneConnection, maxInAll = 20, 200 // ApiVersions requests; more are a loop.
const inFlight = 200 * time.Millisecond      // So far apart two requests may come that a client sends without waiting.

// told is a reply to ApiVersions, with the times of the request and of its last byte.
type told struct {
	*reply
	asked, at time.Time
}

// noteReply notes a reply to ApiVersions that was written, and ends the play if the requests do not come to an end.
func (c *connection) noteReply(given *reply, asked request) {
	c.told = append(c.told, told{given, asked.at, time.Now()})
	c.asked, c.allAsked = c.asked+1, c.allAsked+1
	if c.asked > maxOnOneConnection || c.allAsked > maxInAll {
		c.problems = append(c.problems, "ApiVersions requests do not come to an end")
		c.end()
	}
}

// noteEnd keeps the last reply for the next connection to the node.
func (c *connection) noteEnd() {
	c.Lock()
	defer c.Unlock()
	if len(c.told) > 0 {
		c.running.last[c.node] = &c.told[len(c.told)-1]
	}
}

// judge notes what a client may not send in any play.
func (c *connection) judge(asked request) {
	var latest *told
	table := ""
	if asked.key == apiVersions && c.asked == 0 {
		latest = c.last
	}
	for index := range c.told {
		each := &c.told[index]
		if !each.at.Before(asked.at) {
			continue // The request was on its way.
		}
		if latest = each; each.Table != "" {
			table = each.Table
		}
		if each.Leave && (each.at.Sub(each.asked) >= inFlight || asked.at.Sub(each.at) >= inFlight) {
			c.note("API %d v%d was sent after an error that ends the use of the connection", asked.key, asked.version)
		}
	}
	if asked.key == apiVersions {
		if latest != nil && latest.Again != nil && !slices.Contains(latest.Again, asked.version) {
			c.note("ApiVersions v%d was sent after a refusal, when one of %v comes next", asked.version, latest.Again)
		}
		return
	}
	isListed, own := table == "", [][3]int{}
	for _, each := range c.set.Tables[table] {
		if each[0] == asked.key {
			own = append(own, each)
			isListed = isListed || max(each[1], 0) <= asked.version && asked.version <= each[2]
		}
	}
	isOfSasl := asked.key == saslHandshake || asked.key == saslAuthenticate
	if !isListed && (len(own) > 0 || !isOfSasl) {
		c.note("API %d v%d was sent although the table lists %v", asked.key, asked.version, own)
	}
}

func (c *connection) note(format string, values ...any) {
	c.Lock()
	defer c.Unlock()
	c.problems = append(c.problems, fmt.Sprintf(format, values...))
}

// judgeEnd returns what is wrong with a play that is over; it is empty if nothing is.
func (p *running) judgeEnd(status int, hadToEnd bool) string {
	p.Lock()
	defer p.Unlock()
	outcome := map[bool]string{true: "ok", false: "error"}[status == 0]
	switch {
	case p.isEnough:
		outcome = p.Outcome
	case hadToEnd:
		outcome = "nothing: it had to be ended"
	case status < 0:
		p.problems = append(p.problems, "the client crashed")
	}
	if p.Outcome != "any" && outcome != p.Outcome {
		p.problems = append(p.problems, "the application must see "+p.Outcome+", and saw "+outcome)
	}
	slices.Sort(p.problems)
	return strings.Join(slices.Compact(p.problems), "; ")
}
