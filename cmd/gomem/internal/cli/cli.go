// Package cli is what the commands do alike with their arguments and their output.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// IsTerminal reports that w is a device, on which a line can be written over.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Parse parses args and prints nothing about an error, which the caller prints in
// one line with the name of the command. If help is asked for it prints usage and
// the flags to out; the error is flag.ErrHelp then.
func Parse(flags *flag.FlagSet, args []string, usage string, out io.Writer) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, usage)
		flags.SetOutput(out)
		flags.PrintDefaults()
	}
	return err
}
