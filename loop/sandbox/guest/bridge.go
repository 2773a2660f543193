package guest

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// BridgeAddress is where the proxy is reached inside; 3128 is the port that proxies commonly use.
const BridgeAddress = "127.0.0.1:3128"

// bridgePort is the port of BridgeAddress.
const bridgePort = 3128

// startBridge passes connections to BridgeAddress on to the proxy's socket. It speaks to the
// kernel itself: package net would double the time that a start takes.
func startBridge(socket string) error {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(listener, &unix.SockaddrInet4{Port: bridgePort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(listener, unix.SOMAXCONN); err != nil {
		return err
	}
	go func() {
		for {
			inside, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			switch err {
			case nil:
				go bridge(inside, socket)
			case unix.EINTR, unix.ECONNABORTED:
			default:
				return
			}
		}
	}()
	return nil
}

// bridge joins a connection from inside with one to the proxy until both directions have ended.
func bridge(insideFD int, socket string) {
	inside := os.NewFile(uintptr(insideFD), "inside")
	defer inside.Close()
	outsideFD, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	if unix.Connect(outsideFD, &unix.SockaddrUnix{Name: socket}) != nil || unix.SetNonblock(outsideFD, true) != nil {
		unix.Close(outsideFD)
		return
	}
	outside := os.NewFile(uintptr(outsideFD), "outside")
	defer outside.Close()
	var both sync.WaitGroup
	for _, way := range [][2]*os.File{{inside, outside}, {outside, inside}} {
		both.Go(func() {
			// Not io.Copy: it would try to splice, which sockets and the filter may refuse.
			buffer := make([]byte, copyBuffer)
			_, _ = io.CopyBuffer(struct{ io.Writer }{way[1]}, struct{ io.Reader }{way[0]}, buffer)
			if raw, err := way[1].SyscallConn(); err == nil {
				_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
			}
		})
	}
	both.Wait()
}
