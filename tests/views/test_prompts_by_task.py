"""The prompts of the form for models that answer."""

from __future__ import annotations

from hsd_viz.prompts.questions import TASKS
from hsd_viz.views.page_data import QUESTIONS, families
from tests.rows import column


def test_a_family_that_answers_has_a_prompt_for_each_task_of_spec_bench():
    for family in families():
        if family["chat"]:
            prompts = family["prompts"]
            assert len(prompts) == len(TASKS)
            assert family["prompt"] in column(prompts, "prompt")


def test_prompts_have_a_title_and_a_reason_of_their_own():
    for prompts in QUESTIONS.values():
        for field in ("name", "title", "blurb", "prompt"):
            values = [prompt[field] for prompt in prompts]
            assert len(set(values)) == len(values)
            assert all(values)
