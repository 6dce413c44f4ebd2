package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The test runs itself a second time as a process of its own, kills that with no chance to clean up, and looks for
// the program that it had started.
func TestKilledTestLeavesNothingBehind(t *testing.T) {
	const role = "HOLDFAST_LAB_TEST_ROLE"
	if os.Getenv(role) == "victim" {
		sleeper, err := newSupervisor(os.TempDir()).start("sleeper", "/bin/sleep", nil, "60")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pid %d\n", sleeper.cmd.Process.Pid)
		select {}
	}
	victim := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	victim.Env = append(os.Environ(), role+"=victim", "TMPDIR="+t.TempDir())
	output, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // says only that it was killed
	pid, found := strings.CutPrefix(strings.TrimSpace(line), "pid ")
	if !found {
		t.Fatalf("the second process said %q, %v", line, err)
	}
	for deadline := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s outlives the test that started it", pid)
		}
	}
}

// alive tells whether a process runs. One that is dead and waits to be collected by its parent does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
