/* The commands of bpcn, one file each: arguments in (argv[0] is the command's name), exit status out. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_create(int argc, char **argv);
int cmd_write(int argc, char **argv);
int cmd_read(int argc, char **argv);
int cmd_score(int argc, char **argv);
int cmd_fill(int argc, char **argv);
int cmd_forget(int argc, char **argv);
int cmd_delete(int argc, char **argv);
int cmd_sample(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_compact(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_demo(int argc, char **argv);
/* NULL in a build without the server's libraries. */
__attribute__((weak)) int cmd_serve(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
