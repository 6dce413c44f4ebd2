package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// environment is all that a program of the lab sees of the caller's: no proxies, no home, no kubeconfig. Temporary
// files go to the lab's folder; Flux's controllers even delete what they find in a shared one.
func (l *Lab) environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.Dir, "TMPDIR=" + l.temporary()}, more...)
}

func (l *Lab) temporary() string { return filepath.Join(l.Dir, "tmp") }

// startEtcd runs the one etcd of the lab and returns its client URL. It does not sync to disk: the data is
// throw-away.
func (l *Lab) startEtcd(ctx context.Context) (string, error) {
	ports, err := freePorts(2)
	if err != nil {
		return "", err
	}
	client, peer := "http://"+address(ports[0]), "http://"+address(ports[1])
	etcd, err := l.supervisor.start("etcd", l.kubebox, l.environment(), "etcd",
		"--name=lab", "--data-dir="+filepath.Join(l.Dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=lab="+peer)
	if err != nil {
		return "", err
	}
	return client, etcd.await(ctx, "healthy", readyTimeout, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, client+"/health")
	})
}

// boot brings up one cluster on an etcd that answers.
func (c *Cluster) boot(ctx context.Context, etcd string) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	c.server = "https://" + address(ports[0])
	c.etcd = etcd
	// Should a stranger's etcd have taken the port after all, at least no data mixes.
	c.prefix = "/" + strings.ToLower(rand.Text()) + "/" + c.Name
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	for _, a := range accounts() {
		for _, role := range a.roles {
			if err := c.bind(ctx, a, role); err != nil {
				return err
			}
		}
	}
	options := c.lab.options
	if options.ControllerManager {
		if err := c.startControllerManager(ctx); err != nil {
			return err
		}
	}
	if options.Scheduler {
		if _, err := c.start("scheduler", c.lab.kubebox, "kube-scheduler", "--kubeconfig="+c.Kubeconfig(scheduler),
			"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"); err != nil {
			return err
		}
	}
	if options.Kwok {
		return c.startKwok(ctx, 1)
	}
	return nil
}

// start runs a program that belongs to this cluster.
func (c *Cluster) start(name, path string, args ...string) (*process, error) {
	return c.lab.supervisor.start(c.Name+"-"+name, path, c.lab.environment(), args...)
}

func (c *Cluster) startAPIServer(ctx context.Context) error {
	id := c.lab.identity
	port := c.server[strings.LastIndex(c.server, ":")+1:]
	args := []string{"kube-apiserver",
		"--etcd-servers=" + c.etcd, "--etcd-prefix=" + c.prefix,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + port,
		"--tls-cert-file=" + id.certFile, "--tls-private-key-file=" + id.keyFile, "--cert-dir=" + c.Dir,
		"--endpoint-reconciler-type=none", // loopback is no valid address for the kubernetes Service's endpoints
		"--service-cluster-ip-range=10.0.0.0/16",
		"--service-account-issuer=" + c.server,
		"--service-account-key-file=" + id.signingKeyFile, "--service-account-signing-key-file=" + id.signingKeyFile,
		"--token-auth-file=" + id.tokenFile, "--authorization-mode=RBAC", "--anonymous-auth=false",
		"--allow-privileged", "--profiling=false",
	}
	if c.lab.options.Audit {
		policy := filepath.Join(c.Dir, "audit-policy.yaml")
		if err := os.WriteFile(policy, auditPolicy, 0o644); err != nil {
			return err
		}
		c.AuditLog = filepath.Join(c.Dir, "audit.log")
		// blocking-strict: an entry is in the file before the client has its answer, so a test can read it at once
		args = append(args, "--audit-log-path="+c.AuditLog, "--audit-policy-file="+policy, "--audit-log-mode=blocking-strict")
	}
	server, err := c.start("apiserver", c.lab.kubebox, append(args, c.lab.options.APIServerFlags...)...)
	if err != nil {
		return err
	}
	c.apiserver = server
	client, err := rest.HTTPClientFor(c.Config(Admin))
	if err != nil {
		return err
	}
	c.admin = client
	if err := server.await(ctx, "ready", readyTimeout, func(ctx context.Context) error {
		return get(ctx, client, c.server+"/readyz")
	}); err != nil {
		return err
	}
	return server.await(ctx, "serving the default namespace", readyTimeout, func(ctx context.Context) error {
		return get(ctx, client, c.server+"/api/v1/namespaces/default")
	})
}

// startControllerManager runs the controllers and waits until they have made a service account: that one is needed
// for the first pod.
func (c *Cluster) startControllerManager(ctx context.Context) error {
	id := c.lab.identity
	manager, err := c.start("controller-manager", c.lab.kubebox, "kube-controller-manager",
		"--kubeconfig="+c.Kubeconfig(controllerManager), "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0",
		"--service-account-private-key-file="+id.signingKeyFile, "--root-ca-file="+id.certFile,
		"--use-service-account-credentials=false",
		"--controllers=*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller")
	if err != nil {
		return err
	}
	return manager.await(ctx, "making service accounts", readyTimeout, func(ctx context.Context) error {
		return get(ctx, c.admin, c.server+"/api/v1/namespaces/default/serviceaccounts/default")
	})
}

// get is a readiness probe: anything but a 200 is an error that shows the beginning of the answer.
func get(ctx context.Context, client *http.Client, url string) error {
	return call(ctx, client, http.MethodGet, url, nil, nil, http.StatusOK)
}

// call makes one request with a JSON body (nil: none), expects one of the status codes, and decodes the answer into
// result (nil: ignored).
func call(ctx context.Context, client *http.Client, method, url string, body, result any, expected ...int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return ask(ctx, client, method, url, body, result, expected...)
}

// ask is call for what may take as long as the context lets it.
func ask(ctx context.Context, client *http.Client, method, url string, body, result any, expected ...int) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, &content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if !slices.Contains(expected, response.StatusCode) {
		return fmt.Errorf("%s %s: %s: %.500s", method, url, response.Status, bytes.TrimSpace(answer))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}
