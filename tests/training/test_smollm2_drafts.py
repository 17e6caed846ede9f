"""Draft models for SmolLM2: lessons, training, export; and the databases of its own text."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
import torch

from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.tree import spell
from hsd_viz.errors import UserError
from hsd_viz.models import files as files_module
from hsd_viz.models.files import open_model
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import Weights
from tests.models.small_models import save_form
from tests.rows import column
from training.schedules import cosine_schedule
from training.smollm2 import learn as learn_module
from training.smollm2.__main__ import main
from training.smollm2.databases import build_own_text, counted_outputs, outputs
from training.smollm2.export import config_of, tensors_of, write
from training.smollm2.learn import DraftTraining, losses, train
from training.smollm2.lessons import (
    Lesson,
    LessonBatch,
    batch_of,
    endless,
    groups,
    is_measured,
    split,
)
from training.smollm2.options import LearningOptions
from training.smollm2.rows import LikeliestRow, rows_path, save_rows
from training.smollm2.student import Student
from training.smollm2.text import Conversation, is_kept_aside, save, shard_path

VOCABULARY = 258


def conversation(number: int, length: int = 12) -> Conversation:
    """Return a text in which every token decides the next one."""
    tokens = [number % 40]
    while len(tokens) < length:
        tokens.append((3 * tokens[-1] + 1) % 40)
    written = np.arange(length) >= 4
    return Conversation(
        number=number, temperature=0.7, tokens=np.array(tokens, np.uint16), written=written
    )


def rows_of(each: Conversation) -> list[LikeliestRow]:
    """Return rows in which the token that was written has nine tenths."""
    rows = []
    for token in each.tokens[each.written]:
        rows.append(
            LikeliestRow(np.array([token, 50], np.uint16), np.log([0.9, 0.1]).astype(np.float16))
        )
    return rows


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """A tiny target, and two shards of its text with rows."""
    folder = tmp_path_factory.mktemp("school")
    save_form(folder / "target", "llama")
    for shard in range(2):
        texts = [conversation(48 * shard + k, 8 + k % 5) for k in range(48)]
        save(shard_path(folder / "text", shard), texts)
        save_rows(rows_path(folder / "rows", shard), list(chain(*map(rows_of, texts))))
    return folder


#: The name of the trainings.
NAME = "tiny"


def options_of(school: Path, out: Path) -> LearningOptions:
    """Return the settings of a short training."""
    return LearningOptions(
        model=school / "target",
        text=school / "text",
        rows=school / "rows",
        out=out,
        head=60,
        steps=60,
        batch=96,
        rate=2e-2,
        vector_rate=3e-2,
    )


# --- lessons --------------------------------------------------------------------------------------


def lessons(count: int) -> list[Lesson]:
    made = []
    for number in range(count):
        made.append(
            Lesson(
                number=number,
                tokens=np.full(5 + number % 7, number),
                places=np.array([2, 3]),
                row_tokens=np.zeros((2, 64), np.int32),
                row_logs=np.full((2, 64), -np.inf, np.float32),
            )
        )
    return made


def test_an_epoch_has_every_lesson_once_in_batches_within_the_limit():
    made = groups(lessons(200), most_tokens=40, seed=3)
    assert sorted(column(chain(*made), "number")) == list(range(200))
    for group in made:
        assert batch_of(group).tokens.numel() <= 40
    other = groups(lessons(200), most_tokens=40, seed=4)
    assert [group[0].number for group in made] != [group[0].number for group in other]


@pytest.mark.parametrize("begin", [0, 1, 7, 60, 130])
def test_a_run_goes_on_with_the_batch_that_comes_next(begin):
    given = lessons(100)
    whole = column(islice(endless(given, 40), begin + 3), "tokens")
    rest = column(islice(endless(given, 40, begin=begin), 3), "tokens")
    for one, other in zip(whole[begin:], rest, strict=True):
        assert torch.equal(one, other)


def test_batches_of_no_lessons_are_refused():
    with pytest.raises(UserError, match="there are no lessons"):
        next(endless([], 40))


def test_a_twentieth_is_measured_and_never_learned_or_counted():
    given = lessons(2400)
    train, aside = split(given)
    assert len(train) + len(aside) == 2400
    assert len(aside) == 120
    for lesson in aside:
        assert is_kept_aside(lesson.number)
        assert is_measured(lesson.number)
    counted = counted_outputs(conversation(lesson.number) for lesson in aside)
    assert counted == []


# --- losses ---------------------------------------------------------------------------------------


class Fixed:
    """A student whose logits are given."""

    def __init__(self, logits: list[list[float]]) -> None:
        self._logits = torch.tensor(logits)

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*tokens.shape, 1)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._logits


def test_the_losses_of_a_row_by_hand():
    """The head has the tokens 5 and 9; the target gives them .5 and .3, and .2 to the token 7.

    The student gives .75 and .25: overlap .5 + .25, cross-entropy -.5 ln .75 - .3 ln .25.
    """
    head_places = torch.full((10,), -1)
    head_places[torch.tensor([5, 9])] = torch.tensor([0, 1])
    batch = LessonBatch(
        tokens=torch.zeros(1, 2, dtype=torch.long),
        texts=torch.tensor([0]),
        places=torch.tensor([0]),
        row_tokens=torch.tensor([[5, 7, 9]]),
        row_logs=torch.tensor([[0.5, 0.2, 0.3]]).log(),
    )
    student = Fixed([[np.log(3.0), 0.0]])
    entropy, variation = losses(student, head_places, batch)
    assert entropy.item() == pytest.approx(-0.5 * np.log(0.75) - 0.3 * np.log(0.25), abs=1e-6)
    assert variation.item() == pytest.approx(1 - 0.75, abs=1e-6)


def test_the_rate_rises_and_falls_to_a_tenth():
    rates = [cosine_schedule(step, 130) for step in range(130)]
    assert rates[0] == pytest.approx(1 / 30)
    assert max(rates) == pytest.approx(1.0)
    assert rates.index(max(rates)) in (29, 30)
    assert rates[-1] == pytest.approx(0.1, abs=0.001)


# --- training -------------------------------------------------------------------------------------


def test_a_run_learns_and_a_stopped_one_ends_with_the_same_weights(school, tmp_path, monkeypatch):
    monkeypatch.setattr(learn_module, "CHECKPOINT", 30)
    train(NAME, options_of(school, tmp_path / "whole"))
    before = DraftTraining(NAME, options_of(school, tmp_path / "none")).measure()
    facts = json.loads((tmp_path / "whole" / "tiny.json").read_text())
    assert facts["step"] == 60
    assert facts["overlap"] > before + 0.2

    parts = options_of(school, tmp_path / "parts")
    stopped = DraftTraining(NAME, parts)
    parts.out.mkdir()
    for batch in islice(endless(stopped.lessons, parts.batch), 30):
        stopped.learn(batch)
    stopped.save({})
    train(NAME, parts)
    one = torch.load(tmp_path / "whole" / "tiny.pt")["student"]
    other = torch.load(tmp_path / "parts" / "tiny.pt")["student"]
    for name, values in one.items():
        assert torch.equal(values, other[name]), name


def test_the_command_line_states_the_settings_of_a_training(monkeypatch):
    trainings = []
    monkeypatch.setattr(learn_module, "train", lambda *given: trainings.append(given))
    words = "learn nano --model m.gguf --text t --rows r --out o --layers 0 1 --rate 5e-3"
    assert main(words.split()) == 0
    [(name, options)] = trainings
    assert name == "nano"
    assert options.layers == (0, 1)
    assert options.rate == 5e-3
    assert options.batch == 4096


def test_a_resumed_run_keeps_its_head_where_the_text_has_grown(school, tmp_path, monkeypatch):
    options = options_of(school, tmp_path)
    first = DraftTraining(NAME, options)
    first.save({})
    other = torch.arange(5, 65)
    monkeypatch.setattr(learn_module, "frequent_tokens", lambda *given: other)
    resumed = DraftTraining(NAME, options)
    assert torch.equal(resumed.head_places, first.head_places)
    resumed.save({})
    kept = torch.load(resumed.checkpoint)["head_tokens"]
    assert not torch.equal(kept, other)


@pytest.mark.parametrize("layers", [[0], [1, -1]])
def test_an_exported_student_is_the_model_that_was_trained(school, tmp_path, monkeypatch, layers):
    """Beside the rounding of the matrices to 8 bits."""
    target = open_model(school / "target")
    head_tokens = torch.arange(3, 200, 2)
    torch.manual_seed(1)
    student = Student(target.form, target.tensors, layers, head_tokens)
    lender = files_module.FAMILIES["smollm2"]
    lent = replace(lender, models={"target": school / "target"})
    monkeypatch.setattr(files_module, "FAMILIES", {"smollm2": lent})
    write(tmp_path / "draft", target.form, student.state_dict(), head_tokens)

    files = open_model(tmp_path / "draft")
    model = NativeModel(Weights("draft", files.form, files.tensors, "float32"))
    prompt = [3, 141, 59, 26, 53]
    rows = model.session().forward(prompt, len(prompt))
    with torch.inference_mode():
        expected = student.logits(student.hidden(torch.tensor([prompt]))[0])
    own = torch.from_numpy(rows[:, head_tokens.numpy()]).softmax(-1)
    overlap = torch.minimum(own, expected.softmax(-1)).sum(-1)
    assert overlap.min() > 0.97
    assert np.isneginf(np.delete(rows, head_tokens.numpy(), axis=1)).all()


def test_the_files_of_a_draft_have_no_embedding_and_its_config_says_whose_it_has(school):
    target = open_model(school / "target")
    student = Student(target.form, target.tensors, [0], torch.arange(40))
    tensors = tensors_of(student.state_dict(), torch.arange(40))
    assert not [name for name in tensors if "embed" in name]
    config = config_of(target.form, 1, 40)
    assert config["embedding_of"] == "smollm2"
    assert config["draft_vocab_size"] == 40


# --- databases ------------------------------------------------------------------------------------


def test_a_reply_is_counted_with_the_token_before_it():
    tokens = np.arange(10, dtype=np.uint16)
    written = np.array([0, 0, 1, 1, 0, 0, 0, 1, 1, 1], bool)
    given = Conversation(number=0, temperature=1.0, tokens=tokens, written=written)
    assert [reply.tolist() for reply in outputs(given)] == [[1, 2, 3], [6, 7, 8, 9]]


def test_the_databases_know_the_counted_half_alone(tmp_path):
    """Conversation 0 is counted, 6 is kept aside: their texts have no token in common."""
    text = tmp_path / "text"
    of_number = {0: [1, 2, 3, 4, 5, 6, 7, 8], 6: [11, 12, 13, 14, 15, 16, 17, 18]}
    texts = []
    for number, tokens in of_number.items():
        texts.append(
            Conversation(
                number=number,
                temperature=1.0,
                tokens=np.array(tokens * 3, np.uint16),
                written=np.arange(24) > 0,
            )
        )
    assert [is_kept_aside(each.number) for each in texts] == [False, True]
    save(shard_path(text, 0), [*texts, *texts])
    facts = {"vocabulary_size": VOCABULARY, "vocabulary_hash": "0" * 64}
    build_own_text(text, tmp_path, facts)

    index = Index(tmp_path / "model.hsdb")
    _, _, continuations = index.lookup(spell([1, 2, 3]))
    assert [token for token, _, _ in continuations] == [4]
    assert index.lookup(spell([11, 12, 13])) is None
