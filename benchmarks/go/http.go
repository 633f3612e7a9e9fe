package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// One request and its answer; the content is the decoded JSON. Anything but 200 is an error.
type request func(method, path, body string, headers ...string) (*http.Response, any, error)

// A client with a connection of its own. The headers, in pairs, go with every request.
func jsonClient(base string, always ...string) request {
	connection := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, DialContext: (&net.Dialer{}).DialContext},
		Timeout:   30 * time.Second,
	}
	return func(method, path, body string, headers ...string) (*http.Response, any, error) {
		request, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		for _, pairs := range [][]string{always, headers} {
			for i := 0; i+1 < len(pairs); i += 2 {
				request.Header.Set(pairs[i], pairs[i+1])
			}
		}
		answer, err := connection.Do(request)
		if err != nil {
			return nil, nil, err
		}
		var content any
		err = json.NewDecoder(answer.Body).Decode(&content)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %s %v", method, path, answer.Status, content)
		}
		return answer, content, err
	}
}
