"""The stack language: what it reads, what it writes back, and what it says to text that it
cannot read.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.stack import (
    COPY_TYPES,
    DraftSource,
    HFStack,
    ModelPart,
    Stack,
    StackError,
    draft_sources,
    parse,
    parse_bench,
    split_copy,
)

READ = {
    "target": Stack(None, (ModelPart("target"),)),
    " nano:4>target ": Stack(None, (ModelPart("nano", 4), ModelPart("target"))),
    "db > nano:6 > small:8 > target": Stack(
        DraftSource("db"), (ModelPart("nano", 6), ModelPart("small", 8), ModelPart("target"))
    ),
    "db[ context , statistics ] > target": Stack(
        DraftSource("db", ("context", "statistics")), (ModelPart("target"),)
    ),
    "lookup > owner/name:3 > ./a/b": Stack(
        DraftSource("lookup"), (ModelPart("owner/name", 3), ModelPart("./a/b"))
    ),
    '"./a b > c":2 > "~/x:4"': Stack(None, (ModelPart("./a b > c", 2), ModelPart("~/x:4"))),
    "hd[statistics,context] > target": Stack(
        DraftSource("hd", ("statistics", "context")), (ModelPart("target"),)
    ),
    "ngram-cache > nano > target": Stack(
        DraftSource("ngram-cache"), (ModelPart("nano"), ModelPart("target"))
    ),
    "nano : auto>small:auto > target": Stack(
        None, (ModelPart("nano", "auto"), ModelPart("small", "auto"), ModelPart("target"))
    ),
    "nano:8?0.4 > small ? .25 > target": Stack(
        None, (ModelPart("nano", 8, 0.4), ModelPart("small", None, 0.25), ModelPart("target"))
    ),
    '"./a?0.4":auto?0.125 > ./a?b': Stack(
        None, (ModelPart("./a?0.4", "auto", 0.125), ModelPart("./a?b"))
    ),
    '"target" > "small"': Stack(None, (ModelPart("target"), ModelPart("small"))),
    "target[int8]:6 > target": Stack(None, (ModelPart("target[int8]", 6), ModelPart("target"))),
    'nano > "./a b" [ bfloat16 ] ?0.5 > target': Stack(
        None, (ModelPart("nano"), ModelPart("./a b[bfloat16]", None, 0.5), ModelPart("target"))
    ),
    "auto[db,smollm2[int8]] > target": Stack(
        DraftSource("auto", ("db", "smollm2[int8]")), (ModelPart("target"),)
    ),
    "/abs/v1.5 > target": Stack(None, (ModelPart("/abs/v1.5"), ModelPart("target"))),
    "auto > target": Stack(DraftSource("auto"), (ModelPart("target"),)),
    "auto[ db, nano ]>target": Stack(DraftSource("auto", ("db", "nano")), (ModelPart("target"),)),
    'auto[owner/name:v2,"./a, b]",db] > small': Stack(
        DraftSource("auto", ("owner/name:v2", "./a, b]", "db")), (ModelPart("small"),)
    ),
}


@pytest.mark.parametrize("text", READ)
def test_reads(text):
    assert parse(text) == READ[text]
    assert parse(str(parse(text))) == READ[text]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "empty"),
        ("target[int4]:2 > target", "'target[int4]:2'"),
        ("target[int4]:2 > target", "int8, bfloat16, float32"),
        ('"./a[int8]":2 > target', """write './a[int8]'"""),
        ("nano > target[int8]", "the option dtype sets the type of the weights: write 'target'"),
        ("nano[int8] > nano[int8]:3 > target", "'nano[int8]' appears twice"),
        ("auto[db,nano[int8]:2] > target", "write 'nano[int8]'"),
        ("auto[db,nano[int4]] > target", "'nano[int4]'"),
        ("db[int8] > target", "unknown item 'int8'"),
        ("ngram-mod > nano[skip]:2 > target", "'nano[skip]:2'"),
        ("nano:automatic > target", "'automatic'"),
        ("nano:auto", "takes no lookahead"),
        ("db:auto > target", "takes no lookahead"),
        ("auto[nano:auto] > target", "write 'nano'"),
        ("db[context > target", "'db[context'"),
        ("db context] > target", "'db context]'"),
        ("nano:4 small > target", "'nano:4 small'"),
        (":4 > target", "':4'"),
        ('"" > target', "quote"),
        ('"db" > target', "unknown part"),
        ("nano:-1 > target", "'-1'"),
        ("nano:x > target", "'x'"),
        ("nano:0 > target", "0"),
        ("nano:65 > target", "65"),
        ("nano:4", "takes no lookahead"),
        ("nano:8?0 > target", "the confidence 0 in 'nano:8?0' is out of range"),
        ("nano:8?1 > target", "above 0 and below 1"),
        ("nano:8? > target", "the confidence '' in 'nano:8?' is not valid"),
        ("nano?x > target", "'x'"),
        ("nano:8?1e-3 > target", "'1e-3'"),
        ("nano?0.4:8 > target", "'nano?0.4:8'"),
        ("nano > target?0.4", "takes no confidence: write 'target'"),
        ("db?0.4 > target", "takes no confidence"),
        ("auto[nano?0.4] > target", "write 'nano'"),
        ("nano > db > target", "first"),
        ("db", "'db' has no target: end the stack with a model, as in 'db > target'"),
        ("db[context]", "has no target"),
        ("db:4 > target", "takes no lookahead"),
        ("db[] > target", "''"),
        ("db[contxt] > target", "did you mean 'context'?"),
        ("sufix[3] > target", "did you mean 'suffix'?"),
        ("db[context,context] > target", "twice"),
        ("sam[3] > target", "no brackets"),
        ("lookup[3] > target", "takes original"),
        ("hd[context,window] > target", "'window'"),
        ("nano > ngram-cache > target", "first"),
        ("wat[3] > target", "'wat'"),
        ("auto", "has no target"),
        ("auto > nano:4 > target", "'auto[db,nano] > target'"),
        ("auto[db,nano:4] > target", "write 'nano'"),
        ("auto[lookup] > target", "'lookup'"),
        ("auto[db[context],nano] > target", "'db[context]'"),
        ("auto[] > target", "''"),
        ("auto[nano,nano] > target", "twice"),
        ("auto[db,target] > target", "itself"),
        ("auto[db,a b] > target", "'a b'"),
        ("nano > auto > target", "first"),
        ("nano > nano > target", "twice"),
        ("nano >> target", "part 2"),
        ("> target", "part 1"),
        ("a b > target", "'a b'"),
        ("a/b/c > target", "'a/b/c'"),
        ('"nano > target', "quote"),
        ("nano:4 > <script>", "part"),
    ],
)
def test_refuses_in_one_sentence(text, named):
    with pytest.raises(StackError) as error:
        parse(text)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (["nano", "target"], "list: ['nano', 'target']"),
        (("target",), "tuple: ('target',)"),
        (None, "NoneType: None"),
        (4, "int: 4"),
    ],
    ids=["list", "tuple", "None", "number"],
)
@pytest.mark.parametrize("read", [parse, parse_bench])
def test_a_stack_is_one_text(read, value, named):
    with pytest.raises(StackError) as error:
        read(value)
    assert str(error.value) == f"a stack is one text such as 'nano > target', not {named}"


words = st.from_regex(r"[a-z][a-z0-9_.-]{0,6}", fullmatch=True).filter(
    lambda w: w not in draft_sources()
)
paths = st.text(
    st.characters(codec="utf-8", exclude_characters='"', exclude_categories=("Cc",)), max_size=8
).map(lambda t: "./" + t)
originals = words | st.tuples(words, words).map("/".join) | paths.filter(lambda p: p == p.strip())
originals = originals.filter(lambda name: split_copy(name)[1] is None)
names = originals | st.tuples(originals, st.sampled_from(COPY_TYPES)).map("{0[0]}[{0[1]}]".format)
lookaheads = st.none() | st.just("auto") | st.integers(1, 64)
confidences = st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True)
options = st.lists(st.just("db") | names, max_size=3, unique=True).map(
    lambda items: DraftSource("auto", tuple(items))
)
bottoms = (
    st.none()
    | options
    | st.sampled_from(sorted(draft_sources())).flatmap(
        lambda name: st.permutations(draft_sources()[name]).flatmap(
            lambda order: st.integers(0, len(order)).map(
                lambda n: DraftSource(name, tuple(order[:n]))
            )
        )
    )
)


@settings(deadline=None)
@given(
    bottoms,
    st.lists(st.tuples(names, lookaheads, confidences), max_size=3, unique_by=lambda m: m[0]),
    originals,
)
def test_writing_is_the_exact_inverse(bottom, drafts, target):
    if bottom is not None and bottom.name == "auto":
        drafts = []
    if target in [name for name, _, _ in drafts] or (bottom is not None and target in bottom.items):
        return
    stack = Stack(bottom, (*(ModelPart(*d) for d in drafts), ModelPart(target)))
    assert parse(str(stack)) == stack


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        stack = parse(text)
    except StackError:
        return
    assert parse(str(stack)) == stack


def test_bench_reads_transformers_loops():
    assert parse_bench("hf-generate") == HFStack("hf-generate")
    assert parse_bench("hf-assistant[nano]") == HFStack("hf-assistant", "nano")
    assert parse_bench("db > target") == parse("db > target")
    with pytest.raises(StackError, match="did you mean 'hf-lookup'"):
        parse_bench("hf-look")
    for text in ("hf-assistant", "hf-generate[nano]", "hf-what"):
        with pytest.raises(StackError):
            parse_bench(text)


def test_left_out_lookaheads_are_filled_in():
    assert str(parse("nano > small:9 > target").resolved()) == "nano:4 > small:9 > target"
    assert str(parse("nano:auto > small > target").resolved(2)) == "nano:auto > small:2 > target"


@pytest.mark.parametrize("lookahead", [1, 64])
def test_the_lookaheads_at_both_ends_are_valid(lookahead):
    assert parse(f"nano:{lookahead} > target").drafts[0].lookahead == lookahead
