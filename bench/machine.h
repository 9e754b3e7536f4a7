/* What this machine can do at most, measured: the yardsticks of the benchmark. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

double machine_now(void);          /* seconds, monotonic */
double machine_sgemm_gflops(void); /* the BLAS's float32 matrix product on all cores; 0: no memory */
double machine_stream_gbs(void);   /* reading main memory with all cores, GB/s; 0: no memory */

#endif
