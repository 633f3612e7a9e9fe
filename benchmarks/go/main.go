// Writes to etcd over gRPC or HTTP, or to Lastword over HTTP, from many clients at once.
//
//	writes KIND ADDRESS PATH TOKEN CLIENTS SECONDS
//
// KIND names the server and the operation, as in etcd-cas, gateway-put and http-increment. The last line of the
// output is one JSON object with what was reached. Every answer is checked.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const batch = 100

var value = `{"name":"Ada","note":"` + strings.Repeat("x", 60) + `"}`

// One client: each call is one operation, and returns how many writes it was.
type client func() (int, error)

func main() {
	if len(os.Args) != 7 {
		log.Fatal("writes KIND ADDRESS PATH TOKEN CLIENTS SECONDS")
	}
	server, operation, _ := strings.Cut(os.Args[1], "-")
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	seconds, err := strconv.ParseFloat(os.Args[6], 64)
	check(err)
	clients := make([]client, count)
	for i := range clients {
		key := fmt.Sprintf("cas-%d", i)
		switch server {
		case "etcd":
			clients[i] = etcdClient(os.Args[2], operation, key)
		case "gateway":
			clients[i] = gatewayClient(os.Args[2], operation, key)
		default:
			clients[i] = lastwordClient(os.Args[2]+os.Args[3], os.Args[4], operation, key)
		}
	}
	report(run(clients, time.Duration(seconds*float64(time.Second))))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// -- etcd ------------------------------------------------------------------------------------

func etcdClient(address, operation, key string) client {
	connection, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	check(err)
	background := context.Background()
	switch operation {
	case "cas":
		put, err := connection.Put(background, key, value)
		check(err)
		revision := put.Header.Revision
		return func() (int, error) {
			answer, err := connection.Txn(background).
				If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
				Then(clientv3.OpPut(key, value)).Commit()
			if err == nil && !answer.Succeeded {
				err = fmt.Errorf("%s has another revision than %d", key, revision)
			}
			if err == nil {
				revision = answer.Header.Revision
			}
			return 1, err
		}
	case "increment":
		return etcdIncrement(connection, "hot")
	case "put":
		return func() (int, error) {
			_, err := connection.Put(background, key, value)
			return 1, err
		}
	case "batch":
		return func() (int, error) {
			puts := make([]clientv3.Op, batch)
			for i := range puts {
				puts[i] = clientv3.OpPut(fmt.Sprintf("%s-%d", key, i), value)
			}
			_, err := connection.Txn(background).Then(puts...).Commit()
			return batch, err
		}
	}
	log.Fatal("no such operation: " + operation)
	return nil
}

// Read, add one, write if nobody else did; a loser learns the current number from its answer.
func etcdIncrement(connection *clientv3.Client, key string) client {
	var number, revision int64
	return func() (int, error) {
		for {
			answer, err := connection.Txn(context.Background()).
				If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
				Then(clientv3.OpPut(key, strconv.FormatInt(number+1, 10))).
				Else(clientv3.OpGet(key)).Commit()
			if err != nil {
				return 0, err
			}
			if answer.Succeeded {
				number, revision = number+1, answer.Header.Revision
				return 1, nil
			}
			current := answer.Responses[0].GetResponseRange().Kvs[0]
			revision = current.ModRevision
			if number, err = strconv.ParseInt(string(current.Value), 10, 64); err != nil {
				return 0, err
			}
		}
	}
}

// -- Lastword --------------------------------------------------------------------------------

func lastwordClient(base, token, operation, key string) client {
	ask := jsonClient(base, "Authorization", "Bearer "+token)
	switch operation {
	case "cas":
		first, _, err := ask("PUT", "/"+key, value)
		check(err)
		etag := first.Header.Get("ETag")
		return func() (int, error) {
			answer, _, err := ask("PUT", "/"+key, value, "If-Match", etag)
			if err == nil {
				etag = answer.Header.Get("ETag")
			}
			return 1, err
		}
	case "increment":
		return func() (int, error) {
			_, _, err := ask("POST", "/hot/increment", "")
			return 1, err
		}
	case "put":
		return func() (int, error) {
			_, _, err := ask("PUT", "/"+key, value)
			return 1, err
		}
	case "batch":
		records := make([]string, batch)
		for i := range records {
			records[i] = fmt.Sprintf(`{"op":"put","key":"%s-%d","value":%s}`, key, i, value)
		}
		body := `{"records":[` + strings.Join(records, ",") + `]}`
		return func() (int, error) {
			_, _, err := ask("POST", "", body)
			return batch, err
		}
	}
	log.Fatal("no such operation: " + operation)
	return nil
}

// -- measuring -------------------------------------------------------------------------------

type measured struct {
	writes    int
	latencies []float64
	seconds   float64
}

func run(clients []client, length time.Duration) measured {
	var all measured
	var lock sync.Mutex
	var waiting sync.WaitGroup
	started := time.Now()
	for _, each := range clients {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			writes, latencies := 0, []float64{}
			for time.Since(started) < length {
				before := time.Now()
				done, err := each()
				check(err)
				writes += done
				latencies = append(latencies, float64(time.Since(before).Microseconds())/1000)
			}
			lock.Lock()
			defer lock.Unlock()
			all.writes += writes
			all.latencies = append(all.latencies, latencies...)
		}()
	}
	waiting.Wait()
	all.seconds = time.Since(started).Seconds()
	return all
}

func report(all measured) {
	sort.Float64s(all.latencies)
	at := func(part float64) float64 { return all.latencies[int(part*float64(len(all.latencies)-1))] }
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"writes":     float64(all.writes),
		"per_second": float64(all.writes) / all.seconds,
		"p50_ms":     at(0.5),
		"p99_ms":     at(0.99),
	}))
}
