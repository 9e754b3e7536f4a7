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
set output 'shards-stream.svg'
set title 'fashion-mnist, a stream, the right half from the left' noenhanced
set xlabel 'images written since'
set ylabel 'share of images recalled'
set key outside right noenhanced width -4 samplen 2
set grid lc rgb '#dddddd'
set yrange [-0.02:1.02]
$s0 << EOD
127 1
381 1
635 1
889 1
1143 1
1397 1
1651 1
1905 1
2159 0
2413 0
2667 0
2921 0
3175 0
3429 0
3683 0
3937 0
EOD
$s1 << EOD
127 0.767716535
381 0
635 0
889 0
1143 0
1397 0
1651 0
1905 0
2159 0
2413 0
2667 0
2921 0
3175 0
3429 0
3683 0
3937 0
EOD
plot $s0 with linespoints lc 10 pt 7 ps 0.5 title '32 x 64x3, the oldest recycled', $s1 with linespoints lc 8 pt 7 ps 0.5 title '1 x 256x3, discounted', 
