// The six scenes of the article. Each has controls of its own and decodes in this tab; all share prompt, temperature and seed.
import { type Board, boardOfCorrection, boardOfRows, lawOf, throwFor } from "../darts/board";
import { make } from "../lib/dom";
import type { Draft, Token } from "../lib/tables";
import {
  action,
  button,
  choice,
  decode,
  drafted,
  drawStairs,
  emitted,
  inTurns,
  legend,
  percent,
  type Run,
  type Scene,
  show,
  slider,
  stairs,
  TURNS,
  tick,
  visible,
} from "./kit";
import { elsewhere } from "./law";

const WIDTHS = [1, 2, 4, 8, 16];
const TOKENS = 64;
const times = (x: number) => `${x.toFixed(2)} ×`;

/** A horizontal bar with its words. */
function bar(label: string, share: number, words: string, source = "target"): HTMLElement {
  const row = make("div", "bar");
  const fill = make("i");
  fill.style.width = `${Math.max(0.5, 100 * Math.min(1, share))}%`;
  fill.dataset.source = source;
  const track = make("span", "track");
  track.append(fill);
  row.append(make("span", "label", label), track, make("span", "words", words));
  return row;
}

/** One pass, many tokens: the time of a forward pass by the number of tokens that it checks. */
export function passes({ el, client, data }: Scene) {
  const out = make("div", "out");
  const model = choice(
    "Model",
    ["target", "small", "nano"].map((name) => [name, name]),
  );
  const measure = action("Measure in this tab", async (signal, say) => {
    const name = model.select.value;
    const found = await client.time(name, WIDTHS, { stage: (text) => say(text) }, signal);
    const [one] = Object.values(found);
    const native = data.native[name];
    const most = Math.max(...WIDTHS.map((m) => found[m] ?? 0));
    const rows = WIDTHS.map((m) =>
      bar(
        `${m}`,
        found[m] / most,
        `${found[m].toFixed(2)} ms, ${times(found[m] / one)} · native ${native[m].toFixed(2)} ms, ${times(native[m] / native[1])}`,
        name,
      ),
    );
    const gpu = data.gpu.milliseconds[name];
    const here = `Here, a pass over 8 tokens costs ${times(found[8] / one)} a pass over one; eight passes one after the other cost 8.00 ×.`;
    const there = `On ${data.gpu.words} the ratio is ${times(gpu[7] / gpu[0])} for ${data.gpu.models[name]} (predicted).`;
    const beside = "Native: hsd-viz on one thread of an AMD EPYC with AVX-512, measured on a quiet machine.";
    show(
      out,
      make("p", "head", "Tokens in one pass, its time, and its cost in passes over one token"),
      ...rows,
      make("p", "", `${here} ${there}`),
      make("p", "note", beside),
    );
  });
  el.append(row(model.box, measure.box), out);
}

function row(...parts: HTMLElement[]): HTMLElement {
  const box = make("div", "controls");
  box.append(...parts);
  return box;
}

/** Steps through the target rounds of a run. */
function stepper(changed: () => void) {
  let at = 0;
  let count = 0;
  const words = make("span", "status");
  const move = (by: number) => {
    at = Math.max(0, Math.min(count - 1, at + by));
    words.textContent = count ? `round ${at + 1} of ${count}` : "";
    changed();
  };
  const box = row(
    button("‹ Round", () => move(-1)),
    button("Round ›", () => move(1)),
    words,
  );
  box.setAttribute("role", "group");
  return {
    box,
    get at() {
      return at;
    },
    reset(rounds: number) {
      at = 0;
      count = rounds;
      move(0);
    },
  };
}

interface Round {
  id: number;
  drafts: Draft[];
  tokens: Token[];
  first: number;
}
const roundsOf = ({ store }: Run): Round[] =>
  [...store.order.keys()].map((id) => {
    const tokens = store.tokens.filter((token) => token.round === id);
    return { id, drafts: store.drafts.get(id) ?? [], tokens, first: tokens[0]?.index ?? 0 };
  });

/** The text before a round: the end of the prompt and what was emitted. */
function before(run: Run, round: Round): HTMLElement {
  const text = make("span", "before");
  text.append(
    run.store.prompt.slice(-60),
    ...run.store.tokens.slice(Math.max(0, round.first - 24), round.first).map(emitted),
  );
  return text;
}

/** Draft: what the drafter proposes, before anything is checked. Verify: what one pass of the target makes of it. */
export function draftAndVerify(scene: Scene, verify: HTMLElement) {
  const { el, data } = scene;
  const out = make("div", "out");
  const verdicts = make("div", "out");
  const race = make("div", "chart");
  const speeds = make("p");
  let run: Run | null = null;
  let rounds: Round[] = [];
  const steps = stepper(() => draw());
  const checks = stepper(() => draw());
  const drafter = choice("Drafter", [
    ["nano", "nano, a small model"],
    ["small", "small, a larger one"],
    ["db", "databases"],
  ]);
  const look = slider("Lookahead", 1, 12, 4);
  const stack = () =>
    drafter.select.value === "db" ? "db > target" : `${drafter.select.value}:${look.value()} > target`;

  function draw() {
    if (!run) return;
    const round = rounds[steps.at];
    const line = make("p", "text");
    line.append(before(run, round), ...round.drafts.map((draft) => drafted(draft, true)));
    const sure = round.drafts.filter(
      (d) => d.q !== null && d.key_length === null && run?.store.meta.sampling.temperature,
    );
    const words = round.drafts.length
      ? `${round.drafts.length} tokens proposed${sure.length ? `, the drafter's probability of each: ${sure.map((d) => percent(d.q ?? 0)).join(", ")}` : ""}. None is part of the text yet.`
      : `Nothing was proposed: ${run.store.rounds.get(round.id)?.why_no_draft}.`;
    show(
      out,
      line,
      make("p", "", words),
      legend(
        data,
        round.drafts.map((d) => d.source),
      ),
    );

    const checked = rounds[checks.at];
    const table = make("table");
    const head = make("tr");
    head.append(...["Draft token", "Target's p", "Test", "Verdict"].map((text) => make("th", "", text)));
    table.append(head);
    for (const draft of checked.drafts) {
      const line = make("tr");
      const cells = [
        make("td"),
        make("td", "", draft.p === null ? "–" : percent(draft.p)),
        make("td", "", testOf(draft)),
        make("td", "", draft.verdict === "unreached" ? "not examined" : draft.verdict),
      ];
      cells[0].append(drafted(draft));
      line.append(...cells);
      table.append(line);
    }
    const text = make("p", "text");
    text.append(before(run, checked), ...checked.tokens.map(emitted));
    const accepted = checked.tokens.filter((token) => token.kind === "accepted").length;
    const own = checked.tokens.find((token) => token.kind !== "accepted")?.kind;
    const gained = `One pass of the target over ${checked.drafts.length + 1} places: ${accepted} accepted${own ? `, and the target's own token (${own})` : ""}.`;
    show(verdicts, text, table, make("p", "", gained));
  }
  const start = action("Draft and verify 64 tokens", async (signal, say) => {
    const found = await decode(scene, stack(), TOKENS, signal, say);
    if (!found.store.tokens.length) return;
    run = found;
    verify.querySelector(".note")?.remove();
    rounds = roundsOf(found);
    steps.reset(rounds.length);
    checks.reset(rounds.length);
    const name = stack();
    const runs = await inTurns(scene, [name, "target"], TOKENS, signal, say);
    const [drafting, plain] = [runs.get(name) as Run, runs.get("target") as Run];
    drawStairs(race, [stairs(name, drafting.store), stairs("plain", plain.store)]);
    const [fast, slow] = [drafting, plain].map((one) => one.result.metrics.tokens_per_second ?? 0);
    const length = Number(drafting.result.metrics.mean_acceptance_length).toFixed(2);
    speeds.textContent = `A tread is the time of a round, a riser its tokens; the fastest of ${TURNS} runs each, in turns. ${name}: ${fast.toFixed(0)} tokens/s, plain decoding: ${slow.toFixed(0)} tokens/s, a speed-up of ${times(fast / slow)} in this tab; ${length} tokens per pass of the target.`;
  });
  el.append(row(drafter.box, look.box, start.box), steps.box, out);
  verify.append(checks.box, verdicts, race, speeds);
}

/** The acceptance test of a draft token, for reading. */
function testOf({ p, q, u, verdict }: Draft): string {
  if (verdict === "unreached") return "an earlier token was rejected";
  if (p === null) return "–";
  if (u === null)
    return verdict === "accepted" || verdict === "cut" ? "the target drew this token" : "the target drew another token";
  const [left, right] = [(u * (q ?? 0)).toFixed(3), p.toFixed(3)];
  return `u·q = ${left} ${verdict === "rejected" ? "≥" : "<"} p = ${right}`;
}

/** Why sampling stays exact: darts on the rows of a real correction. */
export function darts(scene: Scene) {
  const { el } = scene;
  const words = make("p");
  const out = make("div", "out");
  const lossy = tick("break the rule: after a rejection draw from p itself", false);
  let board: Board = boardOfRows([0.5, 0.3, 0.2], [0.2, 0.6, 0.2]);
  let names = ["a", "b", "c"];
  let counts = board.columns.map(() => 0);
  const draw = () => {
    const thrown = counts.reduce((sum, n) => sum + n, 0);
    const law = lawOf(board, lossy.input.checked);
    const most = Math.max(...board.columns.map((c) => c.accepted + Math.max(c.residual, c.surplus)), ...law);
    const rows = board.columns.map((c, k) => {
      const p = c.accepted + c.residual;
      const box = make("div", "dart");
      box.append(
        bar(names[k], (c.accepted + c.surplus) / most, `q = ${percent(c.accepted + c.surplus)}`, "small"),
        bar("", p / most, `p = ${percent(p)}`),
        bar("", thrown ? counts[k] / thrown / most : 0, thrown ? `thrown ${percent(counts[k] / thrown)}` : "", ""),
      );
      return box;
    });
    const gap = thrown
      ? Math.max(...counts.map((n, k) => Math.abs(n / thrown - board.columns[k].accepted - board.columns[k].residual)))
      : 0;
    const verdict = thrown
      ? `${thrown.toLocaleString("en")} darts. Largest distance from p: ${percent(gap)}.`
      : "No dart yet.";
    show(out, ...rows, make("p", "", verdict));
  };
  const reset = () => {
    counts = board.columns.map(() => 0);
    draw();
  };
  const shoot = (n: number) => {
    for (let k = 0; k < n; k++) {
      const last = throwFor(board, lossy.input.checked, Math.random).at(-1);
      if (last) counts[last.column]++;
    }
    draw();
  };
  lossy.input.addEventListener("change", reset);
  const take = action("Take a rejected token of a real run", async (signal, say) => {
    const hot = {
      ...scene,
      shared: { ...scene.shared, prompt: scene.shared.prompt, temperature: 1, seed: Math.floor(Math.random() * 1e6) },
    };
    const { store } = await decode(hot, "small:4 > target", TOKENS, signal, say);
    const found = store.tokens.flatMap((token) => {
      if (token.kind !== "correction") return [];
      const depth = store.tokens.filter((one) => one.round === token.round).length;
      const refused = (store.drafts.get(token.round) ?? []).filter(
        (d) => d.verdict === "rejected" && d.depth === depth,
      );
      const made = boardOfCorrection(token, refused, store.meta.sampling, false);
      return made ? [{ made, token, refused }] : [];
    });
    if (!found.length) throw new Error("No token was rejected in this run: try another prompt.");
    const { made, token, refused } = found[Math.floor(found.length / 2)];
    board = made;
    names = made.columns.map((c) => (c.id === null ? "all others" : visible(store.pieces[c.id] ?? String(c.id))));
    words.textContent = `small proposed “${visible(refused[0].text)}” (q = ${percent(refused[0].q ?? 0)}, p = ${percent(refused[0].p ?? 0)}); it was rejected, and the target drew “${visible(token.text)}” from the residual.`;
    reset();
  });
  words.textContent = "Three tokens with made-up probabilities. Take a real position with the button.";
  draw();
  el.append(
    row(take.box),
    words,
    row(
      button("Throw one", () => shoot(1)),
      button("Throw 1 000", () => shoot(1000)),
      button("Clear", reset),
      lossy.box,
    ),
    out,
  );
}

/** Copying from databases: which database supplied a token, and where it was copied from. */
export function databases(scene: Scene) {
  const { el, data } = scene;
  const out = make("div", "out");
  const ticks = ["context", "model", "statistics"].map((name) => tick(data.hues[name].label, true));
  const start = action("Decode with databases", async (signal, say) => {
    const names = ["context", "model", "statistics"].filter((_, k) => ticks[k].input.checked);
    if (!names.length) throw new Error("Choose at least one database.");
    const run = await decode(scene, `db[${names.join(",")}] > target`, 2 * TOKENS, signal, say);
    const { store, result } = run;
    const about = make("p", "about", "Select a token to see where it comes from.");
    const prompt = store.promptIds.map((id) => make("span", "token given", store.pieces[id]));
    const tokens = store.tokens.map((token) => {
      const node = emitted(token);
      const draft = store.ownDraft(token);
      node.tabIndex = 0;
      const select = () => {
        for (const other of [...prompt, ...tokens]) other.classList.remove("selected", "copied");
        node.classList.add("selected");
        if (!draft) about.textContent = `“${visible(token.text)}” is the target's own token.`;
        else {
          const [key, seen] = [draft.key_length ?? 0, draft.count ?? 0];
          const place = draft.position === null ? "" : ", copied from the marked place of this text";
          about.textContent = `“${visible(token.text)}”: ${data.hues[draft.source].label}, ${key} ${key === 1 ? "token" : "tokens"} before it matched, followed by it ${seen} ${seen === 1 ? "time" : "times"}${place}.`;
          if (draft.position !== null) [...prompt, ...tokens][draft.position]?.classList.add("copied");
        }
      };
      node.addEventListener("click", select);
      node.addEventListener("focus", select);
      return node;
    });
    const text = make("p", "text");
    text.append(...prompt, ...tokens);
    const counts = Object.entries(result.metrics.accepted_by_source as Record<string, number>);
    const copied = counts.reduce((sum, [, n]) => sum + n, 0);
    const words = `${copied} of ${store.tokens.length} tokens were copied (${counts.map(([name, n]) => `${data.hues[name].label} ${n}`).join(", ") || "none"}); finding them took ${(1e6 * Number(result.metrics.draft_seconds_per_round)).toFixed(0)} µs per round.`;
    show(
      out,
      about,
      text,
      legend(
        data,
        store.tokens.map((token) => token.source),
      ),
      make("p", "", words),
    );
  });
  el.append(row(...ticks.map((one) => one.box), start.box), out);
}

const RACERS: [stack: string, on: boolean][] = [
  ["db > target", true],
  ["small:4 > target", true],
  ["nano:4 > target", false],
  ["db > small:4 > target", true],
  ["nano:3 > small:6 > target", false],
  ["db > nano:4 > small:7 > target", false],
];

/** Hierarchies and when they pay: stacks on the same prompt in this tab, and the same rounds where verification is nearly free. */
export function hierarchies(scene: Scene) {
  const { el, data } = scene;
  const chart = make("div", "chart");
  const out = make("div", "out");
  const ticks = RACERS.map(([stack, on]) => tick(stack, on));
  const race = action("Race in this tab", async (signal, say) => {
    const stacks = RACERS.map(([stack]) => stack).filter((_, k) => ticks[k].input.checked);
    const runs = await inTurns(scene, [...stacks, "target"], TOKENS, signal, say, (found) =>
      drawStairs(
        chart,
        [...found].map(([stack, run]) => stairs(stack, run.store)),
      ),
    );
    const plain = runs.get("target") as Run;
    const speed = ({ result }: Run) => result.metrics.tokens_per_second ?? 0;
    const there = ({ store }: Run) => store.tokens.length / elsewhere(store.calls, data.gpu.milliseconds);
    const table = make("table");
    const head = make("tr");
    head.append(
      ...["Stack", "Tokens/s", "Speed-up here", "Speed-up there", "Tokens per target pass"].map((text) =>
        make("th", "", text),
      ),
    );
    table.append(head);
    for (const [stack, run] of runs) {
      const line = make("tr");
      const cells = [
        stack,
        speed(run).toFixed(0),
        times(speed(run) / speed(plain)),
        times(there(run) / there(plain)),
        Number(run.result.metrics.mean_acceptance_length).toFixed(2),
      ];
      line.append(...cells.map((text) => make("td", "", text)));
      table.append(line);
    }
    const models = Object.entries(data.gpu.models).map(([name, model]) => `${model} for ${name}`);
    const words = `Here: measured in this tab, the fastest of ${TURNS} runs each, in turns. There: the same forward passes at the predicted costs of ${data.gpu.words} (${models.join(", ")}), drafting from databases as measured here. Acceptance is that of the models of this tab; other models accept more or less.`;
    show(out, table, make("p", "note", words));
  });
  el.append(row(...ticks.map((one) => one.box), race.box), chart, out);
}
