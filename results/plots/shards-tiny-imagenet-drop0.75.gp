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
set output 'shards-tiny-imagenet-drop0.75.svg'
set title 'tiny-imagenet, drop0.75' noenhanced
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
64 1e-07
128 1e-07
256 1e-07
1024 6.60240447e-07
EOD
$s2 << EOD
16 0.0504017346
32 0.04024936
64 0.0329327086
128 0.0272071241
256 0.0235712537
512 0.0240218476
EOD
$s4 << EOD
16 0.0851541557
32 0.0697226673
64 0.0577930159
128 0.0485490986
256 0.0447632804
EOD
plot $s1 with linespoints lc 10 pt 7 title 'one row a unit', $s2 with linespoints lc 3 pt 7 title 'two', $s4 with linespoints lc 8 pt 7 title 'four'
