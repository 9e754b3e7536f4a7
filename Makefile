# bayespcn: one Makefile, no generator step. `make help` lists the targets.

VERSION := 0.1.0
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
BUILD ?= build
# make V=1 shows the commands
Q := $(if $(V),,@)

CC ?= cc
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror
OPTIMIZE ?= -O3 -g
SANITIZE ?=
CPPFLAGS += -I. -Iinclude -Isrc -Icli -Iexperiments -Ibaselines -Iformats -D_POSIX_C_SOURCE=200809L
CFLAGS += -std=c11 $(OPTIMIZE) $(WARNINGS) $(SANITIZE) -fPIC -fvisibility=hidden -ffp-contract=off -pthread
LDFLAGS += $(SANITIZE) -pthread

# Asked only when something is compiled or linked: the packages may have to be installed first.
PACKAGE_CFLAGS = $(shell pkg-config --cflags openblas libpng libjpeg zlib)
BLAS_LIBS = $(shell pkg-config --libs openblas) -lm
PICTURE_LIBS = $(shell pkg-config --libs libpng libjpeg zlib)
COMPILE = $(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(PACKAGE_CFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP -c $< -o $@
LINK = $(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@

# ---- the library: files compiled once, and files compiled for each precision (src/real.h)
PLAIN := alloc team linalg gemm random activation root model error options memory inspect \
         $(patsubst src/%.c,%,$(wildcard src/store*.c src/log*.c src/file*.c))
PER_PRECISION := sweep weights particle mixture block problem precondition schedule start adam lbfgs update \
                 reader paper write read energy remove forget sample core
LIB_OBJECTS := $(PLAIN:%=$(BUILD)/src/%.o) $(foreach bits,32 64,$(PER_PRECISION:%=$(BUILD)/src/%.f$(bits).o))
STATIC := $(BUILD)/libbayespcn.a
SHARED := $(BUILD)/libbayespcn.so.$(VERSION)

# ---- what is built on it
BASELINES := $(patsubst %.c,$(BUILD)/%.o,$(wildcard baselines/*.c))
FORMATS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard formats/*.c))
EXPERIMENTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out experiments/main_mpi.c,$(wildcard experiments/*.c)))
CLI := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c bench/*.c))

.PHONY: all
all: $(STATIC) $(SHARED) $(BUILD)/bpcn ## the library and the program

.PHONY: deps
deps:
	$(Q)scripts/install-deps build

$(BUILD)/%.f32.o: EXTRA = -DBPCN_REAL_BITS=32
$(BUILD)/%.f32.o: %.c | deps
	$(COMPILE)
$(BUILD)/%.f64.o: EXTRA = -DBPCN_REAL_BITS=64
$(BUILD)/%.f64.o: %.c | deps
	$(COMPILE)
$(BUILD)/baselines/%.o: EXTRA = -DBPCN_REAL_BITS=64
$(BUILD)/%.o: %.c | deps
	$(COMPILE)

$(STATIC): $(LIB_OBJECTS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(SHARED): $(LIB_OBJECTS)
	$(LINK) -shared -Wl,-soname,libbayespcn.so.$(SOVERSION) $^ $(BLAS_LIBS)
	$(Q)ln -sf $(@F) $(BUILD)/libbayespcn.so.$(SOVERSION) && ln -sf $(@F) $(BUILD)/libbayespcn.so

$(BUILD)/bpcn: $(CLI) $(EXPERIMENTS) $(BASELINES) $(FORMATS) $(STATIC)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)

# ---- tests
SUPPORT := $(BUILD)/tests/support.o $(BUILD)/tests/naive.o
UNIT_TESTS := energy inference write update read forget delete numerics bad_input formats baselines experiments \
              $(patsubst tests/test_%.c,%,$(wildcard tests/test_store*.c))
UNIT := $(UNIT_TESTS:%=$(BUILD)/tests/test_%)
EVERYTHING := $(EXPERIMENTS) $(BASELINES) $(FORMATS) $(STATIC)

$(BUILD)/tests/%.o: EXTRA = -DBPCN_REAL_BITS=64
$(UNIT): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT) $(EVERYTHING)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS) -lcmocka -lquadmath
$(BUILD)/tests/golden: $(BUILD)/tests/golden.o $(BUILD)/tests/golden_files.o $(SUPPORT) $(EVERYTHING)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS) -lcmocka
$(BUILD)/tests/test_alloc: $(BUILD)/tests/test_alloc.o $(SUPPORT) $(STATIC)
	$(LINK) -Wl,--wrap=aligned_alloc,--wrap=free $^ $(BLAS_LIBS) -lcmocka

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
