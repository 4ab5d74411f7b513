package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/helmpath"
	"helm.sh/helm/v4/pkg/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"sigs.k8s.io/yaml"
)

// logins are the credentials of the caller: of Helm and docker for registries, and of Helm and netrc for repositories.
// Nothing of the tree adds one.
type logins struct {
	registries   map[string]auth.Credential // by host, as oras asks for them
	store        credentials.Store          // nil without a home
	repositories []login
	machines     map[string]login
}

// login is an entry of repositories.yaml of Helm, or of netrc.
type login struct {
	URL      string `json:"url"`
	Username string `json:"username"`
	Password string `json:"password"`
}

// readLogins reads the credentials. It asks the helpers of docker for some hosts now: a build of kustomize takes PATH
// from the process.
func readLogins(ctx context.Context, hosts map[string]bool) *logins {
	l := &logins{registries: map[string]auth.Credential{}, machines: map[string]login{}}
	repositories := cmp.Or(os.Getenv("HELM_REPOSITORY_CONFIG"), helmpath.ConfigPath("repositories.yaml"))
	content, _ := os.ReadFile(repositories) //nolint:gosec // the caller's
	var file struct {
		Repositories []login `json:"repositories"`
	}
	_ = yaml.Unmarshal(content, &file)
	l.repositories = file.Repositories
	home, _ := os.UserHomeDir()
	content, _ = os.ReadFile(cmp.Or(os.Getenv("NETRC"), filepath.Join(home, ".netrc"))) //nolint:gosec // the caller's
	l.readNetrc(content)
	helm := cmp.Or(os.Getenv("HELM_REGISTRY_CONFIG"), helmpath.ConfigPath(registry.CredentialsFileBasename))
	options := credentials.StoreOptions{DetectDefaultNativeStore: true}
	store, err := credentials.NewStore(helm, options)
	docker, dockerErr := credentials.NewStoreFromDocker(options)
	switch {
	case err == nil && dockerErr == nil:
		l.store = credentials.NewStoreWithFallbacks(store, docker)
	case dockerErr == nil:
		l.store = docker
	case err == nil:
		l.store = store
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		all.Go(func() {
			found, err := l.ask(ctx, host)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				l.registries[host] = found
			}
		})
	}
	all.Wait()
	return l
}

// ask asks the store of credentials for a registry.
func (l *logins) ask(ctx context.Context, host string) (auth.Credential, error) {
	if l.store == nil {
		return auth.EmptyCredential, nil
	}
	ctx, cancel := context.WithTimeout(ctx, usual.wait)
	defer cancel()
	return credentials.Credential(l.store)(ctx, strings.TrimSuffix(host, ":443"))
}

// ofRegistry returns the credentials of a registry.
func (l *logins) ofRegistry(ctx context.Context, host string) (auth.Credential, error) {
	if known, is := l.registries[host]; is {
		return known, nil
	}
	return l.ask(ctx, host)
}

// ofRepository returns the credentials of a Helm repository; none without one.
func (l *logins) ofRepository(repository *url.URL) (username, password string) {
	if repository == nil || repository.User != nil { // of the tree, and not of the caller
		return "", ""
	}
	for _, known := range l.repositories {
		u, err := url.Parse(known.URL)
		if err == nil && u.Scheme == repository.Scheme && hostPort(u) == hostPort(repository) &&
			strings.TrimRight(u.Path, "/") == strings.TrimRight(repository.Path, "/") {
			return known.Username, known.Password
		}
	}
	machine := l.machines[repository.Hostname()]
	return machine.Username, machine.Password
}

// readNetrc reads the machines of a netrc, as curl does. Macros end it.
func (l *logins) readNetrc(content []byte) {
	words := bufio.NewScanner(bytes.NewReader(content))
	words.Split(bufio.ScanWords)
	machine := ""
	for words.Scan() {
		key := words.Text()
		if key == "macdef" || key == "default" || !words.Scan() {
			return
		}
		entry := l.machines[machine]
		switch key {
		case "machine":
			machine = words.Text()
			continue
		case "login":
			entry.Username = words.Text()
		case "password":
			entry.Password = words.Text()
		}
		l.machines[machine] = entry
	}
}
