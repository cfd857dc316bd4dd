"""What a rank of a group sends and is sent, and how all ranks come to one error when a sum fails.

All of it runs in one event loop. *Letters* are tuples (what, stage, rank, thing): for which sum, what for, by whom, and
what is sent: arrays. Letters to a rank wait in a heap, the most urgent first, while others are under way to it, and go
together then, up to MESSAGE bytes: so many small sums take few messages, and a large one is overtaken.

A sum fails where a rank hands over an error, where arrays differ, and where a letter is waited for too long. Who
notices tells rank 0 ("alarm"), which asks all ranks ("question") what they have for that sum: they tell when they begin
it ("answer"). When all have, or after a while, it tells all what is wrong ("verdict"): so all raise the same. A rank
that cannot be reached is lost, and all sums with it: who finds that, or that letters cannot go, tells all others
("lost").

Invariants, check():
    E1  letters that came early belong to a sum that has not begun, and has no verdict;
    E2  a heap that is not empty has a carrier;
    E3  rank 0 confers about no sum that has a verdict.
"""

import asyncio
import itertools
import pickle
from heapq import heappop, heappush

import numpy

MESSAGE = 4 << 20           # bytes of a message, about
CONTROL = 1 << 20           # the urgency of letters about errors
ENDED = 1000                # sums that have ended of which a rank can still tell with what it began them
ANSWER = 10                 # seconds for an answer, at most; who answers nothing has not come


class WorkerLost(ConnectionError):
    """A rank of a group is gone, or cannot be reached.

    Parameters
    ----------
    rank : int
        Its number, an attribute.
    address : str
        Of its worker, an attribute.
    """

    def __init__(self, rank, address):
        super().__init__(rank, address)
        self.rank, self.address = rank, address

    def __str__(self):
        return f"rank {self.rank} at {self.address} is lost"


WorkerLost.__module__ = "dflow.distributed"


class Sum:
    """A sum on one rank, from its beginning to its end.

    about: the shape and the type of what is summed, or an error; all ranks must have the same.
    """

    def __init__(self, exchange, what, about, priority):
        self.exchange, self.what, self.about, self.priority = exchange, what, about, priority
        self.rank = exchange.rank
        self.slots = {}                 # what has come, or is waited for: futures by (stage, rank)
        self.alarmed = False
        self.verdict = exchange.future()

    def slot(self, stage, rank):
        return self.slots.setdefault((stage, rank), self.exchange.future())

    def send(self, to, stage, *things):
        self.exchange.send(to, (self.what, (self.about, stage), self.rank, things), self.priority)

    async def receive(self, rank, stage):
        """What a rank has sent, a list."""
        async with asyncio.timeout(self.exchange.timeout):
            things = await self.slot(stage, rank)
        del self.slots[stage, rank]
        return things

    def take(self, stage, rank, things):
        about, stage = stage
        slot = self.slot(stage, rank)
        if about != self.about:
            self.alarm()
        elif not slot.done():           # else it came too late
            slot.set_result(things)

    def alarm(self):
        if not self.alarmed:
            self.alarmed = True
            self.exchange.send(0, (self.what, "alarm", self.rank, None), CONTROL)

    def fail(self, error):
        if not self.verdict.done():
            self.verdict.set_exception(error)


class Exchange:
    """A rank's part in a group of them.

    names: those of the ranks, for messages. timeout: seconds that a letter is waited for. carry: a coroutine function
    (rank, letters) that has another rank's arrived() take them, and returns when it has; OSError: it is lost.
    """

    def __init__(self, rank, names, timeout, carry):
        self.rank, self.names, self.timeout, self._carry = rank, names, timeout, carry
        self._patience = min(timeout, ANSWER)
        self._outboxes = [[] for _ in names]    # heaps of (-urgency, number, letter)
        self._numbers = itertools.count()
        self._carriers = {}             # by rank: tasks that empty outboxes
        self._sums = {}                 # by what
        self._early = {}                # letters for sums that are to begin, by what
        self._verdicts = {}             # the errors of sums that have failed, by what
        self._ended = {}                # with what sums were begun that have ended, the last ones, by what
        self._asked = set()             # for which sums an answer is due when they begin
        self._conferences = {}          # rank 0: answers by rank, as they came, and an event, by what
        self._tasks = set()
        self.lost = None                # the error of all sums, once a rank is lost, or the group has ended

    @staticmethod
    def future():
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda f: f.cancelled() or f.exception())      # nobody may ask for it
        return future

    def _start(self, coroutine):
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---- letters

    def send(self, to, letter, urgency):
        if self.lost is not None and letter[1] != "lost":
            return
        if to == self.rank:
            self.arrived([letter])
            return
        heappush(self._outboxes[to], (-urgency, next(self._numbers), letter))
        if to not in self._carriers:
            self._carriers[to] = self._start(self._empty(to))

    async def _empty(self, to):
        box = self._outboxes[to]
        try:
            while box:
                letters, size = [], 0
                while box and (not letters or size + bytes_of(box[0][2]) <= MESSAGE):
                    letter = heappop(box)[2]
                    letters.append(letter)
                    size += bytes_of(letter)
                await self._carry(to, letters)
        except Exception as error:
            box.clear()
            if self.lost is None:           # OSError: distributed's own errors of connections, too
                gone = isinstance(error, OSError)
                self.fail(WorkerLost(to, self.names[to]) if gone else portable(error))
                for rank in range(len(self.names)):
                    if rank != self.rank and not (gone and rank == to):
                        self.send(rank, (None, "lost", self.rank, self.lost), CONTROL)
        finally:
            if self._carriers.get(to) is asyncio.current_task():
                del self._carriers[to]

    def arrived(self, letters):
        """What another rank has sent, or this one."""
        for what, stage, rank, thing in letters:
            if stage == "lost":
                if self.lost is None:
                    self.fail(thing)
            elif stage == "alarm":
                self._confer(what)
            elif stage == "question":
                self._asked.add(what)
                self._answer(what)
            elif stage == "answer":
                self._answered(what, rank, thing)
            elif stage == "verdict":
                self._judged(what, thing)
            elif what in self._sums:
                self._sums[what].take(stage, rank, thing)
            elif what not in self._verdicts:
                self._early.setdefault(what, []).append((stage, rank, thing))

    # ---- sums

    async def sum(self, key, count, about, body, priority=0):
        """The result of body(sum), a coroutine function, for the sum number `count` of `key`; or everybody's error."""
        what = key, count
        if self.lost is not None:
            raise self.lost
        if what in self._verdicts:
            raise self._verdicts[what]
        sum = self._sums[what] = Sum(self, what, about, priority)
        self._answer(what)
        for letter in self._early.pop(what, ()):
            sum.take(*letter)
        work = self._start(body(sum))
        try:
            await asyncio.wait([work, sum.verdict], return_when=asyncio.FIRST_COMPLETED)
            if not sum.verdict.done():
                if work.exception() is None:
                    return work.result()
                if not isinstance(work.exception(), TimeoutError):
                    sum.about = work.exception()
                sum.alarm()
                await asyncio.wait([sum.verdict], timeout=self.timeout + 2 * self._patience)
            raise sum.verdict.exception() if sum.verdict.done() else self._late(0, what)
        finally:
            work.cancel()
            del self._sums[what]
            self._ended[what] = sum.about
            if len(self._ended) > ENDED:
                del self._ended[next(iter(self._ended))]

    def fail(self, error):
        """No sum ends any more."""
        self.lost = self.lost or error
        for sum in self._sums.values():
            sum.fail(self.lost)
        for box in self._outboxes:
            box.clear()
        self._early.clear()
        self._carriers.clear()
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    # ---- what is wrong

    def _answer(self, what):
        """With what this rank has begun a sum, when it has."""
        if what in self._asked and (what in self._sums or what in self._ended):
            self._asked.discard(what)
            about = self._sums[what].about if what in self._sums else self._ended[what]
            self.send(0, (what, "answer", self.rank, portable(about)), CONTROL)

    def _confer(self, what):
        if what not in self._conferences and what not in self._verdicts:
            self._conferences[what] = {}, asyncio.Event()
            self._start(self._judge(what))

    def _answered(self, what, rank, answer):
        if what not in self._conferences:       # it answers too late
            return
        answers, complete = self._conferences[what]
        answers[rank] = answer
        if len(answers) == len(self.names):
            complete.set()

    async def _judge(self, what):
        answers, complete = self._conferences[what]
        for rank in range(len(self.names)):
            self.send(rank, (what, "question", self.rank, None), CONTROL)
        try:
            await asyncio.wait_for(complete.wait(), self._patience)
        except TimeoutError:
            pass
        del self._conferences[what]
        error = self._error_of(what, answers)
        for rank in range(len(self.names)):
            self.send(rank, (what, "verdict", self.rank, error), CONTROL)

    def _error_of(self, what, answers):
        """What the first rank has that is wrong; else that one has not come, or was the last."""
        first = None
        for rank in sorted(answers):
            about = answers[rank]
            if isinstance(about, BaseException):
                return about
            if first is None:
                first = rank, about
            elif about != first[1]:
                (shape, dtype), (other, kind) = first[1], about
                return ValueError(f"the arrays of {what[0]!r} differ: rank {first[0]} has one of shape {shape} and "
                                  f"type {numpy.dtype(dtype)}, rank {rank} one of shape {other} and type "
                                  f"{numpy.dtype(kind)}")
        missing = [rank for rank in range(len(self.names)) if rank not in answers]
        return self._late([*missing, *reversed(answers)][0], what)

    def _late(self, rank, what):
        return TimeoutError(f"rank {rank} at {self.names[rank]} has not come to the sum of {what[0]!r} in "
                            f"{self.timeout:g} seconds")

    def _judged(self, what, error):
        self._verdicts[what] = error
        self._early.pop(what, None)
        self._asked.discard(what)
        if what in self._sums:
            self._sums[what].fail(error)

    def check(self):
        assert not self._early.keys() & (self._sums.keys() | self._verdicts.keys()), "E1"
        for to, box in enumerate(self._outboxes):
            assert not box or to in self._carriers, "E2"
        assert not self._conferences.keys() & self._verdicts.keys(), "E3"


def bytes_of(letter):
    things = letter[3]
    return sum(x.nbytes for x in things) if isinstance(things, tuple) and things and isinstance(
        things[0], numpy.ndarray) else 0


def portable(error):
    """What can be sent: itself; without what it has beside its arguments, and what led to it; or its text."""
    if not isinstance(error, BaseException) or _goes(error):
        return error
    try:
        kind, args, *_ = error.__reduce__()
        bare = kind(*args)
    except Exception:
        bare = None
    if not _goes(bare) or type(bare) is not type(error):
        bare = RuntimeError(repr(error))
    for note in getattr(error, "__notes__", ()):
        bare.add_note(note)
    return bare


def _goes(error):
    try:
        pickle.loads(pickle.dumps(error))
        return True
    except Exception:
        return False
