"""How a random forest grows, all trees at once.

A leaf draws candidates for its split from the first rows that reach it: a column by chance, and the
row's value as threshold. The next rows are counted on both sides of each candidate. After
`split_after_samples` of them the leaf is split by the best candidate, or starts anew if all
candidates leave one side empty.
"""

from typing import NamedTuple

import numpy as np

from estimator_bridge.tf1.contrib.tensor_forest.forest import write_test
from estimator_bridge.tf1.contrib.tensor_forest.messages import (
    FertileStats,
    read_numbers,
    write_numbers,
)

__all__ = ["Grower", "Rules"]

_FIRST_CAPACITY = 64


class Rules(NamedTuple):
    """When leaves are split.

    Attributes:
      candidates: int, candidates of a leaf.
      split_after: number, weight of the rows after which a leaf is split.
      max_nodes: int, nodes of a tree from which on it does not grow.
      bagging: number, share of the rows that a tree sees.
      collate: whether no other rows of a batch are counted beside those that make candidates.
      keep_stats: whether a checkpoint has the candidates and counts.
      seed: int, 0 for another one in each run.
    """

    candidates: int
    split_after: float
    max_nodes: int
    bagging: float
    collate: bool
    keep_stats: bool
    seed: int


class Grower:
    """The candidates of the leaves.

    Each leaf has a slot. `left` has the sums of the rows that a candidate sends left, `seen` those
    of all rows since the candidates are complete: for classes their weights; for numbers the
    weight, the sums and the sums of squares.

    Args:
      forest: Forest.
      rules: Rules.
    """

    def __init__(self, forest, rules):
        self.forest, self.rules = forest, rules
        self.sums = (
            2 * forest.shape.outputs + 1 if forest.shape.regression else forest.shape.outputs
        )
        self._random = np.random.default_rng(rules.seed or None)
        self._free = []
        self._capacity = 0
        self.slot = np.zeros(0, np.int32)
        self.filled = np.zeros(0, np.int32)
        self.column = np.zeros([0, rules.candidates], np.int32)
        self.limit = np.zeros([0, rules.candidates], np.float32)
        self.left = np.zeros([0, rules.candidates, self.sums], np.float32)
        self.seen = np.zeros([0, self.sums], np.float32)
        self.begin(forest.roots)

    def begin(self, leaves):
        """Gives leaves empty slots.

        Args:
          leaves: int array [n].
        """
        while len(self._free) < len(leaves):
            self._enlarge()
        slots = np.array([self._free.pop() for _ in leaves], np.int32)
        self._fit(self.forest.count)
        self.slot[leaves] = slots
        self._clear(slots)

    def _fit(self, count):
        if count > len(self.slot):
            self.slot = np.concatenate([self.slot, np.full(count, -1, np.int32)])

    def _enlarge(self):
        new = max(_FIRST_CAPACITY, 2 * self._capacity)
        for name in ("filled", "column", "limit", "left", "seen"):
            old = getattr(self, name)
            more = np.zeros([new - self._capacity, *old.shape[1:]], old.dtype)
            setattr(self, name, np.concatenate([old, more]))
        self._free += range(new - 1, self._capacity - 1, -1)
        self._capacity = new

    def _clear(self, slots):
        self.filled[slots], self.left[slots], self.seen[slots] = 0, 0, 0

    def grow(self, data, labels, weights, trees):
        """Lets trees see a batch.

        Args:
          data: float32 array [batch, columns].
          labels: float32 array [batch] or [batch, outputs].
          weights: float32 array [batch].
          trees: int array of the trees.
        """
        if self.rules.seed:
            # A seed gives each batch the same draws, as in 1.x.
            self._random = np.random.default_rng(self.rules.seed)
        batch = len(data)
        rows = np.tile(np.arange(batch), len(trees))
        trees = np.repeat(trees, batch)
        if self.rules.bagging < 1:
            kept = self._random.random(len(rows)) < self.rules.bagging
            rows, trees = rows[kept], trees[kept]
        if not len(rows):
            return
        leaves = self.forest.descend(data, trees, rows)
        if not self.forest.shape.regression:
            classes = labels.astype(np.int64).reshape([-1])
            self._check(classes)
            np.add.at(self.forest.value, (leaves, classes[rows]), weights[rows])
        # The rows of a leaf one after the other, in their order.
        order = np.argsort(leaves, kind="stable")
        rows, leaves = rows[order], leaves[order]
        slots = self.slot[leaves]
        starts = np.flatnonzero(np.r_[True, leaves[1:] != leaves[:-1]])
        sizes = np.diff(np.r_[starts, len(leaves)])
        rank = np.arange(len(leaves)) - np.repeat(starts, sizes)
        missing = self.rules.candidates - self.filled[slots]
        new = rank < missing
        self._draw(data, rows[new], leaves[new], self.filled[slots[new]] + rank[new])
        self.filled[slots[starts]] += np.minimum(sizes, missing[starts])
        counted = ~new & (missing == 0) if self.rules.collate else ~new
        if counted.any():
            rows, leaves = rows[counted], leaves[counted]
            self._count(data, labels, weights, rows, leaves)
            self._finish(np.unique(leaves))

    def _check(self, classes):
        if len(classes) and not 0 <= classes.min() <= classes.max() < self.forest.shape.outputs:
            raise ValueError(
                f"labels must be from 0 to num_classes - 1 = {self.forest.shape.outputs - 1}, "
                f"found {classes.min()} to {classes.max()}"
            )

    def _draw(self, data, rows, leaves, places):
        """Makes candidates of rows."""
        trees = self.forest.tree[leaves]
        bagged = self.forest.columns
        known = data.shape[1] if bagged is None else bagged.shape[1]
        columns = self._random.integers(0, known, len(rows), dtype=np.int32)
        slots = self.slot[leaves]
        self.column[slots, places] = columns
        self.limit[slots, places] = data[rows, self.forest.input_columns(trees, columns)]

    def _count(self, data, labels, weights, rows, leaves):
        """Adds rows to the sums of their leaves and of their candidates."""
        slots = self.slot[leaves]
        trees = self.forest.tree[leaves][:, None]
        columns = self.forest.input_columns(trees, self.column[slots])
        numbers, limits = data[rows[:, None], columns], self.limit[slots]
        goes_left = numbers < limits if self.forest.shape.strict else numbers <= limits
        weight = weights[rows]
        if self.forest.shape.regression:
            label = labels.reshape([len(labels), -1])[rows].astype(np.float32)
            sums = np.concatenate([np.ones_like(weight)[:, None], label, label * label], 1)
            sums *= weight[:, None]
            np.add.at(self.seen, slots, sums)
            np.add.at(self.left, slots, goes_left[:, :, None] * sums[:, None, :])
            return
        classes = labels.astype(np.int64).reshape([-1])[rows]
        np.add.at(self.seen, (slots, classes), weight)
        which, place = np.nonzero(goes_left)
        np.add.at(self.left, (slots[which], place, classes[which]), weight[which])

    def _finish(self, leaves):
        """Splits the leaves among those that have seen enough rows."""
        slots = self.slot[leaves]
        seen = self.seen[slots]
        if self.forest.shape.regression:
            done = seen[:, 0] >= self.rules.split_after
        else:
            # A leaf of one class is not split.
            done = (seen.sum(1) >= self.rules.split_after) & ((seen > 0).sum(1) > 1)
        leaves = leaves[done]
        if not len(leaves):
            return
        best, found = self._choose(self.slot[leaves])
        self._clear(self.slot[leaves[~found]])
        leaves, best = self._allowed(leaves[found], best[found])
        if not len(leaves):
            return
        slots = self.slot[leaves]
        left = self.left[slots, best]
        children = self.forest.split(
            leaves,
            self.column[slots, best],
            self.limit[slots, best],
            np.stack([self._value(left), self._value(self.seen[slots] - left)], 1),
        )
        self._free += slots.tolist()
        self.slot[leaves] = -1
        self.begin(np.concatenate(children))

    def _allowed(self, leaves, best):
        """Returns those of the leaves that may be split before their trees have all nodes."""
        sizes = self.forest.sizes()
        kept = []
        for place, tree in enumerate(self.forest.tree[leaves].tolist()):
            if sizes[tree] < self.rules.max_nodes:
                sizes[tree] += 2
                kept.append(place)
        return leaves[kept], best[kept]

    def _choose(self, slots):
        """Returns the best candidate of each slot, and whether there is one."""
        left = self.left[slots].astype(np.float64)
        right = self.seen[slots].astype(np.float64)[:, None] - left
        if self.forest.shape.regression:
            heavy = (left[..., 0] > 0) & (right[..., 0] > 0)
            score = _variance(left) + _variance(right)
        else:
            heavy = (left.sum(-1) > 0) & (right.sum(-1) > 0)
            score = _smoothed_gini(left) + _smoothed_gini(right)
        # As float32, in which 1.x finds equal scores equal.
        score = np.where(heavy, score.astype(np.float32), np.inf)
        return score.argmin(1), heavy.any(1)

    def _value(self, sums):
        """Returns what a leaf is given of the sums of its rows."""
        if not self.forest.shape.regression:
            return sums
        outputs = self.forest.shape.outputs
        return sums[:, 1 : 1 + outputs] / sums[:, :1]

    def serialize(self, tree):
        """Returns the slots of a tree as a checkpoint keeps them.

        Args:
          tree: int.
        """
        message = FertileStats()
        forest = self.forest
        for place in forest.nodes[tree]:
            if forest.left[place] != place:
                continue
            slot = self.slot[place]
            one = message.node_to_slot.add(
                node_id=int(forest.number[place]), depth=int(forest.level[place])
            )
            if not self.rules.keep_stats:
                continue
            self._write(one.post_init_leaf_stats, self.seen[slot])
            for k in range(self.filled[slot]):
                candidate = one.candidates.add()
                write_test(
                    candidate.split, self.column[slot, k], self.limit[slot, k], forest.shape.strict
                )
                self._write(candidate.left_stats, self.left[slot, k], total=False)
                candidate.right_stats.SetInParent()
        return message.SerializeToString()

    def _write(self, stat, sums, total=True):
        numbers, outputs = sums.tolist(), self.forest.shape.outputs
        if self.forest.shape.regression:
            stat.weight_sum = numbers[0]
            stat.regression.mean_output.SetInParent()
            write_numbers(stat.regression.mean_output, numbers[1 : 1 + outputs])
            write_numbers(stat.regression.mean_output_squares, numbers[1 + outputs :])
            return
        if total:
            stat.weight_sum = float(np.float32(sum(numbers)))
        counts = stat.classification
        is_sparse = self.forest.shape.sparse
        write_numbers(counts.sparse_counts if is_sparse else counts.dense_counts, numbers)

    def parse(self, tree, serialized):
        """Reads the slots of a tree, whose leaves must have none, from a checkpoint.

        Args:
          tree: int.
          serialized: bytes.
        """
        forest = self.forest
        self._fit(forest.count)
        nodes = np.asarray(forest.nodes[tree])
        self.begin(nodes[forest.left[nodes] == nodes])
        for one in FertileStats.FromString(serialized).node_to_slot:
            slot = self.slot[nodes[one.node_id]]
            self.seen[slot] = self._read(one.post_init_leaf_stats)
            for k, candidate in enumerate(one.candidates[: self.rules.candidates]):
                test = candidate.split.inequality_left_child_test
                self.column[slot, k] = int(test.feature_id.id.value)
                self.limit[slot, k] = test.threshold.float_value
                self.left[slot, k] = self._read(candidate.left_stats)
                self.filled[slot] = k + 1

    def _read(self, stat):
        sums, outputs = np.zeros(self.sums, np.float32), self.forest.shape.outputs
        if stat.HasField("regression"):
            found = stat.regression
            sums[0] = stat.weight_sum
            read_numbers(found.mean_output, sums[1:])
            read_numbers(found.mean_output_squares, sums[1 + outputs :])
        else:
            found = stat.classification
            is_sparse = found.HasField("sparse_counts")
            read_numbers(found.sparse_counts if is_sparse else found.dense_counts, sums)
        return sums


def _smoothed_gini(counts):
    """Returns the Gini impurity with one more row of each class, times the weight: [...]."""
    weight = counts.sum(-1)
    total = weight + counts.shape[-1]
    return weight * (1 - np.square(counts + 1).sum(-1) / np.square(total))


def _variance(sums):
    """Returns the sum of the variances of the outputs, [...]; 0 without rows."""
    outputs = (sums.shape[-1] - 1) // 2
    weight = np.maximum(sums[..., :1], 1e-30)
    means, squares = sums[..., 1 : 1 + outputs] / weight, sums[..., 1 + outputs :] / weight
    return (squares - means * means).sum(-1)
