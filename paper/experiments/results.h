/* What `reproduce` leaves behind: CSV, Markdown, plots and a report, from the cells that are there. */
#ifndef EXPERIMENTS_RESULTS_H
#define EXPERIMENTS_RESULTS_H

#include "caption.h"

#include <stdio.h>

/* OUT/EXPERIMENT.csv: every cell of every seed. */
int write_csv(const struct job_list *list, const struct plan *plan, const char *experiment,
              const struct provenance *provenance, struct failure *failure);

/* OUT/EXPERIMENT.md: our figures beside the paper's. */
int write_markdown(const struct job_list *list, const struct plan *plan, const char *experiment,
                   const struct provenance *provenance, struct failure *failure);

/* The tables of shards.md. */
void shards_markdown(FILE *file, const struct job_list *list, const struct plan *plan);

/* Charts of an experiment on a dataset, into the page. */
int draw_curves(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment,
                const char *dataset, struct failure *failure);

/* Markdown as this folder's files have it, into the page. */
void markdown_from(FILE *file, FILE *markdown);

/* OUT/name, a Markdown file of this folder's, into the page; 0 when it is not there. */
int markdown_html(FILE *file, const struct job_list *list, const char *name);

/* OUT/report.html, self-contained. pictures: embed those of the figures, which show the datasets' images. */
int write_report(const struct job_list *list, const struct plan *plan, const struct provenance *provenance,
                 int pictures, struct failure *failure);

/* A figure as text: "0.0049 ± 0.0001", with ° where some of its cells are stale, or "–" when there is none, and
   nothing where none is planned. */
void figure_text(const struct figure *figure, char *text, size_t room);
void paper_text(const struct figure *figure, char *text, size_t room);

/* Opens OUT/name for writing; closes it and checks. */
int check_output(const struct job_list *list, const char *name, struct failure *failure);
FILE *open_output(const struct job_list *list, const char *name, struct failure *failure);
int close_output(FILE *file, const char *name, struct failure *failure);

/* What an experiment shows, in a sentence or two. */
const char *experiment_text(const char *experiment);

/* What is wrong with the paper's figures of a table, in sentences; "": nothing that is known. */
const char *slip_text(const struct table *table);

/* What the marks of figures mean. */
const char *marks_text(void);

/* The numbers that the cells of a figure hold, by name, NULL-terminated; NULL for tables of recalls. */
const char *const *figure_measures(enum cell_kind kind);

#endif
