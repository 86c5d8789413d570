// Plays nim, where any number may be taken and the last to take wins, as theory has it; else any game by a random legal
// move.
//
//	go build -o clever docs/examples/clever.go
//	arena-bot pipe --game nim -- ./clever
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"time"
)

type message struct {
	Type   string
	Game   string
	Config struct {
		Take   []int
		Misere bool
	}
	Legal []json.RawMessage
	State struct{ Heaps []int }
}

// winning is the move after which the exclusive-or of all heaps is 0, if there is one.
func winning(heaps []int) (move string, found bool) {
	sum := 0
	for _, size := range heaps {
		sum ^= size
	}
	for heap, size := range heaps {
		if left := size ^ sum; left < size {
			return fmt.Sprintf(`{"heap":%d,"take":%d}`, heap, size-left), true
		}
	}
	return "", false
}

func main() {
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	lines := json.NewDecoder(os.Stdin)
	known := false // whether the theory is that of this match
	for said := (message{}); lines.Decode(&said) == nil; said = (message{}) {
		if said.Type == "start" {
			known = said.Game == "nim" && said.Config.Take == nil && !said.Config.Misere
		} else if said.Type == "turn" {
			move, found := winning(said.State.Heaps)
			if !known || !found {
				move = string(said.Legal[random.Intn(len(said.Legal))])
			}
			fmt.Println(move)
		}
	}
}
