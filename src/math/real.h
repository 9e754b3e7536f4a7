/*
 * The files that compute with `real` are compiled twice, for float and for double (see the
 * Makefile). This header names the type and gives every function they share a suffix, so that the
 * two copies can live in one library. A function that another file calls is listed here.
 */
#ifndef BPCN_REAL_H
#define BPCN_REAL_H

#if BPCN_REAL_BITS == 32
typedef float real;
#define REAL_NAME(name) name##_f32
#elif BPCN_REAL_BITS == 64
typedef double real;
#define REAL_NAME(name) name##_f64
#else
#error "compile with -DBPCN_REAL_BITS=32 or 64"
#endif

/* sweep.c, weights.c */
#define sweep_scratch REAL_NAME(sweep_scratch)
#define sweep_mean REAL_NAME(sweep_mean)
#define sweep_add REAL_NAME(sweep_add)
#define sweep_root REAL_NAME(sweep_root)
#define weights_create REAL_NAME(weights_create)
#define weights_free REAL_NAME(weights_free)
#define weights_down REAL_NAME(weights_down)
#define weights_up REAL_NAME(weights_up)
#define weights_spread REAL_NAME(weights_spread)
#define weights_back REAL_NAME(weights_back)
/* gram.c */
#define gram_pays REAL_NAME(gram_pays)
#define inner_aim REAL_NAME(inner_aim)
#define inner_create REAL_NAME(inner_create)
#define inner_free REAL_NAME(inner_free)
#define inner_multiply REAL_NAME(inner_multiply)
#define inner_pays REAL_NAME(inner_pays)
#define gram_create REAL_NAME(gram_create)
#define gram_free REAL_NAME(gram_free)
#define gram_fill REAL_NAME(gram_fill)
#define gram_copy REAL_NAME(gram_copy)
#define gram_age REAL_NAME(gram_age)
#define gram_aim REAL_NAME(gram_aim)
#define gram_sweep REAL_NAME(gram_sweep)
#define gram_square REAL_NAME(gram_square)
#define gram_follow REAL_NAME(gram_follow)
/* particle.c, mixture.c, block.c, problem.c */
#define workspace_create REAL_NAME(workspace_create)
#define workspace_free REAL_NAME(workspace_free)
#define particle_evaluate REAL_NAME(particle_evaluate)
#define particle_predict REAL_NAME(particle_predict)
#define mixture_evaluate REAL_NAME(mixture_evaluate)
#define block_create REAL_NAME(block_create)
#define block_free REAL_NAME(block_free)
#define block_aim REAL_NAME(block_aim)
#define block_evaluate REAL_NAME(block_evaluate)
#define problem_create REAL_NAME(problem_create)
#define problem_free REAL_NAME(problem_free)
#define problem_choose REAL_NAME(problem_choose)
#define problem_evaluate REAL_NAME(problem_evaluate)
/* precondition.c, schedule.c */
#define preconditioner_create REAL_NAME(preconditioner_create)
#define preconditioner_free REAL_NAME(preconditioner_free)
#define preconditioner_level REAL_NAME(preconditioner_level)
#define preconditioner_apart REAL_NAME(preconditioner_apart)
#define preconditioner_fragment REAL_NAME(preconditioner_fragment)
#define preconditioner_apply REAL_NAME(preconditioner_apply)
#define read_steps REAL_NAME(read_steps)
#define block_steps REAL_NAME(block_steps)
#define write_steps REAL_NAME(write_steps)
#define noisy_steps REAL_NAME(noisy_steps)
#define starts_linear REAL_NAME(starts_linear)
#define recall_tolerance REAL_NAME(recall_tolerance)
#define density_tolerance REAL_NAME(density_tolerance)
#define stage_of REAL_NAME(stage_of)
#define norms_create REAL_NAME(norms_create)
#define norms_free REAL_NAME(norms_free)
#define norms_compute REAL_NAME(norms_compute)
#define inverse_curvature REAL_NAME(inverse_curvature)
#define snap_code REAL_NAME(snap_code)
#define flip_code REAL_NAME(flip_code)
#define flip_steps REAL_NAME(flip_steps)
#define open_code REAL_NAME(open_code)
/* start.c, adam.c, kink.c, lbfgs.c */
#define kink_descend REAL_NAME(kink_descend)
#define kink_hold REAL_NAME(kink_hold)
#define kink_stop REAL_NAME(kink_stop)
#define kink_change REAL_NAME(kink_change)
#define start_random REAL_NAME(start_random)
#define start_top_down REAL_NAME(start_top_down)
#define adam_minimize REAL_NAME(adam_minimize)
#define lbfgs_minimize REAL_NAME(lbfgs_minimize)
/* update.c */
#define update_create REAL_NAME(update_create)
#define update_free REAL_NAME(update_free)
#define particle_update REAL_NAME(particle_update)
#define particle_holds REAL_NAME(particle_holds)
#define layer_refresh REAL_NAME(layer_refresh)
/* the operations; reader.c, paper.c */
#define paper_read REAL_NAME(paper_read)
#define search_minimize REAL_NAME(search_minimize)
#define reader_create REAL_NAME(reader_create)
#define reader_free REAL_NAME(reader_free)
#define reader_answer REAL_NAME(reader_answer)
#define reader_settle REAL_NAME(reader_settle)
#define reader_report REAL_NAME(reader_report)
#define objective_of REAL_NAME(objective_of)
#define core_write REAL_NAME(core_write)
#define core_remove REAL_NAME(core_remove)
#define core_repeat_write REAL_NAME(core_repeat_write)
#define core_repeat_remove REAL_NAME(core_repeat_remove)
#define core_read REAL_NAME(core_read)
#define core_energy REAL_NAME(core_energy)
#define core_forget REAL_NAME(core_forget)
#define core_table REAL_NAME(core)
#define core_sample REAL_NAME(core_sample)

#endif
