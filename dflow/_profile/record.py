"""What was noted while somebody watched, as tables: see _runtime/events.pxd."""

from functools import cached_property

import numpy

from dflow._kernels.dtypes import dtypes
from dflow._runtime import events
from dflow._runtime.queues import lane_name

EVENT = numpy.dtype([
    ("start", "i8"), ("stop", "i8"), ("task", "u4"), ("other", "u4"), ("what", "i2"), ("lane", "i2"), ("worker", "i2"),
    ("ndim", "i2"), ("ncore", "i2"), ("members", "i2"), ("natives", "i4"), ("kernel", "u8"), ("site", "u8"),
    ("bytes", "i8"), ("live", "i8"), ("thread", "i8"), ("storage", "u8"), ("dims", "i8", (5,))])

# As enum What.
SUBMITTED, AFTER, RAN, PART, WAITED, WOKE, PROMISED, MADE, FREED, STOLEN, COPIED = range(1, 12)

FAILED, NEVER_RUN = -1, -2                                          # of natives
NONE = numpy.zeros(0, EVENT)
PENDING = 1 << 16                                                   # that a record hands on to the next: the newest


def joined(noted):
    return numpy.concatenate([NONE] + [numpy.frombuffer(data, EVENT) for data, _ in noted])


class Watch:
    """What is noted from now on, read piece by piece: each event is in one piece."""

    LATE = 1_000_000_000        # nanoseconds from the time of an event to when it is noted, at most
    TOLD_BY = ["start", "stop", "thread", "what", "task", "storage"]

    def __init__(self):
        self._before, self.since = events.watch()
        self._seen, self._until = NONE, 0

    def read(self):
        """What is new, as Record takes it: pairs of a table and how many events are lost; and the time."""
        before, now = events.watch()
        noted = self.stop()[0]
        # What threads note between these two calls is in this piece, and at the beginning of the next one.
        self._before, self._until = before, events.now()
        table = noted[0][0]
        self._seen = table[table["stop"] >= now - self.LATE]
        return noted, self._until

    def stop(self):
        """The same, for the last time."""
        noted = events.unwatch(self._before)
        table = joined(noted)
        early = numpy.flatnonzero((table["stop"] != 0) & (table["stop"] <= self._until))
        seen = self._seen[numpy.isin(self._seen["start"], table["start"][early])]
        seen = set(seen[self.TOLD_BY].tolist())
        twice = [i for i, row in zip(early, table[self.TOLD_BY][early].tolist(), strict=True) if row in seen]
        table = numpy.delete(table, twice) if twice else table
        return [(table, sum(lost for _, lost in noted))], events.now()

    def abandon(self):
        """Look no more, nor back."""
        before, _ = events.watch()
        for _ in range(2):
            events.unwatch(before)


class Record:
    """What has happened between two moments. Times are nanoseconds since the first.

    Each table is an array of EVENTs, by time. `lost` is how many events there were no places for any more.
    Of a piece of a longer time, which has its times since the beginning of that: `began` is when it begins itself, and
    `pending` what the piece before it left.
    """

    def __init__(self, noted, since, until, began=None, pending=NONE):
        began = since if began is None else began
        self.lost = sum(lost for _, lost in noted)
        table = joined(noted)
        # a part that began before, or a task, was noted as it ended
        table = table[(table["stop"] == 0) | (table["stop"] >= began)]
        timed = table["stop"] != 0
        for end in ("start", "stop"):
            table[end] = numpy.where(timed, table[end].clip(began) - since, 0)
        self.seconds = (until - began) / 1e9
        self.pending = pending
        self._table = table

    def of(self, *what):
        """The events of these kinds, by the time at which they begin."""
        some = self._table[numpy.isin(self._table["what"], what)]
        return some[numpy.argsort(some["start"], kind="stable")]

    @cached_property
    def submitted(self):
        return self.of(SUBMITTED)

    @cached_property
    def ran(self):
        return self.of(RAN)

    @cached_property
    def waited(self):
        return self.of(WAITED)

    def _known(self, what):
        """The events of a kind, and those of before whose tasks had not ended."""
        now = self.submitted if what == SUBMITTED else self.of(what)
        before = self.pending[self.pending["what"] == what]
        return numpy.concatenate([before, now]) if len(before) else now

    def left(self):
        """What the next piece is to know: the tasks that have not ended, and what they wait for."""
        tasks, after = self._known(SUBMITTED), self._known(AFTER)
        tasks = tasks[~numpy.isin(leaders_of(tasks), self.ran["task"])][-PENDING:]
        waiting = numpy.concatenate([tasks["task"], tasks["other"]])
        return numpy.concatenate([tasks, after[numpy.isin(after["task"], waiting)][-PENDING:]])

    @cached_property
    def shares(self):
        """Tasks, by number, their leaders, and the share of each in the time of its group: by what it writes."""
        tasks = self._known(SUBMITTED)
        numbers, inverse = numpy.unique(leaders_of(tasks), return_inverse=True)
        weights = tasks["bytes"] + 1.0
        return tasks["task"], numbers[inverse], weights / numpy.bincount(inverse, weights)[inverse]

    def durations(self):
        """(kernel, seconds) of each task that has ended: from its group's start to its end, its share of that."""
        runs, kernels = self.ran, self._known(SUBMITTED)["kernel"]
        order = numpy.argsort(runs["task"], kind="stable")
        numbers, seconds = runs["task"][order], ((runs["stop"] - runs["start"]) / 1e9)[order]
        _, leaders, shares = self.shares
        if not len(numbers):
            return numbers.astype("u8"), seconds
        place = numpy.searchsorted(numbers, leaders).clip(max=len(numbers) - 1)
        ended = numbers[place] == leaders
        # of what was submitted before, and is not known, the kernel that ran tells
        alone = ~numpy.isin(numbers, leaders)
        return (numpy.concatenate([kernels[ended], runs["kernel"][order][alone]]),
                numpy.concatenate([(seconds[place] * shares)[ended], seconds[alone]]))

    @cached_property
    def before(self):
        """For each task that had to wait, or its group: the tasks, or leaders of groups, that it waited for."""
        before = {}
        for task, other in self._known(AFTER)[["task", "other"]].tolist():
            before.setdefault(task, {})[other] = None
        return {task: list(others) for task, others in before.items()}

    @cached_property
    def members(self):
        """For each leader of a group, by its number: the other members'."""
        members = {}
        for task, leader in self._known(SUBMITTED)[["task", "other"]].tolist():
            if leader:
                members.setdefault(leader, []).append(task)
        return members

    @cached_property
    def tasks(self):
        """Each task by its number, or the leader of its group by that."""
        leaders = {task: leader for leader, members in self.members.items() for task in members}
        ran = {run["task"]: i for i, run in enumerate(self.ran)}
        made = {}
        for e in self._known(SUBMITTED):
            number = int(e["task"])
            leader = leaders.get(number, number)
            i = ran.get(leader)
            made[number] = Task(self, e, leader, None if i is None else self.ran[i])
        return made

    def held(self):
        """Memory of arrays that were made meanwhile, of a kilobyte or more: (time, bytes, its line) of each that is
        made and, with fewer than 0 bytes, that is given back."""
        sites, held, changes = {}, {}, []
        for e in self.of(SUBMITTED, PROMISED, MADE, FREED):
            address = int(e["storage"])
            if e["what"] in (SUBMITTED, PROMISED):
                sites[address] = e["site"]
            elif e["what"] == MADE:
                held[address] = self.site(sites.get(address, 0))
                changes.append((int(e["start"]), int(e["bytes"]), held[address]))
            elif address in held:
                changes.append((int(e["start"]), -int(e["bytes"]), held.pop(address)))
        return changes

    def kernel(self, address):
        """The name of a kernel, and the types of its operands, "dd->d"; "" where they are not known."""
        address = int(address)
        if address not in _kernels:
            name, key = events.kernel_key(address)
            _kernels[address] = name_of(key) or name, types_of(key)
        return _kernels[address]

    def site(self, address):
        """File, line and function, or None."""
        address = int(address)
        if address not in _sites:
            _sites[address] = events.site_of(address) if address else None
        return _sites[address]

    def callers(self, address):
        """The same of each line that called it, from the innermost on: none where stacks were not asked for."""
        address = int(address)
        if address not in _callers:
            _callers[address] = events.callers_of(address)
        return _callers[address]


def leaders_of(tasks):
    """Of tasks, as they were submitted: the numbers of the leaders of their groups."""
    return numpy.where(tasks["other"] == 0, tasks["task"], tasks["other"])


_kernels = {}           # kernels and sites live for ever
_sites = {}
_callers = {}


class Task:
    """One operation that was submitted: times in nanoseconds, or None for what had not come to pass."""

    __slots__ = ("_event", "_record", "_run", "leader")

    def __init__(self, record, event, leader, run):
        self._record, self._event, self._run, self.leader = record, event, run, leader

    @property
    def number(self):
        return int(self._event["task"])

    @property
    def name(self):
        return self._record.kernel(self._event["kernel"])[0]

    @property
    def types(self):
        return self._record.kernel(self._event["kernel"])[1]

    @property
    def site(self):
        return self._record.site(self._event["site"])

    @property
    def callers(self):
        return self._record.callers(self._event["site"])

    @property
    def lane(self):
        return lane_name(int(self._event["lane"]))

    @property
    def bytes(self):
        return int(self._event["bytes"])

    @property
    def thread(self):
        return int(self._event["thread"])

    @property
    def submitted(self):
        return int(self._event["start"])

    @property
    def worker(self):
        return None if self._run is None else int(self._run["worker"])

    @property
    def started(self):
        return None if self._run is None else int(self._run["start"])

    @property
    def ended(self):
        return None if self._run is None else int(self._run["stop"])

    @property
    def failed(self):
        return self._run is not None and int(self._run["natives"]) == FAILED

    @property
    def shape(self):
        """Of what it goes over: its result's, as a rule; of a product or a reduction the inner axes, too."""
        return tuple(self._event["dims"][:max(int(self._event["ndim"]), 0)].tolist())

    @property
    def predecessors(self):
        """The tasks that its group had to wait for."""
        return self._record.before.get(self.leader, [])

    @property
    def ready(self):
        """When it was submitted, and the last of its predecessors had ended."""
        ends = [self._record.tasks[p].ended for p in self.predecessors if p in self._record.tasks]
        return max([self.submitted, *(end for end in ends if end is not None)])


FOLDS = "reduce", "masked", "accumulate", "at"                      # keys of kernels that are made of others


def name_of(key):
    """Of such a kernel as NumPy names it, "add.reduce"; else None."""
    if key is None or key[0] not in FOLDS or key[1] is None:
        return None
    inner = name_of(key[1]) or getattr(key[1][0], "__name__", str(key[1][0]))
    return f"{inner} where" if key[0] == "masked" else f"{inner}.{key[0]}"


def types_of(key):
    """Of a kernel's key: "dd->d" of a ufunc's loop, "d->f" of a cast, "d->d" of a sort; "" where it does not tell."""
    while key is not None and key[0] in FOLDS:
        key = key[1]
    if key is None:
        return ""
    if not isinstance(key[0], str):
        nin, codes = key[0].nin, key[1]
    elif key[0] in TYPED:
        nin, codes = 1, TYPED[key[0]](*key[1:])
    else:
        return ""
    letters = "".join(dtypes[code].char for code in codes)
    return f"{letters[:nin]}->{letters[nin:]}"


INDEX = [dtype.char for dtype in dtypes].index(numpy.dtype(numpy.intp).char)
TYPED = {"cast": lambda codes: codes, "move": lambda code: (code, code),
         "number": lambda source, target: (source, target), "sort": lambda code, *how: (code, code)}
TYPED |= dict.fromkeys(("argsort", "argmax", "argmin"), lambda code, *how: (code, INDEX))     # by kernels' names
