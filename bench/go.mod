module github.com/gomem-go/gomem/bench

go 1.26.0

replace github.com/gomem-go/gomem => ../

require (
	github.com/bytedance/gopkg v0.1.4
	github.com/cloudwego/gopkg v0.1.10
	github.com/dgraph-io/ristretto/v2 v2.4.2
	github.com/gomem-go/gomem v0.0.0-00010101000000-000000000000
	github.com/valyala/bytebufferpool v1.0.0
	google.golang.org/grpc v1.85.0
	modernc.org/memory v1.12.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
