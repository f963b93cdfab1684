module github.com/gomem-go/gomem/examples/protobuf-arena

go 1.26.0

require (
	github.com/gomem-go/gomem v0.0.0
	google.golang.org/protobuf v1.36.10
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/gomem-go/gomem => ../..
