/*
 * How inference goes from a start to a minimum: the steps of writes and reads. docs/SOLVER.md has the measurements
 * behind each number.
 */
#ifndef BPCN_SCHEDULE_H
#define BPCN_SCHEDULE_H

#include "minimize.h"
#include "model.h"

/* One step: the energy is minimised with `extra` added to s_0 and, for a kinked activation, with slope `leak` below
   zero. */
struct step {
    double extra;
    double leak;
    struct stage stage;
    double snap; /* > 0: first put units below this (a tenth of it per layer up) firmly off */
};

struct steps {
    size_t count;
    const struct step *step;
};

/* For reads the extra variance is absolute; for writes it is relative to what the start leaves unexplained, per
   entry. */
struct steps read_steps(bpcn_activation activation);
struct steps flip_steps(bpcn_activation activation); /* after flip_code; none where no unit is ever off */
struct steps write_steps(bpcn_activation activation);
struct steps noisy_steps(void); /* after a query's noise was estimated */

/* The last tolerance: energies, and what float32 knows of them, grow with the entries. A recall is after the
   observation, which is found well before the last thousandth of a nat. */
double density_tolerance(const struct model *model);
double recall_tolerance(const struct model *model);

/* A step's stage, with the last tolerance where it leaves it open (0). */
struct stage stage_of(const struct step *step, double last);

/* The leak that inference starts with: 1, the network made linear, where a kinked one would start dead. */
double first_leak(bpcn_activation activation);

#endif
