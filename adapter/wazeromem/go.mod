module github.com/gomem-go/gomem/adapter/wazeromem

go 1.26.0

replace github.com/gomem-go/gomem => ../../

require (
	github.com/gomem-go/gomem v0.0.0-00010101000000-000000000000
	github.com/tetratelabs/wazero v1.12.0
)

require golang.org/x/sys v0.49.0 // indirect
