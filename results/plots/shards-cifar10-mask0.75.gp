set terminal svg size 860,460 dynamic background rgb 'white' font 'Helvetica,12'
set linetype 1 lc rgb '#9aa3af' lw 1.6
set linetype 2 lc rgb '#111827' lw 1.6
set linetype 3 lc rgb '#d97706' lw 1.6
set linetype 4 lc rgb '#fbbf24' lw 1.6
set linetype 5 lc rgb '#7c3aed' lw 1.6
set linetype 6 lc rgb '#c084fc' lw 1.6
set linetype 7 lc rgb '#0891b2' lw 1.6
set linetype 8 lc rgb '#dc2626' lw 1.6
set linetype 9 lc rgb '#fb7185' lw 1.6
set linetype 10 lc rgb '#15803d' lw 1.6
set linetype 11 lc rgb '#65a30d' lw 1.6
set linetype 12 lc rgb '#1d4ed8' lw 1.6
set output 'shards-cifar10-mask0.75.svg'
set title 'cifar10, mask0.75' noenhanced
set xlabel 'width of a shard, down to a single network'
set ylabel 'mean squared error'
set key outside right noenhanced width -4 samplen 2
set grid lc rgb '#dddddd'
set logscale y
set format y '10^{%L}'
set logscale x 2
$s1 << EOD
16 1e-07
32 1e-07
64 3.13503362e-07
128 2.80557106e-06
256 5.47251829e-05
1024 0.0529067362
EOD
$s2 << EOD
16 0.0582275861
32 0.0609028453
64 0.0683491386
128 0.0831079067
256 0.102678062
512 0.0938087236
EOD
$s4 << EOD
16 0.12473661
32 0.133423325
64 0.16234183
128 0.197632517
256 0.1844937
EOD
plot $s1 with linespoints lc 10 pt 7 title 'one row a unit', $s2 with linespoints lc 3 pt 7 title 'two', $s4 with linespoints lc 8 pt 7 title 'four'
