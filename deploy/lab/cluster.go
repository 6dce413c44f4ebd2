package lab

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Cluster is one API server of a lab with what was asked for around it.
type Cluster struct {
	Name     string // also the name of its kubeconfig context
	Dir      string // its kubeconfigs and its audit log
	AuditLog string // path, one JSON entry a line; empty unless Options.Audit

	lab          *Lab
	server       string // URL
	etcd, prefix string
	apiserver    *process
	admin        *http.Client
}

// Server returns the URL of the API server.
func (c *Cluster) Server() string { return c.server }

// Config returns a new client configuration for a user. It has no rate limit of its own.
func (c *Cluster) Config(user User) *rest.Config {
	find(user)
	return &rest.Config{
		Host:            c.server,
		BearerToken:     c.lab.identity.tokens[user],
		TLSClientConfig: rest.TLSClientConfig{CAData: c.lab.identity.ca},
		QPS:             -1,
	}
}

// Kubeconfig returns the path of a kubeconfig file that holds this cluster and one user. Its one context carries the
// cluster's name.
func (c *Cluster) Kubeconfig(user User) string {
	find(user)
	return filepath.Join(c.Dir, string(user)+".kubeconfig")
}

// Kubeconfig writes a file with one context for each cluster of the lab, all as the same user, and returns its path.
// The current context is the first cluster's.
func (l *Lab) Kubeconfig(user User) (string, error) {
	config := clientcmdapi.NewConfig()
	for _, c := range l.Clusters {
		c.addTo(config, user)
	}
	config.CurrentContext = l.Clusters[0].Name
	path := filepath.Join(l.Dir, string(user)+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

func (c *Cluster) writeKubeconfigs() error {
	for _, a := range accounts() {
		config := clientcmdapi.NewConfig()
		c.addTo(config, a.user)
		config.CurrentContext = c.Name
		if err := clientcmd.WriteToFile(*config, c.Kubeconfig(a.user)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) addTo(config *clientcmdapi.Config, user User) {
	who := c.Name + "-" + string(user)
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: c.lab.identity.ca}
	config.AuthInfos[who] = &clientcmdapi.AuthInfo{Token: c.lab.identity.tokens[user]}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: who}
}

// Grant binds a user to a ClusterRole in the whole cluster, for instance Bot to the role that it ships with. The
// roles view, edit and admin are empty unless a controller-manager runs, which aggregates them.
func (c *Cluster) Grant(t testing.TB, user User, clusterRole string) {
	t.Helper()
	if err := c.bind(t.Context(), find(user), clusterRole); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) bind(ctx context.Context, a account, role string) error {
	subject := map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": a.name}
	err := call(ctx, c.admin, http.MethodPost, c.server+"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1",
		"kind":       "ClusterRoleBinding",
		"metadata":   map[string]string{"name": "lab:" + string(a.user) + ":" + role},
		"roleRef":    map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
		"subjects":   []any{subject},
	}, nil, http.StatusCreated, http.StatusConflict)
	if err != nil {
		return fmt.Errorf("bind %s to ClusterRole %s: %w", a.user, role, err)
	}
	return nil
}

// Exec runs kubectl with a fixed argument vector and returns what it printed. A failure's error carries what kubectl
// said; what it had printed to standard output by then is returned too. Nothing of the caller's environment matters:
// kubectl's cache and preferences live in the lab.
func (c *Cluster) Exec(ctx context.Context, user User, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, c.lab.kubebox, append([]string{"kubectl"}, args...)...)
	command.Env = c.lab.environment("KUBECONFIG="+c.Kubeconfig(user), "KUBERC=off",
		// discovery answers are cached by host and port, and ports come back in other labs
		"KUBECACHEDIR="+filepath.Join(c.Dir, "kubectl-cache"))
	command.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	command.WaitDelay = 5 * time.Second
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s (as %s on %s): %w\n%s", strings.Join(args, " "), user, c.Name, err,
			strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// Kubectl runs kubectl as a user, fails the test when kubectl fails, and returns what it printed.
func (c *Cluster) Kubectl(t testing.TB, user User, stdin string, args ...string) string {
	t.Helper()
	out, err := c.Exec(t.Context(), user, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Apply applies manifests (YAML, many documents) by server-side apply the way an engine does: as one field manager,
// taking conflicting fields over.
func (c *Cluster) Apply(t testing.TB, user User, manager, manifests string) {
	t.Helper()
	if err := c.apply(t.Context(), user, manager, manifests); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) apply(ctx context.Context, user User, manager, manifests string) error {
	_, err := c.Exec(ctx, user, manifests, "apply", "--server-side", "--force-conflicts", "--field-manager="+manager, "-f", "-")
	return err
}

// CPU returns the processor time that the API server's process has used so far, user and system together. The
// kernel counts in hundredths of a second. Linux only.
func (c *Cluster) CPU() (time.Duration, error) {
	const tick = time.Second / 100 // USER_HZ, the same on every Linux that Go runs on
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.apiserver.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("processor time of %s: %w", c.apiserver.name, err)
	}
	// proc_pid_stat(5): fields 14 and 15 are utime and stime. The second field is a name in parentheses that may hold
	// blanks, so count from behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+system) * tick, nil
}
