"""Threads, forks and a million calls."""
import os
import resource
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bayespcn import BusyError, Error, InvalidError, Memory, _bayespcn as raw


def test_threads_reading_at_once_get_the_same_bits(memory, rows):
    query = rows + np.float32(0.05)
    wanted = Memory.copy(memory).read(query).x.tobytes()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: memory.read(query).x.tobytes(), range(30)))
    assert set(answers) == {wanted}


def test_python_goes_on_during_a_write():
    """Whoever holds the interpreter's lock through a call lets nobody count during it."""
    memory = raw.create({"dim": 200, "hidden": (128, 128), "threads": 1})
    rows = np.random.default_rng(0).normal(size=(60, 200)).astype(np.float32)
    count, seen, stop = [0], [], threading.Event()

    def write():
        seen.append(count[0])
        memory.write(rows, None, None, None)
        seen.append(count[0])
        stop.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not stop.is_set():
        count[0] += 1
    thread.join()
    assert seen[1] - seen[0] > 1000


def test_threads_that_read_write_and_close_at_once_do_no_harm():
    x = np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)
    for _ in range(5):
        memory = Memory(dim=8, hidden=(8,), shards=4, threads=2)
        memory.write(x)
        failures = []

        def use(kind, memory=memory, failures=failures):
            try:
                for k in range(20):
                    [memory.read, memory.write, memory.score, lambda x: memory.forget(0.1)][kind](x)
                if kind == 3:
                    memory.close()
            except Error as error:
                failures.append(error)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(use, [0, 1, 2, 3, 0, 1, 2, 0]))
        assert all(isinstance(error, InvalidError) and "closed" in str(error) for error in failures)
        assert memory.closed


def in_child(work):
    """What the child says: 0 when work() returned true."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_the_child_of_a_fork_reads_the_same_and_changes_its_own(memory, rows):
    wanted = memory.read(rows).x

    def work():
        same = (memory.read(rows).x == wanted).all()
        memory.write(rows[0] * 2)
        return same and memory.rows == 25

    assert in_child(work) == 0
    assert memory.rows == 24


def test_the_child_of_a_fork_leaves_the_file_alone(tmp_path, rows):
    path = tmp_path / "a.mem"
    memory = Memory.open(path, "a", dim=30, hidden=(16,), shards=1)
    memory.write(rows[:3])

    def work():
        with pytest.raises(BusyError, match="forked"):
            memory.write(rows)
        memory.read(rows)
        memory.close()
        return memory.closed

    assert in_child(work) == 0
    memory.write(rows[3:5])
    memory.close()
    assert Memory.open(path).rows == 5


def test_a_memory_in_use_at_a_fork_is_refused_in_the_child():
    memory = raw.create({"dim": 400, "hidden": (256, 256), "threads": 1})
    rows = np.random.default_rng(0).normal(size=(200, 400)).astype(np.float32)

    def work():
        with pytest.raises(BusyError, match="in use by another thread"):
            memory.get_stats()
        return True

    thread = threading.Thread(target=lambda: memory.write(rows, None, None, None))
    thread.start()
    result = None
    while thread.is_alive() and result != 0:  # until a fork falls into the write
        result = in_child(work)
    thread.join()
    assert result == 0


def test_a_million_calls_leave_nothing_behind():
    handle = raw.create({"dim": 1, "hidden": (1,), "threads": 1})
    x, out, wrong = np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32), np.full((1, 1), np.nan, np.float32)
    info, known = np.zeros(1, np.dtype(raw.READ_INFO)), np.ones((1, 1), np.bool_)
    handle.write(x, None, None, None)

    def calls(times):
        for _ in range(times):
            handle.get_stats()
            handle.get_shards()
            handle.get_note()
            handle.get_options()
            handle.typicality(np.zeros(1), np.zeros(1))
            for arguments in ((wrong, None, None, out, info, None), (x, known, {"bad": 1}, out, info, None), (x, known[:0], None, out, info, None)):
                try:
                    handle.read(*arguments)
                except (Error, TypeError):
                    continue
                assert False
            try:
                handle.write(wrong, None, None, None)
            except Error as error:
                assert error.written == 0
            if _ % 20 == 0:
                handle.read(x, known, {"noise": 0.0}, out, info, None)

    calls(20_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(100_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000  # KB; 20 bytes a call would be 20,000
