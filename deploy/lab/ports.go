package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports come from below the range that Linux gives to outgoing connections (from 32768): there nobody takes a port
// by chance between the moment it was found free and the moment a program listens on it.
const firstPort, lastPort = 20000, 32000

// freePorts finds n different loopback ports that nobody listens on, by listening on them for a moment.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		defer listener.Close() // after all are found, so that they differ
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free loopback port found in 1000 tries")
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
