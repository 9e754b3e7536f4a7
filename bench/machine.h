/* What this machine can do at most, measured: the yardsticks of the benchmark. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

double machine_now(void);          /* seconds, monotonic */
double machine_peak_gflops(void); /* float32 multiplications and additions in registers, on all cores */
double machine_stream_gbs(void);   /* reading main memory with all cores, GB/s; 0: no memory */

#endif
