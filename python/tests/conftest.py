"""What several files of tests use."""
import numpy as np
import pytest

from bayespcn import Memory


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(24, 30)).astype(np.float32)


@pytest.fixture
def memory(rows):
    memory = Memory(dim=30, hidden=(32, 32), shards=2, seed=7)
    memory.write(rows)
    return memory
