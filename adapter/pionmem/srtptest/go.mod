module github.com/gomem-go/gomem/adapter/pionmem/srtptest

go 1.26.0

replace (
	github.com/gomem-go/gomem => ../../../
	github.com/gomem-go/gomem/adapter/pionmem => ../
)

require (
	github.com/gomem-go/gomem v0.0.0-00010101000000-000000000000
	github.com/gomem-go/gomem/adapter/pionmem v0.0.0-00010101000000-000000000000
	github.com/pion/logging v0.2.4
	github.com/pion/rtcp v1.2.19
	github.com/pion/rtp v1.10.5
	github.com/pion/srtp/v3 v3.1.3
	github.com/pion/transport/v5 v5.1.1
)

require (
	github.com/pion/randutil v0.1.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
