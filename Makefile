# bayespcn: one Makefile, no generator step. `make help` lists the targets.

VERSION := 0.1.0
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BUILD ?= build
# make V=1 shows the commands
Q := $(if $(V),,@)

CC ?= cc
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror
OPTIMIZE ?= -O3 -g
SANITIZE ?=
CPPFLAGS += -Iinclude -Isrc -D_POSIX_C_SOURCE=200809L
CFLAGS += -std=c11 $(OPTIMIZE) $(WARNINGS) $(SANITIZE) -fPIC -fvisibility=hidden -ffp-contract=off
LDFLAGS += $(SANITIZE)

BLAS_CFLAGS = $(shell pkg-config --cflags openblas)
BLAS_LIBS = $(shell pkg-config --libs openblas)
LIBS = $(BLAS_LIBS) -lm -lpthread

# Compiled once, and compiled for each precision (src/real.h).
PLAIN := alloc team linalg gemm random activation root model error options memory inspect
PER_PRECISION := sweep weights particle mixture block problem precondition schedule start adam lbfgs update reader paper \
                 write read energy remove forget sample core
LIB_OBJECTS := $(PLAIN:%=$(BUILD)/src/%.o) \
               $(foreach bits,32 64,$(PER_PRECISION:%=$(BUILD)/src/%.f$(bits).o))

STATIC := $(BUILD)/libbayespcn.a
SHARED := $(BUILD)/libbayespcn.so.$(VERSION)

.PHONY: all
all: $(STATIC) $(SHARED)

$(BUILD)/src/%.f32.o: src/%.c | deps
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(BLAS_CFLAGS) $(CFLAGS) -DBPCN_REAL_BITS=32 -MMD -MP -c $< -o $@

$(BUILD)/src/%.f64.o: src/%.c | deps
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(BLAS_CFLAGS) $(CFLAGS) -DBPCN_REAL_BITS=64 -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.c | deps
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(BLAS_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(STATIC): $(LIB_OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

$(SHARED): $(LIB_OBJECTS)
	$(CC) -shared -Wl,-soname,libbayespcn.so.$(SOVERSION) $(LDFLAGS) -o $@ $^ $(LIBS)
	ln -sf $(@F) $(BUILD)/libbayespcn.so.$(SOVERSION)
	ln -sf $(@F) $(BUILD)/libbayespcn.so

.PHONY: deps
deps:

.PHONY: clean
clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
