// The block editor of a stack: the target at the top, its drafters below. An edit is shown at once and sent to
// Python, whose parser accepts or rejects it.

import type { PaletteData } from "../lib/contract";
import { focusable, followTheme, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Palette } from "../lib/palette";
import { paletteOf } from "../lib/palette";
import type { Drawing, Model } from "../lib/widget";
import { button, check, draggable, grip, menu } from "./fields";
import type { Bottom, Language, ModelPart, Part } from "./parts";
import {
  bottomOf,
  choices,
  draftsOf,
  itemsOf,
  modelsOf,
  once,
  shifted,
  spare,
  stepped,
  targetOf,
  withBottom,
  withChoice,
  withItems,
  withLookahead,
  withModel,
  withMoved,
  withName,
  withoutModel,
} from "./parts";

interface Traits {
  text: string;
  shown: string;
  parts: Part[];
  error: string;
  bottoms: Record<string, Language & { words: string }>;
  offered: string[];
  free: boolean;
  most: number;
  palette: PaletteData;
}
/** A block on the page: its element, its key, and what keys do to it. */
interface Block {
  li: HTMLElement;
  key: string;
  act: { up?: () => void; down?: () => void; drop?: () => void; longer?: (by: number) => void };
}

function blocksView({ model, root, palette }: { model: Model<Traits>; root: HTMLElement; palette: Palette }) {
  root.classList.add("hsd-blocks");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Stack as blocks");
  const list = make("ol", "hsd-blk-list");
  const add = make("div", "hsd-blk-add");
  add.setAttribute("role", "group");
  add.setAttribute("aria-label", "Add to the stack");
  const error = make("p", "hsd-blk-error");
  error.setAttribute("role", "status");
  const kept = make("p", "hsd-blk-kept");
  const live = make("p", "hsd-blk-live");
  live.setAttribute("aria-live", "polite");
  root.append(list, add, error, kept, live);

  const names = () => model.get("offered");
  const language = (name: string) => model.get("bottoms")[name];
  /** The drawn parts: Python's, or an edit without a reply yet. */
  let parts: Part[] = model.get("parts");

  function edit(next: Part[], words: string, focus: string = "") {
    parts = next;
    live.textContent = words;
    model.send({ kind: "edit", parts: next });
    paint(focus);
  }

  const family = (part: Part, target: boolean) =>
    target
      ? "target"
      : part.kind === "model"
        ? palette.family(part.name)
        : part.name === "db" || part.name === "auto"
          ? ""
          : "baseline";

  // --- blocks
  function modelBlock(part: ModelPart, k: number, target: boolean): Block {
    const drafts = draftsOf(parts);
    const key = `m:${part.name}`;
    const li = make("li", "hsd-blk");
    li.dataset.family = family(part, target);
    const head = make("div", "hsd-blk-head");
    const others = [part.name, ...spare(parts, names())].sort((a, b) => names().indexOf(a) - names().indexOf(b));
    const name =
      others.length > 1
        ? menu(
            `${key}:name`,
            target ? "Target model" : "Draft model",
            others.map((n): [string, string] => [n, n]),
            part.name,
            (to) => edit(withName(parts, k, to), `${part.name} is now ${to}`, `m:${to}:name`),
          )
        : make("span", "hsd-blk-name", part.name);
    head.append(
      make("span", "hsd-blk-swatch"),
      name,
      make("span", "hsd-blk-role", target ? "target model" : "draft model"),
    );
    li.append(head);
    if (target) return { li, key, act: {} };

    const move = (by: number) => {
      if (!drafts[k + by]) return;
      edit(
        withMoved(parts, k, k + by),
        `${part.name} ${by > 0 ? "verifies" : "drafts for"} ${drafts[k + by].name}`,
        key,
      );
    };
    const drop = () =>
      edit(
        withoutModel(parts, k),
        `${part.name} removed`,
        k > 0 ? `m:${drafts[k - 1].name}` : `m:${targetOf(parts).name}`,
      );
    const set = (value: number | null, focus: string) =>
      edit(
        withLookahead(parts, k, value, model.get("most")),
        `lookahead of ${part.name}: ${value ?? "automatic"}`,
        focus,
      );
    const tools = make("span", "hsd-blk-tools");
    if (drafts.length > 1) {
      const up = button(`${key}:up`, "↑", `Move ${part.name} up`, () => move(1));
      const down = button(`${key}:down`, "↓", `Move ${part.name} down`, () => move(-1));
      up.disabled = k === drafts.length - 1;
      down.disabled = k === 0;
      tools.append(up, down);
      head.prepend(grip(`Drag to move ${part.name}`));
    }
    tools.append(button(`${key}:out`, "✕", `Remove ${part.name}`, once(drop)));
    head.append(tools);

    const line = make("div", "hsd-blk-line");
    const field = make("input", "hsd-blk-number");
    field.type = "number";
    field.min = "1";
    field.max = String(model.get("most"));
    field.dataset.key = `${key}:lookahead`;
    field.value = String(part.lookahead ?? "");
    field.placeholder = "–";
    field.setAttribute("aria-label", `Lookahead of ${part.name}: minimum proposed tokens`);
    field.addEventListener("change", () => {
      const value = field.value.trim() === "" ? null : Number(field.value);
      set(Number.isFinite(value) ? value : null, `${key}:lookahead`);
    });
    const less = button(`${key}:less`, "−", `Decrease lookahead of ${part.name}`, () =>
      set(stepped(part.lookahead, -1), `${key}:less`),
    );
    const more = button(`${key}:more`, "+", `Increase lookahead of ${part.name}`, () =>
      set(stepped(part.lookahead, 1), `${key}:more`),
    );
    less.disabled = part.lookahead === 1;
    more.disabled = part.lookahead === model.get("most");
    const stepper = make("span", "hsd-blk-stepper");
    stepper.append(less, field, more);
    line.append(
      stepper,
      make(
        "span",
        "hsd-blk-words",
        part.lookahead === null
          ? "lookahead: automatic (calibrated, else 4)"
          : `${part.lookahead === 1 ? "token" : "tokens"} of lookahead`,
      ),
    );
    li.append(line);
    return {
      li,
      key,
      act: { up: () => move(1), down: () => move(-1), drop, longer: (by) => set(stepped(part.lookahead, by), key) },
    };
  }

  function bottomBlock(part: Bottom): Block {
    const li = make("li", "hsd-blk");
    li.dataset.family = family(part, false);
    const head = make("div", "hsd-blk-head");
    const kinds = Object.keys(model.get("bottoms")).map((name): [string, string] => [name, name]);
    const drop = () => edit(withBottom(parts, null), `${part.name} removed`, `m:${modelsOf(parts)[0].name}`);
    const tools = make("span", "hsd-blk-tools");
    tools.append(button("b:out", "✕", `Remove ${part.name}`, once(drop)));
    head.append(
      make("span", "hsd-blk-swatch"),
      menu("b:name", "Draft source", kinds, part.name, (to) =>
        edit(withBottom(parts, to), `${to} is the draft source`, "b:name"),
      ),
      make("span", "hsd-blk-role", language(part.name).words),
      tools,
    );
    li.append(head);
    if (part.name === "auto") li.append(choiceList(part));
    else itemList(part, li);
    return { li, key: "b", act: { drop } };
  }
  function choiceList(part: Bottom) {
    const box = make("div", "hsd-blk-choices");
    const all = choices(parts, names());
    const now = part.items.length ? part.items : all;
    for (const name of all) {
      const wrap = check(`c:${name}`, name, now.includes(name), () =>
        edit(
          withChoice(parts, name, names()),
          `auto: ${name} ${now.includes(name) ? "excluded" : "included"}`,
          `c:${name}`,
        ),
      );
      // Empty brackets are invalid.
      if (now.length === 1 && now[0] === name) (wrap.querySelector("input") as HTMLInputElement).disabled = true;
      wrap.dataset.family = name === "db" ? "" : palette.family(name);
      box.append(wrap);
    }
    return box;
  }
  function itemList(part: Bottom, li: HTMLElement) {
    const spoken = language(part.name);
    const { databases, on } = itemsOf(part, spoken);
    const put = (next: string[], words: string, focus: string) =>
      edit(withItems(parts, next, on, spoken), words, focus);
    if (spoken.databases.length) {
      const ol = make("ol", "hsd-blk-items");
      ol.setAttribute("aria-label", "Databases in order of use");
      const rows: HTMLElement[] = [];
      databases.forEach((name, i) => {
        const row = make("li", "hsd-blk-item");
        row.dataset.family = palette.family(name);
        const go = (by: number) =>
          put(
            shifted(databases, i, i + by),
            `${name} is at position ${i + by + 1}`,
            `d:${name}:${by < 0 ? "up" : "down"}`,
          );
        const tools = make("span", "hsd-blk-tools");
        if (databases.length > 1) {
          const up = button(`d:${name}:up`, "↑", `Move ${name} up`, () => go(-1));
          const down = button(`d:${name}:down`, "↓", `Move ${name} down`, () => go(1));
          up.disabled = i === 0;
          down.disabled = i === databases.length - 1;
          tools.append(
            up,
            down,
            button(
              `d:${name}:out`,
              "✕",
              `Remove ${name}`,
              once(() =>
                put(
                  databases.filter((d) => d !== name),
                  `${name} removed`,
                  `d:${databases[i ? i - 1 : 1]}:out`,
                ),
              ),
            ),
          );
          const handle = grip(`Drag to move ${name}`);
          row.append(handle);
          draggable(handle, row, rows, (from, to) =>
            put(shifted(databases, from, to), `${name} is at position ${to + 1}`, `d:${name}:up`),
          );
        }
        row.append(
          make("span", "hsd-blk-place", String(i + 1)),
          make("span", "hsd-blk-swatch"),
          make("span", "hsd-blk-item-name", name),
          tools,
        );
        rows.push(row);
        ol.append(row);
      });
      li.append(ol);
      const left = spoken.databases.filter((d) => !databases.includes(d));
      if (left.length) {
        const chips = make("div", "hsd-blk-chips");
        for (const name of left) {
          const chip = button(
            `d:${name}:in`,
            `+ ${name}`,
            `Add ${name}`,
            () => put([...databases, name], `${name} added`, `d:${name}:out`),
            "hsd-blk-chip",
          );
          chip.dataset.family = palette.family(name);
          chips.append(chip);
        }
        li.append(chips);
      }
    }
    for (const [name, words] of Object.entries(spoken.options)) {
      const is = on.includes(name);
      li.append(
        check(`o:${name}`, words, is, () => {
          // Explicit databases stay explicit; the default ones are implied.
          edit(
            withItems(parts, databases, is ? on.filter((o) => o !== name) : [...on, name], spoken),
            `${name} is ${is ? "off" : "on"}`,
            `o:${name}`,
          );
        }),
      );
    }
  }

  // --- the whole editor
  function paint(focus: string = "") {
    const active = document.activeElement as HTMLElement | null;
    const had = focus || (active && root.contains(active) ? active.dataset.key || "" : "");
    const models = modelsOf(parts);
    const blocks = models.map((m, k) => modelBlock(m, k, k === models.length - 1));
    const bottom = bottomOf(parts);
    if (bottom) blocks.unshift(bottomBlock(bottom));
    blocks.reverse(); // the target is at the top of the page
    const rows = blocks.map((b) => b.li);
    const draftRows = rows.slice(1, models.length);
    blocks.forEach(({ li, key, act }, i) => {
      li.dataset.key = key;
      focusable(li);
      const part = key === "b" ? bottom : models.find((m) => `m:${m.name}` === key);
      const own = part?.name ?? "";
      const lookahead = part?.kind === "model" ? part.lookahead : null;
      const next = blocks[i - 1];
      const above = next ? models.find((m) => `m:${m.name}` === next.key)?.name : "";
      li.setAttribute(
        "aria-label",
        i === 0 ? `${own}, the target` : `${own}${lookahead ? `, lookahead ${lookahead}` : ""}, drafts for ${above}`,
      );
      const handle = li.querySelector(":scope > .hsd-blk-head > .hsd-blk-grip") as HTMLElement | null;
      // The highest draft model is first on the page and last in the text.
      const place = (row: number) => draftRows.length - 1 - row;
      if (handle)
        draggable(handle, li, draftRows, (from, to) =>
          edit(withMoved(parts, place(from), place(to)), `${own} moved`, key),
        );
      li.addEventListener("keydown", (e) => {
        if (e.target !== li || e.ctrlKey || e.metaKey) return;
        const keys: Record<string, (() => void) | undefined> = e.altKey
          ? { ArrowUp: act.up, ArrowDown: act.down }
          : {
              ArrowUp: () => rows[i - 1]?.focus(),
              ArrowDown: () => rows[i + 1]?.focus(),
              Delete: act.drop,
              Backspace: act.drop,
              "+": act.longer && (() => act.longer?.(1)),
              "=": act.longer && (() => act.longer?.(1)),
              "-": act.longer && (() => act.longer?.(-1)),
            };
        if (!Object.hasOwn(keys, e.key)) return;
        keys[e.key]?.();
        e.preventDefault();
        e.stopPropagation();
      });
    });
    list.replaceChildren(...rows);
    drawAdd();
    drawError();
    if (had)
      (
        ([...root.querySelectorAll<HTMLElement>("[data-key]")].find(
          (n) => n.dataset.key === had && !(n as HTMLButtonElement).disabled,
        ) ??
          [...root.querySelectorAll<HTMLElement>("[data-key]")].find((n) => had.startsWith(`${n.dataset.key}:`)) ??
          rows[0]) as HTMLElement | null
      )?.focus({ preventScroll: true });
  }
  function drawAdd() {
    add.replaceChildren();
    const bottom = bottomOf(parts);
    if (bottom?.name !== "auto") {
      for (const name of spare(parts, names())) {
        const chip = button(
          `a:${name}`,
          `+ ${name}`,
          `Add ${name} as a draft model`,
          () => edit(withModel(parts, name, names()), `${name} added`, `m:${name}`),
          "hsd-blk-chip",
        );
        chip.dataset.family = palette.family(name);
        add.append(chip);
      }
      if (model.get("free")) add.append(anyModel());
    }
    if (!bottom) {
      add.append(
        button(
          "a:db",
          "+ databases",
          "Add databases as draft source",
          () => edit(withBottom(parts, "db"), "databases added", "b"),
          "hsd-blk-chip",
        ),
      );
      add.append(
        button(
          "a:auto",
          "+ auto",
          "Add auto as draft source",
          () => edit(withBottom(parts, "auto"), "auto added", "b"),
          "hsd-blk-chip",
        ),
      );
    }
    add.hidden = !add.children.length;
  }
  let typed = "";
  function anyModel() {
    const form = make("form", "hsd-blk-any");
    const field = make("input");
    field.placeholder = "hub id or path";
    field.value = typed;
    field.dataset.key = "a:any";
    field.setAttribute("aria-label", "Model: hub id or path");
    field.addEventListener("input", () => {
      typed = field.value;
    });
    const go = button("a:any:go", "+ model", "Add as a draft model", () => {}, "hsd-blk-chip");
    go.type = "submit";
    form.append(field, go);
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const name = typed.trim();
      if (!name) return;
      typed = "";
      edit(withModel(parts, name, names()), `${name} added`, `m:${name}`);
    });
    return form;
  }
  function drawError() {
    const words = model.get("error");
    error.textContent = words ? `${words[0].toUpperCase()}${words.slice(1)}.`.replace(/\.\.$/, ".") : "";
    error.hidden = !words;
    const behind = Boolean(words) && model.get("text").trim() !== model.get("shown");
    kept.textContent = behind ? `Last valid stack: ${model.get("shown")}` : "";
    kept.hidden = !behind;
    root.classList.toggle("hsd-blk-behind", behind);
  }
  const take = () => {
    parts = model.get("parts");
    paint();
  };
  const refused = (message: { kind: string }) => {
    if (message.kind === "refused") take();
  };
  model.on("change:parts change:offered change:bottoms", take);
  model.on("change:error change:text change:shown", drawError);
  model.on("msg:custom", refused);
  paint();
  return () => {
    model.off("change:parts change:offered change:bottoms", take);
    model.off("change:error change:text change:shown", drawError);
    model.off("msg:custom", refused);
  };
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("div", "hsd-linked");
  const palette = paletteOf(model.get("palette"));
  palette.paint(root);
  el.append(root);
  const unfollow = followTheme(root, { behind: "--backdrop" });
  const end = blocksView({ model, root, palette });
  return () => {
    end();
    unfollow();
    root.remove();
  };
}

export default { render: guarded(render) };
