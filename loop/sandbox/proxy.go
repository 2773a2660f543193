package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Resolver looks up the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// AuditEntry records one request to the proxy.
type AuditEntry struct {
	Time    time.Time
	Method  string // CONNECT, or the plain request's
	Host    string // as asked for
	Port    int
	Address string // what was dialled; empty: nothing
	Allowed bool
	Reason  string // why not, or what failed
	Sent    int64  // bytes from inside
	Got     int64  // bytes to inside
}

// Proxy is the only way out of a sandbox: CONNECT and plain HTTP to hosts of an allow-list, on
// ports 443 and 80. A name is resolved here, every address is checked, and the checked address is
// the one that is dialled.
type Proxy struct {
	egress   Egress
	network  Network
	server   *http.Server
	listener net.Listener
	cancel   context.CancelFunc
	served   sync.WaitGroup
}

// Ports that may be dialled, and time limits of the proxy: for the header of a request, for a
// connection, and for one that is silent in both directions.
const (
	portHTTPS        = 443
	portHTTP         = 80
	headerTimeout    = 10 * time.Second
	dialTimeout      = 15 * time.Second
	maxProxyHeader   = 64 << 10
	socketPermission = 0o600
)

// StartProxy serves on a unix socket at path until Close.
func StartProxy(path string, network Network, egress Egress) (*Proxy, error) {
	for _, host := range slices.Concat(network.Allow, network.Mirrors) {
		if err := validHost(host); err != nil {
			return nil, &Invalid{"network", err.Error()}
		}
	}
	if egress.Resolver == nil {
		egress.Resolver = net.DefaultResolver
	}
	if egress.PermitAddress == nil {
		egress.PermitAddress = PublicAddress
	}
	if egress.Dial == nil {
		egress.Dial = func(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "tcp", address.String())
		}
	}
	if egress.Audit == nil {
		egress.Audit = func(AuditEntry) {}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("starting the egress proxy: %w", err)
	}
	if err := os.Chmod(path, socketPermission); err != nil {
		listener.Close()
		return nil, fmt.Errorf("starting the egress proxy: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{egress: egress, network: network, listener: listener, cancel: cancel}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxProxyHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	p.served.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.server.Close()
	p.served.Wait()
	return err
}

// serve answers one request.
func (p *Proxy) serve(w http.ResponseWriter, request *http.Request) {
	entry := AuditEntry{Time: time.Now(), Method: request.Method}
	status, err := p.handle(w, request, &entry)
	if err != nil {
		entry.Reason = err.Error()
	}
	if status != 0 {
		http.Error(w, "autocode egress proxy: "+entry.Reason, status)
	}
	p.egress.Audit(entry)
}

// handle serves the request or returns the status to refuse it with; 0: it was answered.
func (p *Proxy) handle(w http.ResponseWriter, request *http.Request, entry *AuditEntry) (int, error) {
	target, fallback := request.Host, portHTTPS
	if request.Method != http.MethodConnect {
		if request.URL.Scheme != "http" || request.URL.Host == "" || request.URL.User != nil {
			return http.StatusForbidden, errors.New("only CONNECT and absolute http URLs are served")
		}
		target, fallback = request.URL.Host, portHTTP
	}
	entry.Host = target
	host, port, err := splitTarget(target, fallback)
	if err != nil {
		return http.StatusForbidden, err
	}
	entry.Host, entry.Port = host, port
	if !allowed(host, p.network.Allow) && !slices.Contains(p.network.Mirrors, host) {
		return http.StatusForbidden, fmt.Errorf("%s is not on the list of allowed hosts; add it to sandbox.network", host)
	}
	outside, status, err := p.dial(request.Context(), host, port)
	if err != nil {
		return status, err
	}
	defer outside.Close()
	stop := context.AfterFunc(request.Context(), func() { outside.Close() })
	defer stop()
	entry.Allowed, entry.Address = true, outside.RemoteAddr().String()
	if request.Method == http.MethodConnect {
		return p.tunnel(request.Context(), w, outside, entry)
	}
	return p.forward(w, request, outside, host, entry)
}

// splitTarget takes host:port apart and refuses everything but a plain DNS name on a web port.
func splitTarget(target string, fallback int) (host string, port int, err error) {
	host, port = target, fallback
	if at := strings.LastIndexByte(target, ':'); at >= 0 && !strings.HasSuffix(target, "]") {
		host = target[:at]
		if port, err = strconv.Atoi(target[at+1:]); err != nil {
			return "", 0, fmt.Errorf("%q is not host:port", target)
		}
	}
	if port != portHTTPS && port != portHTTP {
		return "", 0, fmt.Errorf("port %d is not served, only %d and %d", port, portHTTPS, portHTTP)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if err := validName(host); err != nil {
		return "", 0, err
	}
	return host, port, nil
}

// validName accepts DNS names in ASCII and nothing that a resolver could take for an address.
func validName(host string) error {
	const maxName = 253 // RFC 1035
	if host == "" || len(host) > maxName {
		return fmt.Errorf("%q is not a host name", host)
	}
	for _, c := range []byte(host) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return fmt.Errorf("%q is not a host name", host)
		}
	}
	if slices.Contains(strings.Split(host, "."), "") {
		return fmt.Errorf("%q is not a host name", host)
	}
	// inet_aton takes 127.1, 0x7f.1 and 2130706433 for addresses; no top-level domain starts with a digit.
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last[0] >= '0' && last[0] <= '9' {
		return fmt.Errorf("%q is an address; only names are served", host)
	}
	return nil
}

// validHost checks an entry of an allow-list.
func validHost(entry string) error {
	if err := validName(strings.ToLower(strings.TrimPrefix(entry, "."))); err != nil {
		return fmt.Errorf("allowed host: %w", err)
	}
	return nil
}

// allowed says whether host is on the list: itself, or below an entry that starts with a dot.
func allowed(host string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		entry = strings.ToLower(entry)
		if suffix, dotted := strings.CutPrefix(entry, "."); dotted {
			return host == suffix || strings.HasSuffix(host, entry)
		}
		return host == entry
	})
}

// dial resolves host and connects to the first address that may be dialled.
func (p *Proxy) dial(ctx context.Context, host string, port int) (net.Conn, int, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := p.egress.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, http.StatusBadGateway, fmt.Errorf("resolving %s: %w", host, err)
	}
	// One bad address refuses the name: it is not what it should be, or being rebound.
	for _, address := range addresses {
		ip := net.IP(address.Unmap().AsSlice())
		if !p.egress.PermitAddress(ip) && !(slices.Contains(p.network.Mirrors, host) && mirrorAddress(address)) {
			return nil, http.StatusForbidden, fmt.Errorf("%s resolves to %s, which is not a public address", host, address)
		}
	}
	failed := fmt.Errorf("%s has no address", host)
	for _, address := range addresses {
		conn, err := p.egress.Dial(ctx, netip.AddrPortFrom(address.Unmap(), uint16(port)))
		if err == nil {
			return conn, 0, nil
		}
		failed = err
	}
	return nil, http.StatusBadGateway, fmt.Errorf("connecting to %s: %w", host, failed)
}

// tunnel answers CONNECT.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, outside net.Conn, entry *AuditEntry) (int, error) {
	inside, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("taking the connection over: %w", err)
	}
	defer inside.Close()
	// A hijacked connection is not the server's to close any more.
	stop := context.AfterFunc(ctx, func() { inside.Close() })
	defer stop()
	if _, err := io.WriteString(inside, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return 0, fmt.Errorf("answering: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		entry.Got, _ = io.Copy(inside, outside)
		closeWrite(inside)
	}()
	entry.Sent, _ = io.Copy(outside, buffered.Reader)
	closeWrite(outside)
	<-done
	return 0, nil
}

// closeWrite ends one direction of a connection.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// forward passes one plain request on. The connection ends with it.
func (p *Proxy) forward(w http.ResponseWriter, request *http.Request, outside net.Conn, host string, entry *AuditEntry) (int, error) {
	out := request.Clone(request.Context())
	out.RequestURI = ""
	out.Close = true
	for _, hop := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade"} {
		out.Header.Del(hop)
	}
	out.Host = request.URL.Host // never a Host header that says something else
	for key, value := range p.egress.Headers[host] {
		out.Header.Set(key, value)
	}
	if err := out.Write(outside); err != nil {
		return http.StatusBadGateway, fmt.Errorf("sending to %s: %w", host, err)
	}
	entry.Sent = max(0, request.ContentLength)
	answer, err := http.ReadResponse(bufio.NewReader(outside), out)
	if err != nil {
		return http.StatusBadGateway, fmt.Errorf("reading from %s: %w", host, err)
	}
	defer answer.Body.Close()
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	w.Header().Del("Connection")
	w.WriteHeader(answer.StatusCode)
	entry.Got, _ = io.Copy(w, answer.Body)
	return 0, nil
}

// mirrorAddress says whether a mirror of this machine's own configuration may have the address:
// any but this machine's own, link-local ones (cloud metadata among them) and multicast.
func mirrorAddress(address netip.Addr) bool {
	address = address.Unmap()
	return address.IsValid() && !address.IsLoopback() && !address.IsUnspecified() && !address.IsLinkLocalUnicast() &&
		!address.IsMulticast() && !address.IsInterfaceLocalMulticast() && address != ec2Metadata
}

// ec2Metadata is the one metadata address of a large cloud that is not link-local.
var ec2Metadata = netip.MustParseAddr("fd00:ec2::254")

// PublicAddress says whether ip is an address of the public internet: not loopback, private,
// link-local (cloud metadata among them), shared, multicast, documentation, benchmarking or
// reserved, and not an IPv6 form that carries an IPv4 address (RFC 6890 and its registries).
func PublicAddress(ip net.IP) bool {
	address, ok := netip.AddrFromSlice(ip)
	if !ok {
		return false
	}
	address = address.Unmap()
	return !slices.ContainsFunc(specialPrefixes, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// specialPrefixes are the IANA special-purpose registries, IPv4 and IPv6.
var specialPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("224.0.0.0/3"),
	netip.MustParsePrefix("::/96"),         // unspecified, loopback, IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0/96"), // IPv4-mapped
	netip.MustParsePrefix("64:ff9b::/96"),  // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), // Teredo, ORCHID and others
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("ff00::/8"),
}
