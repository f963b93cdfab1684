package unchecked

import (
	"errors"
	"testing"
)

// TestBuildAndMeasure: the check is where it is looked for, and both programs
// compile and say what they measured.
func TestBuildAndMeasure(t *testing.T) {
	programs, err := Build(t.Context(), t.TempDir())
	if errors.Is(err, ErrNoGo) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	prices, err := programs.Measure(t.Context(), 1)
	if err != nil || len(prices) != 2 {
		t.Fatalf("Measure: %v, %v", prices, err)
	}
	for _, p := range prices {
		if p.With <= 0 || p.Without <= 0 || p.Ratio != p.With/p.Without {
			t.Errorf("%+v", p)
		}
	}
}

func TestTurnRefusesOtherPrograms(t *testing.T) {
	for _, program := range []string{"true", "false", "no-such-program"} {
		if ns, err := turn(t.Context(), program, false); err == nil {
			t.Errorf("%s measured %v", program, ns)
		}
	}
}
