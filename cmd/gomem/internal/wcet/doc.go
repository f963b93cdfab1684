// Package wcet is the command "gomem wcet": how long a single operation of the
// real-time pool takes, at the median and in the worst case.
//
// # Results
//
// On a virtual machine that shares its two processors with others, where the
// clock advances in steps of 10 ns:
//
//	10000 samples per row, pool of 64 MiB, GC off, thread locked, linux/amd64, 2 CPUs, go1.26.8
//	One operation per sample, in ns; each includes one reading of the clock.
//	Cold: 8 MiB are written between two samples.
//
//	  cache  bytes  p50  p90   p99  p99.9      max  operation
//	   warm      -   40   40    50     51       91  clock alone
//
//	   warm     16   60   71    91    121    27911  small from one huge block
//	   warm     64   50   60    80    270     3745  small from one huge block
//	   warm    256   50   60    61     61      280  small from one huge block
//	   warm   1024   50   71    91    281     3255  small from one huge block
//	   warm   4096   70   80   100    121   121430  small from one huge block
//
//	   warm     16   50   61    71    200      401  exact class
//	   warm     64   60   70    80    121      531  exact class
//	   warm    256   60   70    80    101      121  exact class
//	   warm   1024   60   70    71     91    48872  exact class
//	   warm   4096   50   60    70    211     4076  exact class
//
//	   warm     16   51   61    90    220     2264  free between two free
//	   warm     64   70   81   100    120    59779  free between two free
//	   warm    256   80   90   100    111      340  free between two free
//	   warm   1024   70   90   110    220      450  free between two free
//	   warm   4096   80   90   110    241      551  free between two free
//
//	   warm     16   50   50    51     60       90  free alone
//	   warm     64   60   70    71    250      320  free alone
//	   warm    256   60   70    80    211      401  free alone
//	   warm   1024   60   70    71     81      270  free alone
//	   warm   4096   60   70    80    131    61651  free alone
//
//	   cold      -  120  221   621   1242    65567  clock alone
//
//	   cold     16  380  621  1262   3315    55622  small from one huge block
//	   cold     64  440  671  1102   3415    84235  small from one huge block
//	   cold    256  371  631  1161   3725   105256  small from one huge block
//	   cold   1024  200  531  1743   3996  3115566  small from one huge block
//	   cold   4096  160  391  1382   2384    71796  small from one huge block
//
//	   cold     16  160  500   962   1632     2564  exact class
//	   cold     64  430  631  1542   3725   111235  exact class
//	   cold    256  411  621  1182   3034  2887598  exact class
//	   cold   1024  320  571   912   1452    44576  exact class
//	   cold   4096  210  551  1041   1733    34561  exact class
//
//	   cold     16  261  631  1142   2374    43645  free between two free
//	   cold     64  240  631  1241   2493    33570  free between two free
//	   cold    256  301  651  1111   1843    71907  free between two free
//	   cold   1024  451  681  1012   1512    67119  free between two free
//	   cold   4096  391  671  1242   2204    93007  free between two free
//
//	   cold     16  411  631  1141   3435   242609  free alone
//	   cold     64  200  661  3015   4807  4118602  free alone
//	   cold    256  180  621  1923   4256  1775951  free alone
//	   cold   1024  180  651  1593   3094   114590  free alone
//	   cold   4096  270  661  1522   2354    79468  free alone
//
// An operation is within one to four steps of the clock above reading the
// clock, whatever its size, and a merge of three blocks costs no more than two
// steps above a free alone. A cold operation waits for the few lines of metadata
// that it touches. From p99.9 on the table shows the machine: reading the clock
// and doing nothing has a worst case of the same kind, and where the maximum
// falls changes from run to run. On a machine of one's own, with the process
// bound to an isolated processor, the last columns are what to look at.
package wcet
