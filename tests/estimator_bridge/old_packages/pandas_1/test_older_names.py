"""Names that were removed before pandas 1.1.5, with the results that its documentation told."""

import subprocess

import measured
import numpy as np
import pytest

PROGRAM = """
import numpy as np, pandas as pd, warnings
warnings.simplefilter("ignore")
from estimator_bridge import old_packages
old_packages.install()
f = pd.DataFrame({"a": [1.0, 2, 3], "s": [3, 1, 2]}, index=list("xyz"))
h = f.reset_index(drop=True)
texts = pd.Series(["1", "z"], dtype=object)

def changed(value, change):
    change(value)
    return value

def show(case):
    try:
        print(repr(case()))
    except Exception as error:
        print(repr(repr(error)))

def set_by_ix(g):
    g.ix[g.a > 1, "s"] = 9
    g.ix[0, "a"] = 7
    g.ix["z", 1] = 5
    g.ix[1] = [4, 4]
"""

CASES = [
    ("f.ix['x'].tolist()", [1.0, 3.0]),
    ("f.ix[0].tolist()", [1.0, 3.0]),
    ("f.ix[0, 'a']", 1.0),
    ("f.ix[:2, 'a'].tolist()", [1.0, 2.0]),
    ("f.ix[['x', 'z'], 0].tolist()", [1.0, 3.0]),
    ("f.ix[f.a > 1, 's'].tolist()", [1, 2]),
    ("f.ix[:, 1].tolist()", [3, 1, 2]),
    ("f.ix['x':'y'].a.tolist()", [1.0, 2.0]),
    ("f.a.ix['y'], f.a.ix[2]", (2.0, 3.0)),
    ("h.ix[0:1].shape, h.ix[[0, 2], 'a'].tolist(), h.ix[1, 's']", ((2, 2), [1.0, 3.0], 1)),
    ("changed(f.copy(), set_by_ix).values.tolist()", [[7.0, 3.0], [4.0, 4.0], [3.0, 5.0]]),
    ("f.sort('s').a.tolist()", [2.0, 3.0, 1.0]),
    ("f.sort(['s'], ascending=False).a.tolist()", [1.0, 3.0, 2.0]),
    ("f.sort_index(by='s').a.tolist()", [2.0, 3.0, 1.0]),
    ("f.a.order(ascending=False).tolist()", [3.0, 2.0, 1.0]),
    ("changed(f.s.copy(), lambda one: one.sort()).tolist()", [1, 2, 3]),
    ("f.get_dtype_counts().to_dict()", {"float64": 1, "int64": 1}),
    ("f.a.nonzero()[0].tolist(), f.a.compress(f.a > 1).tolist()", ([0, 1, 2], [2.0, 3.0])),
    ("f.select(lambda one: one == 'a', axis=1).shape", (3, 1)),
    ("f.icol(0).tolist(), f.irow(0).tolist()", ([1.0, 2.0, 3.0], [1.0, 3.0])),
    ("f.copy().set_value('x', 'a', 9).a.tolist()", [9.0, 2.0, 3.0]),
    ("f.a.get_value('y'), f.get_value('x', 'a')", (2.0, 1.0)),
    ("f.a.clip_lower(2).tolist(), f.a.clip_upper(2).tolist()", ([2.0, 2.0, 3.0], [1.0, 2.0, 2.0])),
    ("f.reindex_axis(['s'], axis=1).shape", (3, 1)),
    ("f.a.valid().tolist(), f.s.real.tolist()", ([1.0, 2.0, 3.0], [3, 1, 2])),
    ("f.rename_axis('r', 1).columns.name", "r"),
    ("texts.to_frame().convert_objects(convert_numeric=True)[0].isnull().tolist()", [False, True]),
    ("pd.DataFrame.from_items([('B', [1, 2]), ('A', [3, 4])]).columns.tolist()", ["B", "A"]),
    ("pd.rolling_mean(f.a, 2).tolist()[1:]", [1.5, 2.5]),
    ("pd.rolling_mean(np.array([1.0, 2, 3]), 2).tolist()[1:]", [1.5, 2.5]),
    ("pd.rolling_apply(f.a, 2, lambda one: one.sum()).tolist()[1:]", [3.0, 5.0]),
    ("pd.rolling_corr(f.a, f.s, 2).tolist()[1:]", [-1.0, 1.0]),
    ("pd.rolling_std(f, 2).shape, pd.expanding_max(f.s).tolist()", ((3, 2), [3.0, 3.0, 3.0])),
    ("pd.ewma(f.a, span=2).tolist()[:2]", [1.0, 1.75]),
    ("pd.match(['b', 'q'], ['a', 'b']).tolist()", [1, -1]),
    ("f.drop_duplicates(cols='a', take_last=True).shape", (3, 2)),
    ("f.pivot_table('a', rows='s').index.tolist()", [1, 2, 3]),
    # A column comes first.
    ("pd.DataFrame({'order': [1], 'ix': [2]}).ix.tolist()", [2]),
    ("hasattr(f, 'no_such_name'), hasattr(f.a, 'no_such_name')", (False, False)),
    ("isinstance(pd.Index([1]), pd.Int64Index), len(pd.Float64Index([1, 2]))", (True, 2)),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    lines = "\n".join(f"    lambda: ({code})," for code, _ in CASES)
    program = f"{PROGRAM}\nfor case in [\n{lines}\n]:\n    show(case)\n"
    file = tmp_path_factory.mktemp("names") / "program.py"
    file.write_text(program, encoding="utf-8")
    command = measured.python(file)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("number", range(len(CASES)), ids=[code for code, _ in CASES])
def test_name(found, number):
    assert eval(found[number], {"np": np}) == CASES[number][1]
