"""Check the sizes of a model's form before they are used."""

from __future__ import annotations

from hsd_viz.errors import BadFile
from hsd_viz.models.form import LlamaForm
from hsd_viz.settings.ranges import MAX_SIZE

#: The largest plausible values in a form.
MAX_LAYERS = 10_000
MAX_HEADS = 65_536
MAX_FACTOR = 1e6
MAX_THETA = 1e12


def check_form(name: str, form: LlamaForm) -> None:
    """Check that the sizes of a form are plausible and consistent.

    Args:
        name: the name of the model, for error messages.
        form: the form of the model.

    Raises:
        BadFile: if a size is not plausible or not consistent with another.
    """
    _check_size(name, "number of layers", form.layers, MAX_LAYERS)
    _check_size(name, "width", form.width, MAX_SIZE)
    _check_size(name, "inner size", form.inner, MAX_SIZE)
    _check_size(name, "number of heads", form.heads, MAX_HEADS)
    _check_size(name, "number of key-value heads", form.kv_heads, MAX_HEADS)
    _check_size(name, "size of a head", form.head_dim, MAX_SIZE)
    _check_size(name, "vocabulary", form.vocabulary, MAX_SIZE)
    if form.head_rows is not None:
        _check_size(name, "reduced head", form.head_rows, form.vocabulary)
        if form.tied_head:
            raise BadFile(f"{name}: a reduced head cannot be the embedding (tie_word_embeddings)")
    _check_size(name, "context length", form.positions, 1_000 * MAX_SIZE)
    if form.heads % form.kv_heads:
        raise BadFile(
            f"{name}: {form.heads} heads cannot share {form.kv_heads} key-value heads equally"
        )
    if form.head_dim % 2:
        raise BadFile(f"{name}: the size of a head is {form.head_dim}, expected an even number")
    if not 0 <= form.epsilon < 1:
        raise BadFile(f"{name}: the epsilon of its norms is {form.epsilon}, expected 0 to 1")
    rotary = form.rotary
    if not 1 <= rotary.theta <= MAX_THETA:
        raise BadFile(f"{name}: its rotary base is {rotary.theta}, expected 1 to {MAX_THETA:g}")
    if not 0 < rotary.factor <= MAX_FACTOR:
        raise BadFile(f"{name}: its rotary factor is {rotary.factor}, expected 0 to 1e6")


def _check_size(name: str, what: str, value: int, maximum: int) -> None:
    if not 1 <= value <= maximum:
        raise BadFile(f"{name}: its {what} is {value}, expected 1 to {maximum}")
