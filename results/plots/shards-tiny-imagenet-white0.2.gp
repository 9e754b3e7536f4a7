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
set output 'shards-tiny-imagenet-white0.2.svg'
set title 'tiny-imagenet, white0.2' noenhanced
set xlabel 'width of a shard, down to a single network'
set ylabel 'mean squared error'
set key outside right noenhanced width -4 samplen 2
set grid lc rgb '#dddddd'
set logscale y
set format y '10^{%L}'
set logscale x 2
$s1 << EOD
16 0.000201110286
32 0.0004057527
64 0.000808670452
128 0.00156243443
256 0.00299564577
1024 0.00953709308
EOD
$s2 << EOD
16 0.0498471899
32 0.0393248083
64 0.0317979647
128 0.025647886
256 0.0212764476
512 0.0193562593
EOD
$s4 << EOD
16 0.0835507215
32 0.0681791859
64 0.0549384801
128 0.0440692075
256 0.0359118361
EOD
plot $s1 with linespoints lc 10 pt 7 title 'one row a unit', $s2 with linespoints lc 3 pt 7 title 'two', $s4 with linespoints lc 8 pt 7 title 'four'
