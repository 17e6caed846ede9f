"""Write the turns of a question and the answers so far as the prompt of the next turn.

``chat`` is the tokenizer's own template. ``vicuna`` is what Spec-Bench uses for every model
(FastChat's ``vicuna_v1.1``; ``</s>`` is the tokenizer's end-of-text token)::

    <system> USER: <turn> ASSISTANT: <answer></s>USER: <turn> ASSISTANT:

``plain`` is for models without chat training: turns and answers as paragraphs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.errors import UserError, first_line
from hsd_viz.names.hints import did_you_mean
from hsd_viz.prompts import Prompt

#: The descriptions of the templates, by name.
TEMPLATES = {
    "chat": "the chat template of the target's own tokenizer",
    "vicuna": "Vicuna's, which Spec-Bench uses for every model",
    "plain": "none: turns and answers as paragraphs",
}
_SYSTEM = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)


@dataclass(frozen=True, slots=True)
class Template:
    """A chat template: write turns as token ids, and read answers.

    Attributes:
        name: the name of the template, one of :data:`TEMPLATES`.
        tokenizer: the tokenizer of the target, a ``PreTrainedTokenizerFast``.
    """

    name: str
    tokenizer: Any

    def write(self, turns: Sequence[str], answers: Sequence[str]) -> list[int]:
        """Return the prompt of the last turn, as token ids.

        Args:
            turns: the user's messages so far.
            answers: the answers to all turns except the last.

        Raises:
            UserError: if the tokenizer's chat template rejects the conversation.
        """
        if self.name == "chat":
            return self._chat(turns, answers)
        text = (
            self._vicuna(turns, answers) if self.name == "vicuna" else self._plain(turns, answers)
        )
        return self.tokenizer.encode(text, verbose=False)

    def read(self, token_ids: Sequence[int]) -> str:
        """Return the text of an answer without special tokens and surrounding whitespace.

        Spec-Bench reads answers in the same way.
        """
        ids = list(token_ids)
        return self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        ).strip()

    def _chat(self, turns: Sequence[str], answers: Sequence[str]) -> list[int]:
        messages = [{"role": "user", "content": turns[0]}]
        for answer, turn in zip(answers, turns[1:], strict=True):
            messages += [
                {"role": "assistant", "content": answer},
                {"role": "user", "content": turn},
            ]
        try:
            text = self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        except ImportError:
            raise UserError(
                "chat templates need the package jinja2: install it with `pip install jinja2`"
            ) from None
        except Exception as error:  # a template is a program that may raise any exception
            what = f"the chat template of the target's tokenizer rejects {len(turns)} turns"
            raise UserError(f"{what}: {first_line(error)}") from None
        # The template writes its special tokens as text, so the tokenizer must not add others.
        return self.tokenizer.encode(text, add_special_tokens=False, verbose=False)

    def _vicuna(self, turns: Sequence[str], answers: Sequence[str]) -> str:
        end = self.tokenizer.eos_token or "</s>"
        # An empty answer leaves only its role, as in FastChat.
        text = f"{_SYSTEM} "
        for turn, answer in zip(turns, [*answers, ""], strict=True):
            text += f"USER: {turn} ASSISTANT:"
            if answer:
                text += f" {answer}{end}"
        return text

    def _plain(self, turns: Sequence[str], answers: Sequence[str]) -> str:
        paragraphs: list[str] = []
        for turn, answer in zip(turns, [*answers, ""], strict=True):
            paragraphs += filter(None, (turn, answer))
        return "\n\n".join(paragraphs) + "\n\n"


def choose_template(tokenizer: Any, target: str, name: str = "auto") -> Template:
    """Return a template by name.

    ``auto`` chooses the template of the tokenizer if it has one, else ``vicuna`` for a Vicuna
    model, else ``plain``.

    Raises:
        UserError: for an unknown name, and for ``chat`` if the tokenizer has no template.
    """
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if name == "auto" and has_template:
        name = "chat"
    elif name == "auto":
        name = "vicuna" if "vicuna" in target.lower() else "plain"
    if name not in TEMPLATES:
        allowed = ("auto", *TEMPLATES)
        raise UserError(
            f"unknown template '{name}': use one of "
            f"{', '.join(allowed)}{did_you_mean(name, allowed)}"
        )
    if name == "chat" and not has_template:
        raise UserError(
            f"the tokenizer of {target} has no chat template: use the template vicuna or plain"
        )
    return Template(name, tokenizer)


def opening(prompt: Prompt, template: Template | None) -> str | list[int]:
    """Return the input of a decode: the text of a prompt, or token ids for a question.

    ``template`` writes the first turn of a question; with ``None``, questions are text too.
    """
    if prompt.turns and template is not None:
        return template.write(prompt.turns[:1], [])
    return prompt.text
