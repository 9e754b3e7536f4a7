# The laboratory: the opponents, the experiments and their program, bpcn-paper. The Makefile includes this file; paths
# are those of the repository.

PAPER_BASELINES := $(patsubst %.c,$(BUILD)/%.o,$(wildcard paper/baselines/*.c))
# The search of GPCN in float, with the minimisers of that precision
GPCN32 := $(BUILD)/paper/baselines/gpcn_real32.o
PAPER := $(PAPER_BASELINES) $(GPCN32) $(patsubst %.c,$(BUILD)/%.o,$(wildcard paper/experiments/*.c)) \
    $(BUILD)/paper/program/commit.o $(FORMATS) $(INSIDE)

$(BUILD)/paper/baselines/%: SEES = -Ipaper/baselines $(SRC)
$(BUILD)/paper/experiments/%: SEES = -Ipaper/experiments -Ipaper/baselines -Iformats
$(BUILD)/paper/program/%: SEES = -Ipaper/program -Ipaper/experiments -Ipaper/baselines -Iformats
$(BUILD)/paper/tests/%: SEES = -Ipaper/experiments -Ipaper/baselines -Itests -Iformats $(SRC)
$(BUILD)/paper/%.o: EXTRA = -DBPCN_REAL_BITS=64
$(BUILD)/paper/%.f32.o: EXTRA = -DBPCN_REAL_BITS=32

$(GPCN32): $(BUILD)/paper/baselines/gpcn_search.f32.o $(patsubst %,$(BUILD)/src/infer/%.f32.o,adam lbfgs)
	$(JOIN) --keep-global-symbol='gpcn_search_f32' $@

# The commit of the program, which goes into every result.
$(BUILD)/paper/commit: FORCE
	$(Q)mkdir -p $(@D); { git rev-parse --short=12 HEAD && \
	    git status --porcelain -uno -- src include formats paper/baselines paper/experiments | grep -q . && echo +; } \
	    2>/dev/null | tr -d '\n' > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(BUILD)/paper/program/commit.o: EXTRA = -DPROGRAM_COMMIT='"$(shell cat $(BUILD)/paper/commit)"'
$(BUILD)/paper/program/commit.o: $(BUILD)/paper/commit
.PHONY: FORCE

.PHONY: paper
paper: $(BUILD)/bpcn-paper ## the laboratory: bpcn-paper, which compares and reproduces the paper
$(BUILD)/bpcn-paper: $(BUILD)/paper/program/main.o $(BUILD)/paper/program/eval.o $(PAPER)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)

# The same under mpirun, on many machines
.PHONY: paper-mpi
paper-mpi: $(BUILD)/bpcn-paper-mpi
$(BUILD)/paper/program/main_mpi.o: SEES += $(shell pkg-config --cflags ompi-c 2>/dev/null)
$(BUILD)/paper/program/main_mpi.o: | mpi-deps
$(BUILD)/bpcn-paper-mpi: $(BUILD)/paper/program/main_mpi.o $(PAPER)
	$(Q)mpicc $(LDFLAGS) -o $@ $^ $(BLAS_LIBS) $(PICTURE_LIBS)

PAPER_TESTS := $(patsubst paper/tests/%.c,$(BUILD)/paper/tests/%,$(wildcard paper/tests/test_*.c))
$(BUILD)/paper/tests/%.o: paper/tests/%.c | check-deps
	$(COMPILE)
$(PAPER_TESTS): $(BUILD)/paper/tests/%: $(BUILD)/paper/tests/%.o $(PAPER)
	$(LINK) $^ $(TEST_LIBS)
$(BUILD)/paper/tests/test_baselines $(BUILD)/paper/tests/test_gpcn: $(BUILD)/paper/tests/baselines_support.o
$(BUILD)/paper/tests/test_gpcn: $(BUILD)/tests/golden_files.o
$(BUILD)/paper/tests/test_report $(BUILD)/paper/tests/test_counts: $(BUILD)/paper/tests/place_support.o

# What rounding does to the paper's method: see the file
PAPER_PRECISION := $(BUILD)/paper/tests/precision32 $(BUILD)/paper/tests/precision64
PAPER_IMAGES := $(patsubst %,$(BUILD)/paper/experiments/%.o,dataset tiny_order task failure) $(FORMATS)
$(BUILD)/paper/tests/precision32: $(BUILD)/paper/tests/precision.f32.o $(PAPER_IMAGES) $(INSIDE32)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)
$(BUILD)/paper/tests/precision64: $(BUILD)/paper/tests/precision.f64.o $(PAPER_IMAGES) $(INSIDE)
	$(LINK) $^ $(BLAS_LIBS) $(PICTURE_LIBS)
$(BUILD)/paper/tests/precision.f64.o: EXTRA = -DBPCN_REAL_BITS=64

.PHONY: check-paper check-paper-programs
check-paper-programs: paper paper-mpi $(PAPER_TESTS) $(PAPER_PRECISION)
check-paper: check-paper-programs ## the laboratory's tests
	$(Q)paper/tests/run $(BUILD) short
.PHONY: check-paper-long
check-paper-long: check-paper-programs
	$(Q)paper/tests/run $(BUILD) long
