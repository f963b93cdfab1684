module github.com/gomem-go/gomem/adapter/pionmem

go 1.26.0

replace github.com/gomem-go/gomem => ../../

require (
	github.com/gomem-go/gomem v0.0.0-00010101000000-000000000000
	github.com/pion/transport/v5 v5.1.1
)

require golang.org/x/sys v0.49.0 // indirect
