//go:build race || goexperiment.cgocheck2

package lac

import "github.com/gomem-go/gomem/backing"

func guarded() (backing.Source, backing.Protector) { return nil, nil }
