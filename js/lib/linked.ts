// Shared by linked views: text, colours by source, and groups. A group is one run (its store) and one cursor, identified by name.
//
//   hsdGroup(name) -> group
//     store      the run (linked_run.js)
//     cursor     {token, round, inner, step, pinned, hover, lit, shown, playing, speed}; replaced, never changed
//                  token    index of the token under the cursor, -1: none      round   target round id, null: none
//                  step     event under the cursor, -1: none                   pinned  whether it stays when the pointer leaves
//                  inner    the selected round of a lower level within it, or null
//                  hover    {token, round, step} under the pointer, or null; equals the cursor unless something is pinned or played
//                  lit      {position, reveal}: a highlighted text position (0: first prompt token), or null
//                  shown    tokens emitted at the cursor while the run is played or scrubbed; null: the whole text counts
//     listeners  Set of (cursor, previous cursor) => void, called after every change
//     hover(where | null), pin(where | null), go(where)        where is {step} or {token} or {round} (of any level)
//     light(position | null, reveal)                           reveal: scroll to it
//     move(±n events), round(±1), token(±1), release()         release is Esc: unpins, stops playing, shows the whole text
//     follow(), scrub(step), play(), pause(), pace(speed)      following, the text counts up to the cursor; speed: events/s, or "recorded"
//     keydown(event) -> whether it was handled: ← → event, with Shift round; , . token; Home End; Enter pins; Esc; Space plays
//
//   export default linkedWidget((view) => { …; return cleanup; })
//     view: {model, root, group, store, palette}; root is attached, with class hsd-linked, colours, theme and keys.
//
// Model output is only set by textContent; no requests.
import { advance, createStore, lasts } from "./run";
import { followTheme, make } from "./dom";

// --- text

export const KIND_WORDS = {
  accepted: "accepted draft token",
  correction: "correction by the target",
  bonus: "bonus token",
  plain: "plain token",
};
export const VERDICT_MARKS = { accepted: "✓", rejected: "✗", unreached: "·", cut: "✂" };
export const WHY = {
  "no match": "no database matched",
  "not worth it": "the expected gain was below the verification cost",
  "no room": "no room for a draft",
  off: "drafting is off",
};

// Invisible characters, bidirectional controls and lone surrogates are shown as code points.
export const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;
export const codePoint = (c: string) => `‹U+${(c.codePointAt(0) || 0).toString(16).toUpperCase().padStart(4, "0")}›`;
export const visible = (s: string) => s.replace(HIDDEN, codePoint);
/** One line with glyphs for blanks: for drafts and cards. */
export const glyphs = (s: string) => visible(s).replace(/ /g, "␣").replace(/\t/g, "⇥").replace(/\n/g, "↵");
/** The same with collapsed indentation: for rejected drafts. */
export const brief = (s: string) =>
  visible(s)
    .replace(/\n/g, "↵")
    .replace(/[ \t]{2,}/g, "␣");

/** Format a number; 0 and 1 stay whole. */
export const figure = (x: any) => {
  if (x === null || x === undefined) return "–";
  if (x === 0 || x === 1) return String(x);
  return Math.abs(x) >= 0.001 ? x.toFixed(3) : x.toExponential(1);
};
/** Format nanoseconds: 12.3 ms, 45 µs. */
export const duration = (ns: number | null | undefined) => {
  if (ns === null || ns === undefined) return "–";
  const digits = (v: number) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));
  return ns >= 1e9 ? `${digits(ns / 1e9)} s` : ns >= 1e6 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e3)} µs`;
};
export const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

// --- colours and theme

/** Sources in a view's `palette`: family(source) is the colour key (data-family), words and phrase are labels. */
export function paletteOf(palette) {
  const family = (s: string) =>
    s in palette.hues && s !== "draft" && s !== "baseline" ? s : palette.baselines.includes(s) ? "baseline" : "draft";
  return {
    family,
    /** nano, draft model */
    words(s: string) {
      const f = family(s);
      return f === "draft" ? `${s}, draft model` : f === "baseline" ? `${s}, baseline` : palette.hues[f].label;
    },
    /** the draft model nano: within a sentence */
    phrase(s: string) {
      const f = family(s);
      return f === "target"
        ? "the target"
        : f === "baseline"
          ? `the baseline ${s}`
          : palette.databases.includes(s)
            ? `the ${palette.hues[f].label}`
            : `the draft model ${s}`;
    },
    paint(root: HTMLElement) {
      for (const [name, hue] of Object.entries(palette.hues)) {
        root.style.setProperty(`--hsd-${name}-light`, hue.light);
        root.style.setProperty(`--hsd-${name}-dark`, hue.dark);
      }
    },
  };
}

/** An event (linked_run.js) as a sentence. */
export function eventWords(store, palette, step) {
  const e = store.index().events[step];
  const drafts = store.drafts.get(e.round) || [];
  const token = store.tokens[e.token];
  if (e.kind === "draft") {
    const by = [...new Set(drafts.map((d) => d.source))].map(palette.phrase);
    const words = by.length > 1 ? `${by.slice(0, -1).join(", ")} and ${by[by.length - 1]}` : by[0];
    return `${plural(drafts.length, "draft token")} proposed by ${words}`;
  }
  if (e.kind === "verdict") {
    const d = e.draft;
    return `“${glyphs(d ? d.text : token.text)}”, drafted by ${palette.phrase(d ? d.source : token.source)}, is ${d ? d.verdict : "accepted"}`;
  }
  const how = { correction: "correction", bonus: "bonus token after a fully accepted draft", plain: "no draft" }[
    token.kind
  ];
  return `The target adds “${glyphs(token.text)}”: ${how}`;
}

// --- groups

const NOWHERE = Object.freeze({
  token: -1,
  round: null,
  inner: null,
  step: -1,
  pinned: false,
  hover: null,
  lit: null,
  shown: null,
  playing: false,
  speed: 4,
});

export function createGroup() {
  const store = createStore();
  const at: { hover: any; key: any; pin: any } = { hover: null, key: null, pin: null };
  let lit: any = null;
  let run = store.run;
  let playing = false;
  let following = false;
  let speed: any = NOWHERE.speed;
  let timer: any = 0;

  function resolve(where) {
    if (!where) return null;
    const { events, rounds, placeOf, stepOf } = store.index();
    let step = where.step;
    if (step === undefined && where.token !== undefined) step = stepOf[where.token];
    if (step === undefined && where.round !== undefined) step = rounds[placeOf.get(store.topRound(where.round))]?.begin;
    const event = events[step];
    if (!event) return null;
    const inner = where.round !== undefined && where.round !== event.round ? where.round : null;
    return { step, token: event.token, round: event.round, inner };
  }
  function tell() {
    const here = at.pin || (playing ? at.key : at.hover || at.key) || NOWHERE;
    const mark = at.pin || at.key;
    const shown = following && mark ? store.index().events[mark.step].shown : null;
    const before = group.cursor;
    const next = {
      token: here.token,
      round: here.round,
      inner: here.inner,
      step: here.step,
      pinned: Boolean(at.pin),
      hover: at.hover,
      lit,
      shown,
      playing,
      speed,
    };
    if (Object.keys(next).every((k) => next[k] === before[k])) return;
    group.cursor = Object.freeze(next);
    for (const f of [...group.listeners]) f(group.cursor, before);
  }
  /** The event that keys start from, ignoring hover. */
  const base = () => (at.pin || at.key)?.step ?? -1;
  const last = () => store.index().events.length - 1;
  const same = (a, b) => a === b || (a && b && a.step === b.step && a.inner === b.inner);

  const group = {
    store,
    cursor: NOWHERE,
    listeners: new Set() as Set<(cursor: any, before: any) => void>,
    hover(where) {
      const place = resolve(where);
      if (same(place, at.hover)) return;
      at.hover = place;
      tell();
    },
    pin(where) {
      const place = resolve(where);
      if (where && !place) return;
      at.pin = place;
      if (place) at.key = place;
      tell();
    },
    go(where) {
      const place = resolve(where);
      if (!place) return;
      at.key = place;
      at.hover = null;
      if (at.pin) at.pin = place;
      tell();
    },
    light(position, reveal = false) {
      if (!reveal && position === (lit ? lit.position : null)) return;
      lit = position === null ? null : Object.freeze({ position, reveal });
      tell();
    },
    move(by) {
      group.go({ step: Math.max(0, Math.min(last(), base() + by)) });
    },
    round(by) {
      const { events, rounds, placeOf } = store.index();
      const step = base();
      if (step < 0) return group.move(1);
      const place = placeOf.get(events[step].round);
      // Back first goes to the start of the current round.
      const next = by > 0 ? place + 1 : step > rounds[place].begin ? place : place - 1;
      if (rounds[next]) group.go({ step: rounds[next].begin });
    },
    token(by) {
      const { events, stepOf } = store.index();
      const event = events[base()];
      if (!event) return group.move(1);
      const emitted = stepOf[event.shown - 1] === base();
      group.go({ step: stepOf[by > 0 ? event.shown : event.shown - (emitted ? 2 : 1)] });
    },
    release() {
      const held = at.pin || at.hover || following;
      at.pin = at.hover = null;
      following = false;
      group.pause();
      tell();
      return Boolean(held);
    },
    follow() {
      following = true;
      tell();
    },
    scrub(step) {
      following = true;
      group.go({ step: Math.max(0, Math.min(last(), step)) });
    },
    play() {
      if (playing || last() < 0) return;
      playing = following = true;
      const here = base();
      group.go({ step: here < 0 || here >= last() ? 0 : here });
      tell();
      let before = performance.now();
      let left = 0;
      const tick = () => {
        const now = performance.now();
        // After a hidden page is shown again, playing resumes where it was.
        const [step, rest] = advance(store, base(), left + Math.min(now - before, 1000), speed);
        before = now;
        left = rest;
        if (step !== base()) group.go({ step });
        if (step >= last()) group.pause();
        else timer = setTimeout(tick, Math.max(16, Math.min(200, lasts(store, step, speed) - left)));
      };
      timer = setTimeout(tick, 0);
    },
    pause() {
      clearTimeout(timer);
      playing = false;
      tell();
    },
    pace(value) {
      speed = value;
      tell();
    },
    keydown(event) {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
      const keys = {
        ArrowRight: () => (event.shiftKey ? group.round(1) : group.move(1)),
        ArrowLeft: () => (event.shiftKey ? group.round(-1) : group.move(-1)),
        ".": () => group.token(1),
        ",": () => group.token(-1),
        Home: () => group.go({ step: 0 }),
        End: () => group.go({ step: last() }),
        Enter: () => {
          if (base() >= 0) group.pin({ step: base() });
        },
        " ": () => (playing ? group.pause() : group.play()),
        Escape: () => group.release(),
      };
      if (!Object.hasOwn(keys, event.key)) return false;
      // Fields handle their own keys; Enter and Space activate buttons.
      const own =
        event.key === "Enter" || event.key === " "
          ? "button, input, select, textarea, summary, a"
          : "input, select, textarea";
      if (event.key !== "Escape" && event.target.closest?.(own)) return false;
      keys[event.key]();
      event.preventDefault();
      event.stopPropagation();
      return true;
    },
    /** Add a view's model, which may publish the run. Returns a function that removes it. */
    join(model) {
      const adopt = () => store.adopt(model.get("data"));
      const receive = (message) => {
        if (!store.receive(message)) model.send({ kind: "sync" });
      };
      adopt();
      model.on("change:data", adopt);
      model.on("msg:custom", receive);
      return () => {
        model.off("change:data", adopt);
        model.off("msg:custom", receive);
      };
    },
  };
  store.listeners.add((what) => {
    if (what !== "reset") return;
    // A more complete copy of the same run keeps the cursor; another run resets it.
    const keep = store.run === run;
    run = store.run;
    if (!keep) {
      following = playing = false;
      clearTimeout(timer);
    }
    if (!keep) lit = null;
    for (const k of ["hover", "key", "pin"]) at[k] = keep && at[k] ? resolve({ step: at[k].step }) : null;
    tell();
  });
  return group;
}

/** The group of this name (empty: a new group), stored on the page because every linked view loads this script. */
export function hsdGroup(name: string | undefined) {
  const groups: Map<string, ReturnType<typeof createGroup>> = (globalThis[Symbol.for("hsd_viz.groups.1")] ??=
    new Map());
  if (!name) return createGroup();
  if (!groups.has(name)) groups.set(name, createGroup());
  return groups.get(name) as ReturnType<typeof createGroup>;
}

/** The anywidget of a linked view. `create` draws it and returns a cleanup function. */
export function linkedWidget(create: (view: any) => (() => void) | void) {
  return () => {
    let group: any;
    let leave = () => {};
    return {
      initialize({ model }) {
        const join = () => {
          leave();
          group = hsdGroup(model.get("group"));
          leave = group.join(model);
        };
        join();
        model.on("change:group", join);
        return () => {
          model.off("change:group", join);
          leave();
        };
      },
      render({ model, el }) {
        let close = () => {};
        const open = () => {
          close();
          const root = make("div", "hsd-linked");
          const palette = paletteOf(model.get("palette"));
          palette.paint(root);
          const tell = (dark, paper) => {
            // Only views drawn by Python have a theme trait; it ignores printing.
            if (paper || model.get("dark") === undefined || model.get("dark") === dark) return;
            model.set("dark", dark);
            model.save_changes();
          };
          const unfollow = followTheme(root, { behind: "--backdrop", changed: tell });
          el.append(root);
          const view = group; // its model may be in another group when this view closes
          const keydown = (event) => view.keydown(event);
          root.addEventListener("keydown", keydown);
          const end = create({ model, root, group, store: group.store, palette });
          close = () => {
            end?.();
            unfollow();
            root.remove();
          };
        };
        open();
        model.on("change:group", open);
        return () => {
          model.off("change:group", open);
          close();
        };
      },
    };
  };
}
