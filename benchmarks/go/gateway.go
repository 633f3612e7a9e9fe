package main

import (
	"encoding/base64"
	"fmt"
	"log"
	"strconv"
	"strings"
)

// etcd's own HTTP interface, which translates JSON to gRPC.
func gatewayClient(address, operation, key string) client {
	ask := jsonClient(address + "/v3/kv")
	switch operation {
	case "cas":
		_, first, err := ask("POST", "/put", putOf(key, value))
		check(err)
		revision := revisionOf(first)
		return func() (int, error) {
			_, answer, err := ask("POST", "/txn", transactionOf(key, revision, value, ""))
			if err == nil && !succeeded(answer) {
				err = fmt.Errorf("%s has another revision than %s", key, revision)
			}
			if err == nil {
				revision = revisionOf(answer)
			}
			return 1, err
		}
	case "increment":
		return gatewayIncrement(ask, "hot")
	case "put":
		return func() (int, error) {
			_, _, err := ask("POST", "/put", putOf(key, value))
			return 1, err
		}
	case "batch":
		return func() (int, error) {
			puts := make([]string, batch)
			for i := range puts {
				puts[i] = `{"requestPut":` + putOf(fmt.Sprintf("%s-%d", key, i), value) + `}`
			}
			_, _, err := ask("POST", "/txn", `{"success":[`+strings.Join(puts, ",")+`]}`)
			return batch, err
		}
	}
	log.Fatal("no such operation: " + operation)
	return nil
}

// As etcdIncrement.
func gatewayIncrement(ask request, key string) client {
	number, revision := 0, "0"
	return func() (int, error) {
		for {
			otherwise := `{"requestRange":{"key":"` + base64Of(key) + `"}}`
			_, answer, err := ask("POST", "/txn", transactionOf(key, revision, strconv.Itoa(number+1), otherwise))
			if err != nil {
				return 0, err
			}
			if succeeded(answer) {
				number, revision = number+1, revisionOf(answer)
				return 1, nil
			}
			response := answer.(map[string]any)["responses"].([]any)[0].(map[string]any)["response_range"]
			current := response.(map[string]any)["kvs"].([]any)[0].(map[string]any)
			revision = current["mod_revision"].(string)
			text, err := base64.StdEncoding.DecodeString(current["value"].(string))
			if err != nil {
				return 0, err
			}
			if number, err = strconv.Atoi(string(text)); err != nil {
				return 0, err
			}
		}
	}
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func putOf(key, value string) string {
	return `{"key":"` + base64Of(key) + `","value":"` + base64Of(value) + `"}`
}

// Put the value if the key has this revision, else do something else.
func transactionOf(key, revision, value, otherwise string) string {
	return `{"compare":[{"key":"` + base64Of(key) + `","target":"MOD","modRevision":"` + revision + `"}],` +
		`"success":[{"requestPut":` + putOf(key, value) + `}],"failure":[` + otherwise + `]}`
}

func revisionOf(answer any) string {
	return answer.(map[string]any)["header"].(map[string]any)["revision"].(string)
}

func succeeded(answer any) bool { return answer.(map[string]any)["succeeded"] == true }
