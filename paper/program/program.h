/* The commands of bpcn-paper: arguments in (argv[0] is the command's name), exit status out. */
#ifndef PAPER_PROGRAM_H
#define PAPER_PROGRAM_H

int paper_eval(int argc, char **argv);

#endif
