# bayespcn: one Makefile. `make help` lists the targets.

VERSION := 0.1.0
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
BUILD ?= build
# make V=1 shows the commands
Q := $(if $(V),,@)

CC ?= cc
# Yours: CFLAGS, CPPFLAGS, LDFLAGS. What the build needs besides comes after them. CI adds WERROR=-Werror.
OPTIMIZE ?= -O3 -g
CFLAGS ?= $(OPTIMIZE)
SANITIZE ?=
WERROR ?=
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
# Results must not depend on whether a compiler fuses products and sums, except in the kernels (src/math/kernel_set.c).
BUILD_CFLAGS = -std=c11 $(WARNINGS) $(WERROR) $(CFLAGS) $(SANITIZE) -fPIC -fvisibility=hidden -ffp-contract=off -pthread
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BUILD_CFLAGS += $(if $(filter i%86,$(MACHINE)),-msse2 -mfpmath=sse) $(if $(filter s390x,$(MACHINE)),-fexcess-precision=fast)
BUILD_CPPFLAGS = -Iinclude -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 $(SEES) $(CPPFLAGS)
BUILD_LDFLAGS = $(CFLAGS) $(LDFLAGS) $(SANITIZE) -pthread

LIBS := -lm
PICTURE_CFLAGS = $(shell pkg-config --cflags libpng libjpeg zlib)
PICTURE_LIBS = $(shell pkg-config --libs libpng libjpeg zlib)
# Of the library's functions none takes more stack: bayespcn.h promises that 64 kB are enough for a thread.
$(BUILD)/src/%: STACK = $(if $(SANITIZE),,-Wframe-larger-than=16384)
COMPILE = $(Q)mkdir -p $(@D) && $(CC) $(BUILD_CPPFLAGS) $(PACKAGE_CFLAGS) $(BUILD_CFLAGS) $(STACK) $(FILE_CFLAGS) $(PRECISION) -MMD -MP -c $< -o $@
LINK = $(Q)mkdir -p $(@D) && $(CC) $(BUILD_LDFLAGS) -o $@

# ---- the library: layers, each of which sees only itself and those before it, and the files among
# them that are compiled for each precision (src/math/real.h)
LAYERS := math model infer ops store api
PER_PRECISION := $(patsubst %,src/%.c,model/energy model/gram model/update infer/adam infer/cache infer/lbfgs infer/linear infer/preconditioner \
    infer/search ops/answer ops/forget ops/read ops/read_paper ops/shard ops/shortlist ops/write)
# The kernels, compiled for each kind of CPU that this machine may have (src/math/kernel_set.c has the numbers)
SET_NUMBERS := portable:0 $(if $(filter x86_64,$(MACHINE)),avx2:1 avx512:2)
KERNEL_SETS := $(foreach set,$(SET_NUMBERS),$(BUILD)/src/math/kernel_set.$(firstword $(subst :, ,$(set))).o)

PLAIN := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(PER_PRECISION) src/math/kernel_set.c,$(foreach layer,$(LAYERS),$(wildcard src/$(layer)/*.c))))
F32 := $(PER_PRECISION:%.c=$(BUILD)/%.f32.o)
F64 := $(PER_PRECISION:%.c=$(BUILD)/%.f64.o)
LIBRARY := $(PLAIN) $(KERNEL_SETS) $(F32) $(F64)
STATIC := $(BUILD)/libbayespcn.a
SHARED := $(BUILD)/libbayespcn.so.$(VERSION)

# ---- what is built on it
FORMATS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard formats/*.c))
CLI := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c) $(filter-out bench/scale.c,$(wildcard bench/*.c)))

# The server, with its page and the description of its interface in it as they are. Where its libraries are missing,
# its objects are empty and bpcn says so.
SERVER := $(patsubst %.c,$(BUILD)/%.o,$(wildcard server/*.c)) $(BUILD)/server/embedded.o
EMBEDDED := $(wildcard server/page/*) server/openapi.json
SERVER_LIBS = $(shell pkg-config --libs jansson zlib 2>/dev/null)
SERVER_CAN_BE = pkg-config --exists jansson

.DELETE_ON_ERROR:
.PHONY: all lib
all: lib $(BUILD)/bpcn man ## the library and the program
lib: $(STATIC) $(SHARED) ## the library alone

.PHONY: deps
deps: ## install the Debian packages that the program needs and this machine lacks
	$(Q)scripts/install-deps build
	$(Q)scripts/install-deps server || echo "bpcn is built without its server (bpcn serve)" >&2

# What each folder sees besides the public header: a look upwards does not compile.
SRC := $(LAYERS:%=-Isrc/%)
$(BUILD)/src/math/%: SEES = -Isrc/math
$(BUILD)/src/model/%: SEES = -Isrc/math -Isrc/model
$(BUILD)/src/infer/%: SEES = -Isrc/math -Isrc/model -Isrc/infer
$(BUILD)/src/ops/%: SEES = -Isrc/math -Isrc/model -Isrc/infer -Isrc/ops
$(BUILD)/src/store/%: SEES = -Isrc/math -Isrc/model -Isrc/ops -Isrc/store
$(BUILD)/src/api/%: SEES = -Isrc/math -Isrc/model -Isrc/ops -Isrc/store -Isrc/api
$(BUILD)/formats/%: SEES = -Iformats
$(BUILD)/cli/% $(BUILD)/bench/%: SEES = -Icli -I. -Iformats
$(BUILD)/server/%: SEES = -Iserver -Icli -I. -Iformats
$(BUILD)/tests/%: SEES = $(SRC) -Icli -Iformats -I.

# gcc 12 for aarch64 breaks off at the greatest of some numbers under a condition, when it turns that into vectors
ifeq ($(MACHINE),aarch64)
$(BUILD)/src/ops/%: FILE_CFLAGS = -fno-tree-vectorize
endif
# its square roots go through vector registers
$(BUILD)/src/infer/adam.%: FILE_CFLAGS = -fno-math-errno
$(BUILD)/bench/machine.o: FILE_CFLAGS = -ffp-contract=fast
$(BUILD)/formats/%: PACKAGE_CFLAGS = $(PICTURE_CFLAGS)
$(BUILD)/formats/%.o: | needs-pictures
$(BUILD)/%.f32.o: PRECISION = -DBPCN_REAL_BITS=32
$(BUILD)/%.f32.o: %.c
	$(COMPILE)
$(BUILD)/%.f64.o: PRECISION = -DBPCN_REAL_BITS=64
$(BUILD)/%.f64.o: %.c
	$(COMPILE)
$(BUILD)/src/math/kernel_set.%.o: FILE_CFLAGS = -DKERNEL_SET=$(patsubst $*:%,%,$(filter $*:%,$(SET_NUMBERS)))
$(KERNEL_SETS): $(BUILD)/src/math/kernel_set.%.o: src/math/kernel_set.c
	$(COMPILE)
$(BUILD)/%.o: %.c
	$(COMPILE)

.PHONY: needs-pictures
needs-pictures:
	$(Q)pkg-config --exists libpng libjpeg zlib || \
	    { echo "The program needs libpng, libjpeg and zlib (make deps installs them); the library does not (make lib)." >&2; exit 1; }

$(BUILD)/server/%.o: server/%.c
	$(Q)mkdir -p $(@D) && if $(SERVER_CAN_BE); then \
	    $(CC) $(BUILD_CPPFLAGS) $(BUILD_CFLAGS) -MMD -MP -c $< -o $@; \
	else $(CC) -Wa,--noexecstack -x assembler -c /dev/null -o $@; fi
$(BUILD)/server/embedded.c: scripts/embed $(EMBEDDED)
	$(Q)mkdir -p $(@D) && scripts/embed $(EMBEDDED) > $@
$(BUILD)/server/embedded.o: $(BUILD)/server/embedded.c
	$(Q)if $(SERVER_CAN_BE); then $(CC) $(BUILD_CPPFLAGS) $(BUILD_CFLAGS) -Iserver -c $< -o $@; \
	else $(CC) -Wa,--noexecstack -x assembler -c /dev/null -o $@; fi

# src/math/symbols.h gives what the linker sees its prefix bpcn_internal_, and what exists per precision its suffix.
$(STATIC): $(LIBRARY)
	$(Q)rm -f $@ && $(AR) qcs $@ $^
$(SHARED): $(LIBRARY)
	$(LINK) -shared -Wl,-soname,libbayespcn.so.$(SOVERSION) $^ $(LIBS)
	$(Q)ln -sf $(@F) $(BUILD)/libbayespcn.so.$(SOVERSION) && ln -sf $(@F) $(BUILD)/libbayespcn.so

.PHONY: symbols
symbols: $(PLAIN) $(F64) ## write src/math/symbols.h, after a function is added that another file calls
	$(Q)scripts/symbols $(PLAIN) -- $(F64) > $(BUILD)/symbols.h && mv $(BUILD)/symbols.h src/math/symbols.h

$(BUILD)/bpcn: $(CLI) $(SERVER) $(FORMATS) $(LIBRARY)
	$(LINK) $^ $(LIBS) $(PICTURE_LIBS) $(SERVER_LIBS)

.PHONY: demo
demo: ## write 64 pictures, recall them from noise, fragments and after forgetting
	$(Q)scripts/install-deps build demo
	$(Q)$(MAKE) $(BUILD)/bpcn
	$(Q)$(BUILD)/bpcn demo
	@echo "$(BUILD)/bpcn demo --serve shows a memory of them in a browser: http://127.0.0.1:8765/"

.PHONY: bench
bench: $(BUILD)/bpcn ## what reads and writes cost on this machine
	$(Q)$(BUILD)/bpcn bench

# bench/scale.c says what it is run with.
$(BUILD)/scale: $(BUILD)/bench/scale.o $(STATIC)
	$(LINK) $^ $(LIBS)
.PHONY: bench-scale
bench-scale: $(BUILD)/scale ## many rows beside brute force: PICTURES=an idx file, unpacked
	$(Q)$(BUILD)/scale $(PICTURES)

# ---- man pages and completions, which the program writes from its table of options (cli/options.def)
MAN := $(patsubst man/%.roff,$(BUILD)/man/%.1,$(wildcard man/*.roff))
COMPLETIONS := $(BUILD)/completions/bpcn.bash $(BUILD)/completions/_bpcn
.PHONY: man
man: $(MAN) $(COMPLETIONS)
$(BUILD)/man/%.1: man/%.roff $(BUILD)/bpcn
	$(Q)mkdir -p $(@D) && $(BUILD)/bpcn help --man $< > $@
$(BUILD)/completions/bpcn.bash: $(BUILD)/bpcn
	$(Q)mkdir -p $(@D) && $(BUILD)/bpcn help --bash > $@
$(BUILD)/completions/_bpcn: $(BUILD)/bpcn
	$(Q)mkdir -p $(@D) && $(BUILD)/bpcn help --zsh > $@

# ---- tests: each tests/*.c with a main is a program, which takes what it needs of the others
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(shell grep -l '^int main' tests/*.c))
TEST_SUPPORT := $(BUILD)/tests/libsupport.a
EVERYTHING := $(FORMATS) $(LIBRARY)
TEST_LIBS = $(LIBS) $(PICTURE_LIBS) $(shell pkg-config --libs cmocka) $(if $(filter x86_64,$(MACHINE)),-lquadmath)
REPLAY := $(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/tests/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
TESTS := $(TEST_PROGRAMS) $(REPLAY)

$(BUILD)/tests/%.o: PRECISION = -DBPCN_REAL_BITS=64
IN_FLOAT := $(patsubst %,$(BUILD)/tests/test_%,kernels products preconditioner)
$(IN_FLOAT:%=%.o): PRECISION = -DBPCN_REAL_BITS=32
$(BUILD)/tests/%.o: tests/%.c
	$(COMPILE)
$(TEST_SUPPORT): $(patsubst %.c,$(BUILD)/%.o,$(shell grep -L '^int main' tests/*.c))
	$(Q)rm -f $@ && $(AR) rcs $@ $^
# IN_FLOAT test the insides in single precision; WRAP lets a test refuse allocations.
$(TEST_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_SUPPORT) $(EVERYTHING)
	$(LINK) $(WRAP) $^ $(TEST_LIBS)
$(BUILD)/tests/test_alloc $(BUILD)/tests/store_oom: WRAP := -Wl,--wrap=aligned_alloc,--wrap=free
$(BUILD)/tests/everywhere/exchange: $(BUILD)/tests/everywhere/exchange.o $(STATIC)
	$(LINK) $^ $(LIBS)
# Vectors of the other sets' width in instructions of avx2, where most CPUs can run them
ifeq ($(MACHINE),x86_64)
TEST_SETS := $(BUILD)/tests/kernel_set.wide.o $(BUILD)/tests/kernel_set.narrow.o
$(BUILD)/tests/kernel_set.wide.o: FILE_CFLAGS = -DKERNEL_SET=3 -Wno-psabi
$(BUILD)/tests/kernel_set.narrow.o: FILE_CFLAGS = -DKERNEL_SET=4
$(BUILD)/tests/test_kernels: $(TEST_SETS)
$(TEST_SETS): src/math/kernel_set.c
	$(COMPILE)
endif
$(BUILD)/tests/replay_formats_%: $(BUILD)/tests/fuzz/fuzz_formats_%.o $(BUILD)/tests/fuzz/replay_main.o $(FORMATS) $(STATIC)
	$(LINK) $^ $(PICTURE_LIBS) $(LIBS)
# The parser of bodies, and what it says its refusals with
BODY := $(patsubst %,$(BUILD)/%.o,server/body server/http_parse server/http_error cli/console) $(STATIC)
$(BUILD)/tests/fuzz/fuzz_server_body.o: SEES = -Iserver -Icli -Iformats -I.
$(BUILD)/tests/replay_server_body: $(BUILD)/tests/fuzz/fuzz_server_body.o $(BUILD)/tests/fuzz/replay_main.o $(BODY) $(FORMATS)
	$(LINK) $^ $(PICTURE_LIBS) $(SERVER_LIBS) $(LIBS)
$(BUILD)/tests/replay_store: $(BUILD)/tests/fuzz/fuzz_store.o $(BUILD)/tests/fuzz/replay_main.o $(TEST_SUPPORT) $(LIBRARY)
	$(LINK) $^ $(TEST_LIBS)

.PHONY: check check-programs every-dep
every-dep:
	$(Q)scripts/install-deps build server check mpi python page
# Chromium is driven by npm packages, which stay in the build folder
$(BUILD)/page/node_modules: | every-dep
	$(Q)mkdir -p $(@D) && npm install --silent --no-save --prefix $(@D) playwright-core@1 axe-core@4 && touch $@
check-programs: all $(TESTS) mpi
check: every-dep ## every test that takes seconds: library, program, server, page, Python, MPI
	$(Q)$(MAKE) check-programs $(BUILD)/page/node_modules
	$(Q)tests/run $(BUILD) short

# What many clients get of a running server: see the file
.PHONY: load
load: $(BUILD)/tests/server/load
$(BUILD)/tests/server/load: $(BUILD)/tests/server/load.o $(STATIC)
	$(LINK) $^ $(LIBS)

.PHONY: soak
soak: $(BUILD)/bpcn ## the server among readers, a writer, stuck clients and kills, for ten minutes
	$(Q)python3 tests/server/soak.py $(BUILD)/bpcn 600

.PHONY: check-page
check-page: $(BUILD)/bpcn $(BUILD)/page/node_modules ## the server's page, in a browser
	$(Q)node tests/server/check_page.mjs $(BUILD)/bpcn $(BUILD)/page

.PHONY: check-long
check-long: all $(TESTS) mpi ## crashes, torn writes and numerics at full length
	$(Q)tests/run $(BUILD) long

.PHONY: sanitize
sanitize: ## the tests under ASan and UBSan, under valgrind, and the server under TSan
	$(Q)scripts/install-deps build check sanitize
	$(MAKE) BUILD=$(BUILD)/asan OPTIMIZE='-O1 -g' \
	    SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' sanitized
	$(MAKE) BUILD=$(BUILD)/valgrind OPTIMIZE='-O1 -g' valgrinded
	$(MAKE) BUILD=$(BUILD)/tsan OPTIMIZE='-O1 -g' SANITIZE=-fsanitize=thread threaded

.PHONY: sanitized valgrinded threaded
sanitized: all $(TESTS)
	$(Q)tests/run $(BUILD) sanitize
valgrinded: all $(TESTS)
	$(Q)tests/run $(BUILD) valgrind
threaded: $(BUILD)/bpcn
	$(Q)tests/run $(BUILD) threads

# ---- other machines: cross compilers and qemu
.PHONY: check-everywhere
check-everywhere: ## the library on other CPUs, C libraries and byte orders, by qemu
	$(Q)scripts/install-deps build everywhere
	$(Q)tests/everywhere/run $(BUILD)

# ---- fuzzing: clang's libFuzzer, a million runs of each reader and five of the memory file
FUZZ_RUNS ?= 1000000
FUZZ_STORE_RUNS ?= 5000000
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: fuzz
fuzz: ## libFuzzer on every reader
	$(Q)scripts/install-deps build check fuzz
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang OPTIMIZE='-O1 -g' \
	    SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' fuzzers
	$(Q)tests/fuzz/run $(BUILD)/fuzz $(FUZZ_RUNS) $(FUZZ_STORE_RUNS)

.PHONY: fuzzers
fuzzers: $(FUZZERS:%=$(BUILD)/fuzz_%)
$(BUILD)/fuzz_formats_%: $(BUILD)/tests/fuzz/fuzz_formats_%.o $(FORMATS) $(STATIC)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(PICTURE_LIBS) $(LIBS)
$(BUILD)/fuzz_server_body: $(BUILD)/tests/fuzz/fuzz_server_body.o $(BODY) $(FORMATS)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(PICTURE_LIBS) $(SERVER_LIBS) $(LIBS)
$(BUILD)/fuzz_store: $(BUILD)/tests/fuzz/fuzz_store.o $(TEST_SUPPORT) $(LIBRARY)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(LIBS) $(shell pkg-config --libs cmocka)

# ---- many machines: the commands on a folder of memory files, under MPI
MPI := $(patsubst %.c,$(BUILD)/%.o,$(wildcard mpi/*.c))
MPI_CLI := $(filter-out %/main.o %/parts.o,$(CLI))
$(BUILD)/mpi/%: SEES = -Impi -Icli -I. -Iformats $(shell pkg-config --cflags ompi-c 2>/dev/null)
$(MPI): | needs-mpi

.PHONY: mpi needs-mpi
mpi: $(BUILD)/bpcn-mpi ## bpcn-mpi, for many machines
needs-mpi:
	$(Q)command -v mpicc >/dev/null || { echo "bpcn-mpi needs Open MPI (scripts/install-deps mpi installs it)." >&2; exit 1; }
$(BUILD)/bpcn-mpi: $(MPI) $(MPI_CLI) $(EVERYTHING)
	$(Q)mpicc $(BUILD_LDFLAGS) -o $@ $^ $(LIBS) $(PICTURE_LIBS)

# ---- Python
.PHONY: python
python: $(STATIC) $(BUILD)/bpcn ## the package bayespcn for Python, built and tested
	$(Q)python/check $(BUILD)

# ---- the laboratory: make paper, make check-paper
-include paper/paper.mk

# ---- installation
.PHONY: install install-lib
install-lib: lib ## the library alone, into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/
	ln -sf libbayespcn.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libbayespcn.so.$(SOVERSION)
	ln -sf libbayespcn.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libbayespcn.so
	install -m 644 include/bayespcn.h include/bayespcn_sequence.h $(DESTDIR)$(PREFIX)/include/
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' scripts/bayespcn.pc.in \
	    > $(DESTDIR)$(LIBDIR)/pkgconfig/bayespcn.pc

install: all install-lib ## the library and the program, into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	install -m 755 $(BUILD)/bpcn $(DESTDIR)$(PREFIX)/bin/
	[ ! -x $(BUILD)/bpcn-mpi ] || install -m 755 $(BUILD)/bpcn-mpi $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(BUILD)/completions/bpcn.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/bpcn
	install -m 644 $(BUILD)/completions/_bpcn $(DESTDIR)$(PREFIX)/share/zsh/site-functions/
ifeq ($(filter /usr /usr/local,$(PREFIX))$(DESTDIR),)
	@echo
	@echo 'installed into $(PREFIX), where the system does not look; to use it:'
	@echo '  export PATH="$(PREFIX)/bin:$$PATH"'
	@echo '  export LD_LIBRARY_PATH="$(LIBDIR)$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}"'
	@echo '  export PKG_CONFIG_PATH="$(LIBDIR)/pkgconfig$${PKG_CONFIG_PATH:+:$$PKG_CONFIG_PATH}"'
	@echo '  export MANPATH="$(PREFIX)/share/man:$$MANPATH"'
endif

.PHONY: uninstall
uninstall: ## take that back
	rm -f $(DESTDIR)$(PREFIX)/bin/bpcn $(DESTDIR)$(PREFIX)/bin/bpcn-mpi $(DESTDIR)$(LIBDIR)/libbayespcn.* $(DESTDIR)$(LIBDIR)/pkgconfig/bayespcn.pc \
	    $(DESTDIR)$(PREFIX)/include/bayespcn.h $(DESTDIR)$(PREFIX)/include/bayespcn_sequence.h $(DESTDIR)$(PREFIX)/share/man/man1/bpcn*.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/bpcn $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_bpcn

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
