# The laboratory: the opponents, the experiments and their program, bpcn-paper. The Makefile includes this file; paths
# are those of the repository.

BLAS_CFLAGS = $(shell pkg-config --cflags openblas)
BLAS_LIBS = $(shell pkg-config --libs openblas) -lm
PAPER_BASELINES := $(patsubst %.c,$(BUILD)/%.o,$(wildcard paper/baselines/*.c))
GPCN32 := $(BUILD)/paper/baselines/gpcn_search.f32.o
PAPER := $(PAPER_BASELINES) $(GPCN32) $(patsubst %.c,$(BUILD)/%.o,$(wildcard paper/experiments/*.c)) \
    $(FORMATS) $(LIBRARY)

$(BUILD)/paper/baselines/%: SEES = -Ipaper/baselines $(SRC)
$(BUILD)/paper/experiments/%: SEES = -Ipaper/experiments -Ipaper/baselines -Iformats
$(BUILD)/paper/program/%: SEES = -Ipaper/program -Ipaper/experiments -Ipaper/baselines -Iformats
$(BUILD)/paper/tests/%: SEES = -Ipaper/experiments -Ipaper/baselines -Itests -Iformats $(SRC)
$(BUILD)/paper/%.o: PRECISION = -DBPCN_REAL_BITS=64
$(BUILD)/paper/%.f32.o: PRECISION = -DBPCN_REAL_BITS=32

$(BUILD)/paper/baselines/%: PACKAGE_CFLAGS = $(BLAS_CFLAGS)

# Every cell says by which commit and by which code it was computed: a digest of the sources that its numbers depend on.
CODE_PROTOCOL := $(patsubst %,paper/experiments/%,method.c stream.c task.c scramble.h dataset.c tiny_order.c)
CODE_LIBRARY := $(sort $(wildcard $(patsubst %,src/%/*.[ch],math model infer ops api)))
digest = $(shell cat $(CODE_PROTOCOL) $(1) | sha256sum | cut -c1-12)
$(BUILD)/paper/provenance.flags: FORCE
	$(Q)mkdir -p $(@D); { echo "-DPROGRAM_COMMIT='\"$$(git rev-parse --short=12 HEAD 2>/dev/null)$$(git status --porcelain -uno -- src \
	    include formats paper/baselines paper/experiments 2>/dev/null | grep -q . && echo +)\"'"; \
	    echo "-DCODE_MEMORY='\"$(call digest,paper/baselines/memory.c $(CODE_LIBRARY))\"'"; \
	    echo "-DCODE_GPCN='\"$(call digest,$(sort $(wildcard paper/baselines/gpcn*)) $(CODE_LIBRARY))\"'"; \
	    echo "-DCODE_KEPT='\"$(call digest,$(patsubst %,paper/baselines/%.c,identity nearest mhn kept))\"'"; } | tr '\n' ' ' > $@.new; \
	    cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(BUILD)/paper/experiments/provenance.o: FILE_CFLAGS = $(shell cat $(BUILD)/paper/provenance.flags)
$(BUILD)/paper/experiments/provenance.o: $(BUILD)/paper/provenance.flags
.PHONY: FORCE

.PHONY: paper
paper: $(BUILD)/bpcn-paper ## the laboratory: bpcn-paper, which compares and reproduces the paper
$(BUILD)/bpcn-paper: $(BUILD)/paper/program/main.o $(BUILD)/paper/program/eval.o $(PAPER)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)

# The same under mpirun, on many machines
.PHONY: paper-mpi
paper-mpi: $(BUILD)/bpcn-paper-mpi
$(BUILD)/paper/program/main_mpi.o: SEES += $(shell pkg-config --cflags ompi-c 2>/dev/null)
$(BUILD)/paper/program/main_mpi.o: | needs-mpi
$(BUILD)/bpcn-paper-mpi: $(BUILD)/paper/program/main_mpi.o $(PAPER)
	$(Q)mpicc $(BUILD_LDFLAGS) -o $@ $^ $(BLAS_LIBS) $(PICTURE_LIBS)

# The report, from the cells and the plan of paper/results
PYTHON ?= /usr/bin/python3
.PHONY: paper-report
paper-report: paper ## tables, charts and the page of paper/results
	$(Q)$(BUILD)/bpcn-paper reproduce all --tier paper --plan-only && OPENBLAS_NUM_THREADS=1 $(PYTHON) paper/report.py

PAPER_TESTS := $(patsubst paper/tests/%.c,$(BUILD)/paper/tests/%,$(wildcard paper/tests/test_*.c))
$(BUILD)/paper/tests/%.o: paper/tests/%.c
	$(COMPILE)
$(PAPER_TESTS): $(BUILD)/paper/tests/%: $(BUILD)/paper/tests/%.o $(PAPER)
	$(LINK) $^ $(TEST_LIBS) $(BLAS_LIBS)
$(BUILD)/paper/tests/test_baselines $(BUILD)/paper/tests/test_gpcn: $(BUILD)/paper/tests/baselines_support.o
$(BUILD)/paper/tests/test_gpcn: $(BUILD)/tests/golden_files.o

# What rounding does to the paper's method: see the file
PAPER_PRECISION := $(BUILD)/paper/tests/precision32 $(BUILD)/paper/tests/precision64
PAPER_IMAGES := $(patsubst %,$(BUILD)/paper/experiments/%.o,dataset tiny_order task failure) $(FORMATS)
$(BUILD)/paper/tests/precision32: $(BUILD)/paper/tests/precision.f32.o $(PAPER_IMAGES) $(LIBRARY)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)
$(BUILD)/paper/tests/precision64: $(BUILD)/paper/tests/precision.f64.o $(PAPER_IMAGES) $(LIBRARY)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)
$(BUILD)/paper/tests/precision.f64.o: PRECISION = -DBPCN_REAL_BITS=64

.PHONY: check-paper check-paper-programs
check-paper-programs: paper paper-mpi $(PAPER_TESTS) $(PAPER_PRECISION)
check-paper: ## the laboratory's tests
	$(Q)scripts/install-deps build check mpi paper
	$(Q)$(MAKE) check-paper-programs
	$(Q)PYTHON=$(PYTHON) paper/tests/run $(BUILD) short
.PHONY: check-paper-long
check-paper-long: check-paper-programs
	$(Q)PYTHON=$(PYTHON) paper/tests/run $(BUILD) long
