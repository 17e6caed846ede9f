# /// script
# requires-python = ">=3.11"
# dependencies = ["hsd-viz>=1.0", "marimo>=0.25"]
# ///
"""One decode in marimo: uvx marimo edit --sandbox notebooks/first_steps_marimo.py"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import hsd_viz as hsd

    return hsd, mo


@app.cell
def _(mo):
    prompt = mo.ui.text_area("class Queue:", label="Prompt")
    stack = mo.ui.dropdown(
        ["db > target", "nano:4 > target", "db > nano:4 > target", "target"],
        value="db > target",
        label="Stack",
    )
    mo.vstack([mo.md("# One decode, token by token"), prompt, stack])
    return prompt, stack


@app.cell
def _(hsd, prompt, stack):
    trace = hsd.run(prompt.value, stack.value, max_new_tokens=48, temperature=0.7)
    return (trace,)


@app.cell
def _(hsd, mo, trace):
    text = hsd.views.TokenStream(trace, group="run")
    stairs = hsd.views.Staircase(group="run")
    mo.vstack([mo.ui.anywidget(stairs), mo.ui.anywidget(text)])
    return


@app.cell
def _(mo, trace):
    figures = trace.metrics()
    mo.md(
        f"**{figures['tokens']} tokens in {figures['target_forwards']} forward passes of the "
        f"target**: {figures['mean_acceptance_length']:.2f} per pass."
    )
    return


if __name__ == "__main__":
    app.run()
