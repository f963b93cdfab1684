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
//	  cache  bytes  p50   p90   p99   p99.9       max  operation
//	   warm      -   40    40    50     240     42112  clock alone
//
//	   warm     16   80    90   101     121     34931  small from one huge block
//	   warm     64   71    81   101     220       691  small from one huge block
//	   warm    256   51    60    61      61       100  small from one huge block
//	   warm   1024   60    70    90     210     48632  small from one huge block
//	   warm   4096   60    60    61      61       221  small from one huge block
//
//	   warm     16   60    70    81     210   1981926  exact class
//	   warm     64   40    50    70     170       270  exact class
//	   warm    256   50    61    80     141      3014  exact class
//	   warm   1024   40    50    70      90    173137  exact class
//	   warm   4096   50    61    80     290      3445  exact class
//
//	   warm     16   70   100   120     290     10456  free between two free
//	   warm     64   71   100   111     281     39418  free between two free
//	   warm    256   60    61    90     110      3385  free between two free
//	   warm   1024   60    70    81     131   1011739  free between two free
//	   warm   4096   90   101   130     281       721  free between two free
//
//	   warm     16   60    90   100     150     29123  free alone
//	   warm     64   70    81   221     361      2884  free alone
//	   warm    256   50    80   100    1893    201588  free alone
//	   warm   1024   50    60    80     100      2884  free alone
//	   warm   4096   50    60    61      61       120  free alone
//
//	   cold      -   60   291  1022    1492    217212  clock alone
//
//	   cold     16  270   671  4607    8443   3127203  small from one huge block
//	   cold     64  270   731  4437   87861    574481  small from one huge block
//	   cold    256  281   901  4997   39188  14374728  small from one huge block
//	   cold   1024  330  1031  4727   18767    842478  small from one huge block
//	   cold   4096  330   891  4908   15653   8329812  small from one huge block
//
//	   cold     16  240   821  4056    5969   1079369  exact class
//	   cold     64  201   580  4697    5749  10259781  exact class
//	   cold    256  500   941  4867  136683  12502523  exact class
//	   cold   1024  190   691  4026   57665   7369910  exact class
//	   cold   4096  200   561  3775    5258  69874646  exact class
//
//	   cold     16  270   721  3224    7611    130513  free between two free
//	   cold     64  321   731  3275    8042   1572120  free between two free
//	   cold    256  231   591  2353   32328  44032379  free between two free
//	   cold   1024  300   591  2895    5839    107750  free between two free
//	   cold   4096  371   861  5208   34771    282018  free between two free
//
//	   cold     16  261   762  4556    6229    655922  free alone
//	   cold     64  290   821  5168    7701   1025139  free alone
//	   cold    256  390  1022  5578   10385   4058964  free alone
//	   cold   1024  311   852  5518    9374    261297  free alone
//	   cold   4096  261   841  5267    8102   1916069  free alone
//
// An operation is within two or three steps of the clock above reading the
// clock, whatever its size, and a merge of three blocks costs no more than one
// step above a free alone. A cold operation waits for the few lines of metadata
// that it touches. From p99.9 on the table shows the machine: reading the clock
// and doing nothing has a worst case of the same kind, and where the maximum
// falls changes from run to run. On a machine of one's own, with the process
// bound to an isolated processor, the last columns are what to look at.
package wcet
