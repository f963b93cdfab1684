//go:build !unix && !windows

package main

import "os"

var hangup []os.Signal // unknown here
