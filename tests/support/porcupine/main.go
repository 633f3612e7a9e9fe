// Judges a history of operations on keys: is there an order of them, per key, in which each takes
// effect at one moment between its beginning and its end, and all answers are right?
//
// Reads operations as JSON lines on standard input, as tests/support/linearizability/history.py
// writes them, and prints one line of JSON per key whose history is not linearizable. It knows
// nothing of versions and offsets: values of writes are unique, and a condition is on the value.
// Transactions write both keys of a pair, PAIR/first and PAIR/second, with the same value: a pair is
// one register, and a transaction that is seen in part has no place in any order of it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	Id            string          `json:"id"`
	Kind          string          `json:"kind"`
	Key           string          `json:"key"`
	Value         json.RawMessage `json:"value"`
	ExpectedValue json.RawMessage `json:"expected_value"`
	Invoked       int64           `json:"invoked_ns"`
	Completed     int64           `json:"completed_ns"`
	Status        string          `json:"status"`
	Result        json.RawMessage `json:"result"`
}

type input struct {
	kind            string
	value, expected any
}

// What the client was told. An operation whose outcome is unknown may have had any.
type output struct {
	status string
	result any
}

type verdict struct {
	Key     string `json:"key"`
	Verdict string `json:"verdict"`
}

// The state of a key: its value as JSON, "" while it is absent.
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		return step(state.(string), in.(input), out.(output))
	},
	Equal: func(one, other any) bool { return one == other },
}

func step(state string, in input, out output) (bool, any) {
	if in.kind == "read" {
		return text(out.result) == state, state
	}
	conditional := in.kind == "cas" || in.kind == "transact"
	held := !conditional || text(in.expected) == state
	if out.status == "conflict" {
		return !held && text(out.result) == state, state
	}
	if !held {
		// Not written, which the client was not told: it may have been the reason.
		return out.status == "unknown", state
	}
	next, result := applied(state, in)
	if out.status == "ok" && computed[in.kind] && !reflect.DeepEqual(out.result, result) {
		return false, state
	}
	return true, next
}

// The operations whose answer is the value that they leave.
var computed = map[string]bool{"increment": true, "append": true, "merge": true, "put_if_greater": true}

func applied(state string, in input) (string, any) {
	var before any
	if state != "" {
		before = parsed([]byte(state))
	}
	var after any
	switch in.kind {
	case "delete":
		return "", nil
	case "increment":
		number, _ := before.(float64)
		after = number + in.value.(float64)
	case "append":
		list, _ := before.([]any)
		after = append(append([]any{}, list...), in.value)
	case "merge":
		merged := map[string]any{}
		if document, there := before.(map[string]any); there {
			maps.Copy(merged, document)
		}
		maps.Copy(merged, in.value.(map[string]any))
		after = merged
	case "put_if_greater":
		after = in.value
		if number, there := before.(float64); there && number >= in.value.(float64) {
			after = before
		}
	default:
		after = in.value
	}
	return text(after), after
}

func text(value any) string {
	if value == nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func parsed(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	return value
}

func read() (map[string][]porcupine.Operation, error) {
	keys := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	clients := 0
	for lines.Scan() {
		each := operation{Completed: math.MaxInt64, Status: "unknown"} // unless the line says more
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			return nil, err
		}
		if each.Status == "failed" || (each.Status == "unknown" && each.Kind == "read") {
			continue // certainly without effect
		}
		clients++ // each is a client of its own: an unknown one never ends
		key, _, _ := strings.Cut(each.Key, "/")
		keys[key] = append(keys[key], porcupine.Operation{
			ClientId: clients,
			Input:    input{each.Kind, parsed(each.Value), parsed(each.ExpectedValue)},
			Call:     each.Invoked,
			Output:   output{each.Status, parsed(each.Result)},
			Return:   each.Completed,
		})
	}
	return keys, lines.Err()
}

func main() {
	keys, err := read()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	found := json.NewEncoder(os.Stdout)
	for key, operations := range keys {
		if result := porcupine.CheckOperationsTimeout(model, operations, time.Minute); result != porcupine.Ok {
			if err := found.Encode(verdict{key, string(result)}); err != nil {
				os.Exit(2)
			}
		}
	}
}
