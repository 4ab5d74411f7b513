package network

import (
	"bufio"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

func TestSetStallsAndResets(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = server.Close() }()
	heard := make(chan string, 1)
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					heard <- lines.Text()
					_, _ = conn.Write([]byte(lines.Text() + "\n"))
				}
			}()
		}
	}()
	n, err := New(t.Context(), server.Addr().String())
	must(t, err)
	defer n.Close()
	client, err := net.Dial("tcp", n.Address())
	must(t, err)
	defer func() { _ = client.Close() }()
	answers := bufio.NewReader(client)
	say := func(line string) { _, err := client.Write([]byte(line + "\n")); must(t, err) }
	hear := func(want string) {
		t.Helper()
		if got := <-heard; got != want {
			t.Fatalf("the server received %q, want %q", got, want)
		}
	}
	answer := func(want string) {
		t.Helper()
		must(t, client.SetReadDeadline(time.Now().Add(10*time.Second)))
		if got, err := answers.ReadString('\n'); err != nil || got != want+"\n" {
			t.Fatalf("the answer is %q (%v), want %q", got, err, want)
		}
	}
	noAnswer := func() {
		t.Helper()
		must(t, client.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		if got, err := answers.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the answer is %q (%v), want no answer", got, err)
		}
	}

	say("one")
	hear("one")
	answer("one")

	n.Set(StallAnswers)
	say("two")
	hear("two")
	noAnswer()
	n.Set(StallRequests) // delayed answers pass
	answer("two")
	say("three")
	noAnswer()
	select {
	case got := <-heard:
		t.Fatalf("the server received %q", got)
	default:
	}
	n.Set(Whole)
	hear("three")
	answer("three")

	n.Set(Reset)
	must(t, client.SetReadDeadline(time.Now().Add(10*time.Second)))
	if _, err := answers.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection was not reset: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
