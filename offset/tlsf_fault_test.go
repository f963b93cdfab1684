package offset_test

import (
	"testing"

	"github.com/gomem-go/gomem/offset"
	"github.com/gomem-go/gomem/offset/offsettest"
)

func TestTLSFVerifyNoticesFaults(t *testing.T) {
	var faults []offsettest.Fault[*offset.TLSF]
	for _, f := range offset.TLSFFaults() {
		faults = append(faults, offsettest.Fault[*offset.TLSF](f))
	}
	offsettest.Faults(t, offset.DamageableTLSF, faults)
}

func TestBuddyVerifyNoticesFaults(t *testing.T) {
	var faults []offsettest.Fault[*offset.Buddy]
	for _, f := range offset.BuddyFaults() {
		faults = append(faults, offsettest.Fault[*offset.Buddy](f))
	}
	offsettest.Faults(t, offset.DamageableBuddy, faults)
}
