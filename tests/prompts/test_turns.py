"""Questions of several turns, on the shipped models and on tokenizers made here."""

import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from hsd_viz.engine.local import load_engine
from hsd_viz.errors import PromptTooLong
from hsd_viz.measure.bench.figures import build_report
from hsd_viz.measure.bench.output import Output
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.bench.runner import ask, run_bench
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.prompts.templates import choose_template, opening
from hsd_viz.trace import Finished
from tests.changes import plain_trace
from tests.rows import column

TURNS = ("Write a loop.", "Faster.", "Again.")
CHATML = (
    "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)


@pytest.fixture(scope="module")
def engine():
    return load_engine("nano", threads=1, device="cpu", runtime="eager")


def tokenizer(template: str | None = None) -> PreTrainedTokenizerFast:
    """A tokenizer of single characters that, like Llama's, puts ``<s>`` before every text."""
    letters = {c: i for i, c in enumerate(["<s>", "</s>", "?", *map(chr, range(32, 127)), "\n"])}
    fast = Tokenizer(models.WordLevel(letters, unk_token="?"))
    fast.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    fast.decoder = decoders.Fuse()
    fast.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    made = PreTrainedTokenizerFast(tokenizer_object=fast, bos_token="<s>", eos_token="</s>")
    made.chat_template = template
    return made


def shown(own: PreTrainedTokenizerFast, ids: list[int]) -> str:
    return "".join(own.convert_ids_to_tokens(ids))


def test_plain_turns_are_paragraphs():
    own = tokenizer()
    template = choose_template(own, "some/base")
    assert template.name == "plain"
    assert shown(own, template.write(TURNS[:1], [])) == "<s>Write a loop.\n\n"
    assert (
        shown(own, template.write(TURNS[:2], ["while 1"]))
        == "<s>Write a loop.\n\nwhile 1\n\nFaster.\n\n"
    )


def test_a_vicuna_is_asked_as_spec_bench_asks_it():
    own = tokenizer()
    template = choose_template(own, "lmsys/Vicuna-7b-v1.3")
    assert template.name == "vicuna"
    system = (
        "A chat between a curious user and an artificial intelligence assistant. "
        "The assistant gives helpful, detailed, and polite answers to the user's questions."
    )
    assert (
        shown(own, template.write(TURNS[:1], [])) == f"<s>{system} USER: Write a loop. ASSISTANT:"
    )
    second = f"<s>{system} USER: Write a loop. ASSISTANT: while 1</s>USER: Faster. ASSISTANT:"
    assert shown(own, template.write(TURNS[:2], ["while 1"])) == second
    assert (
        shown(own, template.write(TURNS[:2], [""]))
        == f"<s>{system} USER: Write a loop. ASSISTANT:USER: Faster. ASSISTANT:"
    )


def test_a_chat_template_writes_its_special_tokens_and_none_is_added():
    own = tokenizer(CHATML)
    template = choose_template(own, "lmsys/vicuna")
    assert template.name == "chat"
    ids = template.write(TURNS[:2], ["while 1"])
    assert (
        shown(own, ids)
        == "<s>user: Write a loop.</s><s>assistant: while 1</s><s>user: Faster.</s><s>assistant:"
    )
    assert ids.count(0) == 4
    assert ids.count(1) == 3
    assert template.read([*own.encode(" while 1\n", add_special_tokens=False), 1]) == "while 1"


def test_bad_templates_are_refused():
    with pytest.raises(ValueError, match="unknown template 'alpaca': use one of auto, chat"):
        choose_template(tokenizer(), "x", "alpaca")
    with pytest.raises(ValueError, match="the tokenizer of x has no chat template"):
        choose_template(tokenizer(), "x", "chat")
    strict = choose_template(tokenizer("{{ raise_exception('one turn only') }}"), "x")
    with pytest.raises(ValueError, match=r"rejects 2 turns: one turn only\Z"):
        strict.write(TURNS[:2], ["a"])


def test_each_turn_holds_the_answers_before_it():
    own = tokenizer()
    asked = []

    def decode(prompt):
        asked.append(prompt if isinstance(prompt, str) else shown(own, prompt))
        ids = own.encode(f"answer{len(asked)}", add_special_tokens=False)
        return Output(tuple(ids), float(len(asked)), len(ids), 0.5, 2, 3, 1, (0.1,), "eager")

    question = Prompt("1", "x", TURNS[0], turns=TURNS)
    output = ask(decode, question, choose_template(own, "base"))
    assert (
        asked[2]
        == "<s>" + "\n\n".join([TURNS[0], "answer1", TURNS[1], "answer2", TURNS[2]]) + "\n\n"
    )
    assert output.seconds == 6
    assert output.prefill_seconds == 1.5
    assert output.timed_tokens == len(output.token_ids) == 21
    assert output.target_forwards == 6
    assert output.drafted == 9
    assert output.accepted == 3
    assert output.draft_seconds == (0.1,) * 3
    assert output.runtime == "eager"
    assert opening(question, None) == TURNS[0]


QUESTIONS = Suite(
    "two",
    {"mt_bench": "Talk.", "qa": "Ask."},
    (
        Prompt(
            "81",
            "mt_bench",
            "def one(",
            {"question_id": 81, "category": "coding"},
            ("def one(", "def two("),
        ),
        Prompt(
            "400", "qa", "x" * 9000, {"question_id": 400, "category": "qa"}, ("import os, " * 1000,)
        ),
    ),
)


def test_our_loop_and_transformers_are_asked_alike(engine):
    stacks = ["db > target", "hf-generate", "hf-lookup"]
    measured = run_bench(engine, stacks, QUESTIONS, BenchSettings(max_new_tokens=12, repeats=1))
    assert measured.complete
    assert column(measured.prompts, "id") == ["81"]
    assert measured.template == "plain"
    assert list(measured.left_out) == ["400"]
    assert "the context holds 2048" in measured.left_out["400"]
    outputs = {name: row[0] for name, row in measured.outputs.items()}
    assert len(set(column(outputs.values(), "token_ids"))) == 1
    for name, output in outputs.items():
        assert len(output.waits) < output.target_forwards <= len(output.token_ids), name
    first = engine.run("def one(\n\n", max_new_tokens=12)
    again = f"def one(\n\n{first.text.strip()}\n\ndef two(\n\n"
    second = engine.run(again, max_new_tokens=12)
    assert (*first.token_ids, *second.token_ids) == outputs["target"].token_ids
    built = build_report(
        measured, {"cpu": "x", "gpu": None}, {"device": "cpu", "dtype": "float32", "threads": 1}
    )
    report = json.loads(json.dumps(built.to_dict()))
    assert report["settings"]["left_out"] == measured.left_out
    assert report["suite"]["prompts"] == 1
    table = BenchResult(built).to_text()
    assert "template plain" in table
    assert "left out, as a turn does not fit the context: 400 (1 in all)" in table


def test_a_question_that_fits_only_at_times_is_left_out_for_all(engine, monkeypatch):
    """Where rounding or a device changes an answer, the second turn of a later repeat may not
    fit.
    """
    runs = []

    def events(prompt, stack, options):
        runs.append(stack)
        # After two warm-ups and four turns of the first repeat: the second stack's first turn of
        # the second.
        if len(runs) == 8:
            raise PromptTooLong(2050, 2048)
        yield Finished(plain_trace(options.max_new_tokens, 1.0))

    monkeypatch.setattr(engine, "events", events)
    suite = Suite("one", QUESTIONS.categories, QUESTIONS.prompts[:1])
    measured = run_bench(
        engine, ["target", "db > target"], suite, BenchSettings(max_new_tokens=4, repeats=2)
    )
    assert measured.prompts == ()
    assert measured.complete
    assert list(measured.left_out) == ["81"]


def test_a_text_that_does_not_fit_is_refused_not_left_out(engine):
    suite = Suite(
        "one", {"all": "All."}, (Prompt("a", "all", "x"), Prompt("b", "all", "import os, " * 2000))
    )
    with pytest.raises(
        ValueError, match=r"prompt b: the prompt has \d+ tokens and the context holds 2048"
    ):
        run_bench(engine, ["target"], suite, BenchSettings(max_new_tokens=2, repeats=1))
