package sandbox_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-7a986423/autocode/loop/sandbox"
)

// fixedNames resolves names from a table.
type fixedNames map[string]string

func (f fixedNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, text := range strings.Fields(f[host]) {
		found = append(found, netip.MustParseAddr(text))
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found, nil
}

// startProxy serves on a socket and returns its path and the audit record so far.
func startProxy(t *testing.T, allow []string, egress sandbox.Egress) (string, func() []sandbox.AuditEntry) {
	t.Helper()
	var mu sync.Mutex
	var entries []sandbox.AuditEntry
	egress.Audit = func(entry sandbox.AuditEntry) {
		mu.Lock()
		defer mu.Unlock()
		entries = append(entries, entry)
	}
	socket := filepath.Join(t.TempDir(), "s")
	proxy, err := sandbox.StartProxy(socket, sandbox.Network{Allow: allow}, egress)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return socket, func() []sandbox.AuditEntry {
		mu.Lock()
		defer mu.Unlock()
		return append([]sandbox.AuditEntry(nil), entries...)
	}
}

// ask sends raw bytes to the proxy and returns the status code of the answer.
func ask(t *testing.T, socket, request string) int {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer to %q: %v", request, err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func connect(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

func TestAttack50ProxyRequests(t *testing.T) {
	names := fixedNames{"allowed.example": "127.0.0.1", "sub.wide.example": "127.0.0.1", "wide.example": "127.0.0.1"}
	egress := sandbox.Egress{Resolver: names, PermitAddress: func(net.IP) bool { return true }}
	socket, audit := startProxy(t, []string{"allowed.example", ".wide.example"}, egress)
	for _, test := range []struct {
		name, request string
		want          []int
	}{
		{"NUL", "CONNECT allowed.example\x00.evil:443 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400, 403}},
		{"percent NUL", connect("allowed.example%00.evil:443"), []int{400, 403}},
		{"suffix", connect("allowed.example.evil:443"), []int{403}},
		{"prefix", connect("evilallowed.example:443"), []int{403}},
		{"below an exact name", connect("sub.allowed.example:443"), []int{403}},
		{"beside a wide name", connect("evilwide.example:443"), []int{403}},
		{"user part", connect("allowed.example@evil:443"), []int{400, 403}},
		{"user part the other way", connect("evil@allowed.example:443"), []int{400, 403}},
		{"IPv4 literal", connect("127.0.0.1:443"), []int{403}},
		{"IPv4 short", connect("127.1:443"), []int{403}},
		{"IPv4 number", connect("2130706433:443"), []int{403}},
		{"IPv4 hex", connect("0x7f000001:443"), []int{403}},
		{"IPv6 literal", connect("[::1]:443"), []int{403}},
		{"port 22", connect("allowed.example:22"), []int{403}},
		{"port 0", connect("allowed.example:0"), []int{403}},
		{"port -443", connect("allowed.example:-443"), []int{400, 403}},
		{"port out of range", connect("allowed.example:65979"), []int{403}},
		{"no host", connect(":443"), []int{400, 403}},
		{"empty label", connect("allowed..example:443"), []int{403}},
		{"unicode dot", connect("allowed\u3002example:443"), []int{400, 403}},
		{"space", "CONNECT allowed.example :443 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400, 403}},
		{"plain, other host", "GET http://evil.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n", []int{403}},
		{"plain, other port", "GET http://allowed.example:8080/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n", []int{403}},
		{"plain, user part", "GET http://allowed.example@evil.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n", []int{403}},
		{"plain, https", "GET https://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n", []int{403}},
		{"plain, ftp", "GET ftp://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n", []int{403}},
		{"plain, relative", "GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n", []int{403}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ask(t, socket, test.request)
			for _, want := range test.want {
				if got == want {
					return
				}
			}
			t.Errorf("answered %d, want %v", got, test.want)
		})
	}
	for _, entry := range audit() {
		if entry.Allowed || entry.Address != "" || entry.Reason == "" {
			t.Errorf("audited as %+v", entry)
		}
	}
}

func TestAttack51PrivateAddress(t *testing.T) {
	names := fixedNames{
		"loop.example": "127.0.0.1", "private.example": "10.1.2.3", "meta.example": "169.254.169.254", "six.example": "::1",
		"mapped.example": "::ffff:127.0.0.1", "nat64.example": "64:ff9b::7f00:1", "ula.example": "fd00::1", "zero.example": "0.0.0.0",
		"shared.example": "100.64.0.1", "mixed.example": "192.0.2.1 127.0.0.1", "broadcast.example": "255.255.255.255", "sixtofour.example": "2002:7f00:1::",
	}
	socket, audit := startProxy(t, []string{".example"}, sandbox.Egress{Resolver: names})
	for name := range names {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, socket, connect(name+":443")); got != http.StatusForbidden {
				t.Errorf("CONNECT answered %d", got)
			}
			if got := ask(t, socket, "GET http://"+name+"/ HTTP/1.1\r\nHost: "+name+"\r\n\r\n"); got != http.StatusForbidden {
				t.Errorf("GET answered %d", got)
			}
		})
	}
	if entries := audit(); len(entries) != 2*len(names) {
		t.Errorf("%d audit entries for %d requests", len(entries), 2*len(names))
	}
}

// allowLoopback dials test servers in place of public ones.
func allowLoopback(names fixedNames, dial map[int]string) sandbox.Egress {
	return sandbox.Egress{Resolver: names, PermitAddress: func(ip net.IP) bool { return ip.IsLoopback() }, Dial: func(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "tcp", dial[int(address.Port())])
	}}
}

// A setup command reaches allowed hosts, by CONNECT and plainly, and nothing else.
func TestAttack52Egress(t *testing.T) {
	if _, err := os.Stat("/usr/bin/curl"); err != nil {
		missing(t, "curl")
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "plain %s %s", r.Host, r.Header.Get("Authorization"))
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "secure %s", r.Host) }))
	secure.TLS.MinVersion = tls.VersionTLS12
	defer secure.Close()
	egress := allowLoopback(fixedNames{"registry.example": "127.0.0.1"}, map[int]string{80: plain.Listener.Addr().String(), 443: secure.Listener.Addr().String()})
	egress.Headers = map[string]map[string]string{"registry.example": {"Authorization": "Bearer " + canary}}
	command := shell(`
		curl -sS http://registry.example/x; echo; curl -sSk https://registry.example/x; echo
		curl -sS -o /dev/null -w '%{http_code}\n' http://other.example/
		curl -sSk https://other.example/ 2>&1 | grep -o 403
		unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
		curl -sS --max-time 5 http://registry.example/ 2>/dev/null && echo "reached without the proxy"
		env | grep -c ` + canary)
	command.Network.Allow = []string{"registry.example"}
	result := runWith(t, sandbox.Config{Egress: egress}, command)
	want := "plain registry.example Bearer " + canary + "\nsecure registry.example\n403\n403\n0\n"
	if string(result.Stdout) != want {
		t.Errorf("got %q, want %q (stderr %q)", result.Stdout, want, result.Stderr)
	}
}

func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700:4700::1111": true, "172.15.0.1": true, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true,
		"192.168.1.1": false, "127.0.0.53": false, "224.0.0.1": false, "fe80::1": false, "::": false, "::ffff:8.8.8.8": true, "::ffff:10.0.0.1": false,
	} {
		if got := sandbox.PublicAddress(net.ParseIP(address)); got != want {
			t.Errorf("PublicAddress(%s) = %v", address, got)
		}
	}
}

func FuzzProxyTarget(f *testing.F) {
	for _, seed := range []string{"allowed.example:443", "allowed.example:443:443", "[::1]:443", "@", ":", "allowed.example.:80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		host, port, err := sandbox.SplitTarget(target)
		if err != nil {
			return
		}
		if port != 80 && port != 443 {
			t.Errorf("port %d", port)
		}
		if _, err := netip.ParseAddr(host); err == nil {
			t.Errorf("%q is an address", host)
		}
		if strings.ContainsAny(host, "@/\\%: \x00") || host == "" {
			t.Errorf("%q is no name", host)
		}
	})
}

// TestMirrorsMayBePrivate: a company's mirror lies in its private network, but nothing of this
// machine's own configuration makes loopback or a cloud's metadata reachable.
func TestMirrorsMayBePrivate(t *testing.T) {
	for address, want := range map[string]int{
		"10.1.2.3": http.StatusOK, "192.168.7.7": http.StatusOK, "203.0.113.80": http.StatusOK,
		"127.0.0.1": http.StatusForbidden, "169.254.169.254": http.StatusForbidden, "::1": http.StatusForbidden, "fd00:ec2::254": http.StatusForbidden,
		"0.0.0.0": http.StatusForbidden, "224.0.0.1": http.StatusForbidden,
	} {
		t.Run(address, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			proxy, err := sandbox.StartProxy(socket, sandbox.Network{Mirrors: []string{"mirror.example"}}, sandbox.Egress{
				Resolver: fixedResolver(address),
				Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
					inside, outside := net.Pipe()
					t.Cleanup(func() { inside.Close() })
					return outside, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			if got := ask(t, socket, "CONNECT mirror.example:443 HTTP/1.1\r\nHost: mirror.example:443\r\n\r\n"); got != want {
				t.Errorf("answered %d, want %d", got, want)
			}
			if got := ask(t, socket, "CONNECT below.mirror.example:443 HTTP/1.1\r\nHost: below.mirror.example:443\r\n\r\n"); got != http.StatusForbidden {
				t.Errorf("a name below the mirror was answered %d", got)
			}
		})
	}
}

// fixedResolver resolves every name to one address.
type fixedResolver string

func (r fixedResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(string(r))}, nil
}
