// What tools/measure_page asks of the page it measures. Runs before the page's own scripts; times are performance.now(), ms from navigation.

(() => {
  const seen = {}; // when something was first painted
  const traffic = []; // [arrival, bytes, sent?, data] of each websocket message
  globalThis.hsdMeasure = { seen, traffic };

  class Watched extends WebSocket {
    constructor(...all) {
      super(...all);
      this.addEventListener("message", (e) => traffic.push([performance.now(), sizeOf(e.data), false, e.data]));
    }
    send(data) {
      traffic.push([performance.now(), sizeOf(data), true, null]);
      super.send(data);
    }
  }
  const sizeOf = (data) => (typeof data === "string" ? new TextEncoder().encode(data).length : data.byteLength ?? data.size);
  globalThis.WebSocket = Watched;

  // --- painted: callbacks queued before or during a frame get the time at which it was painted
  let waiting = [];
  let made = [];
  let inFrame = false;
  const after = new MessageChannel();
  after.port1.onmessage = () => {
    inFrame = false;
    const now = performance.now();
    const all = made;
    made = [];
    for (const tell of all) tell(now);
  };
  const beats = new Set();
  const tick = () => {
    inFrame = true;
    for (const beat of beats) beat();
    made.push(...waiting);
    waiting = [];
    after.port2.postMessage(0);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  const painted = (tell) => (inFrame ? made : waiting).push(tell);

  // --- arrival: when elements first appear on the page
  const shown = (selector) => [...document.querySelectorAll(selector)].some((node) => node.getBoundingClientRect().height > 0);
  const firsts = {
    "the trace": ".hsd-out .hsd-tok",
    "the staircase": ".hsd-player-bar .hsd-stairs-end",
    "the first tab": ".hsd-tiles",
  };
  const arrive = () => {
    for (const [name, selector] of Object.entries(firsts)) {
      if (name in seen || !document.body || !shown(selector)) continue;
      seen[name] = null;
      painted((now) => { seen[name] = now; });
    }
    if (Object.keys(firsts).every((name) => name in seen)) beats.delete(arrive);
  };
  beats.add(arrive);
  hsdMeasure.whole = () => Object.keys(firsts).every((name) => name in seen);

  // --- opening a file: from its reading to the painted frame that has the last of its tokens
  const { arrayBuffer } = Blob.prototype;
  let began = 0;
  Blob.prototype.arrayBuffer = function () {
    began = performance.now();
    return arrayBuffer.call(this);
  };
  /** Wait for a run of so many tokens, whose nodes are new; `took`: ms, 0 until it is painted. */
  hsdMeasure.open = (tokens) => {
    const out = document.querySelector(".hsd-out");
    const last = () => out.querySelector(`.hsd-tok[data-i="${tokens - 1}"]`);
    const before = last();
    hsdMeasure.took = 0;
    const observer = new MutationObserver(() => {
      if ((last() ?? before) === before) return;
      observer.disconnect();
      painted((now) => { hsdMeasure.took = now - began; });
    });
    observer.observe(out, { childList: true, subtree: true });
  };

  // --- keys: from the key to the painted frame in which each view shows the cursor
  const views = {
    "token stream": (at) => document.querySelector(".hsd-out [aria-selected=true]")?.dataset.i === String(at.token),
    staircase: (at) => document.querySelector(".hsd-player-place")?.textContent.includes(`event ${at.step + 1} of `),
    scene: (at) => document.querySelector(".hsd-sc-title")?.textContent.startsWith(`Round ${at.number} of `)
      && (at.node === null || document.querySelector(".hsd-sc-stage .hsd-on")?.getAttribute("aria-selected") === "true"),
    timeline: (at) => document.querySelector(".hsd-tl-readout")?.textContent.startsWith(`Round ${at.number}:`) && document.querySelector(".hsd-tl-here"),
  };
  /** The group of the run on the page: it knows where the cursor is the moment the key is handled. */
  function groupOf(tokens) {
    for (const group of hsdMeasure.groups.values()) if (group.store.tokens.length === tokens) return group;
    throw new Error(`no run of ${tokens} tokens is on the page`);
  }
  /** Listen to keys; `names`: the views that are on the page. */
  hsdMeasure.listen = (tokens, names) => {
    const group = groupOf(tokens);
    /** @type {any} */ let key = null;
    const onKey = (e) => { key = { begun: e.timeStamp, at: null, ms: {}, open: new Set(), wanted: 0 }; };
    const onCursor = (cursor) => {
      if (!key || key.at) return;
      const event = group.store.index().events[cursor.step];
      // The proposal of a draft selects no chip.
      const node = event.kind === "draft" ? null : true;
      key.at = { step: cursor.step, token: cursor.token, number: group.store.order.get(cursor.round), node };
      // A view that shows this already, as the timeline where the round stays the same, has nothing to do.
      key.open = new Set(names.filter((name) => !views[name](key.at)));
      key.wanted = key.open.size;
    };
    const check = () => {
      if (!key?.at) return;
      for (const name of [...key.open]) {
        if (!views[name](key.at)) continue;
        key.open.delete(name);
        const mine = key;
        painted((now) => { mine.ms[name] = now - mine.begun; });
      }
    };
    addEventListener("keydown", onKey, true);
    // Before the views, which otherwise show the cursor already.
    const { listeners } = group;
    const { tell } = listeners;
    listeners.tell = (cursor, before) => {
      onCursor(cursor);
      tell(cursor, before);
    };
    const observer = new MutationObserver(check);
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    hsdMeasure.settled = () => Boolean(key?.at) && Object.keys(key.ms).length === key.wanted;
    hsdMeasure.key = () => ({ at: key?.at, ms: key?.ms ?? {}, missing: [...(key?.open ?? [])] });
    hsdMeasure.deaf = () => {
      observer.disconnect();
      removeEventListener("keydown", onKey, true);
      listeners.tell = tell;
    };
  };

  // --- a live run: when how many tokens were painted
  hsdMeasure.follow = () => {
    const grown = []; // [painted, tokens on the page]
    traffic.length = 0;
    const out = document.querySelector(".hsd-out");
    const observer = new MutationObserver(() => {
      const n = out.querySelectorAll(".hsd-tok[data-i]").length;
      if (n !== (grown[grown.length - 1] ?? [0, 0])[1]) painted((now) => grown.push([performance.timeOrigin + now, n]));
    });
    observer.observe(out, { childList: true, subtree: true });
    hsdMeasure.tokens = () => grown[grown.length - 1]?.[1] ?? 0;
    hsdMeasure.grown = () => { observer.disconnect(); return grown; };
  };
  /** The messages of the kernel's websocket protocol (v1) that carry steps: when they were made and came, and what they hold. */
  hsdMeasure.steps = () => {
    const text = new TextDecoder();
    const found = [];
    for (const [arrived, bytes, sent, data] of traffic) {
      if (sent || typeof data === "string") continue;
      const view = new DataView(data);
      const offsets = [];
      const n = Number(view.getBigUint64(0, true));
      for (let k = 0; k < n; k++) offsets.push(Number(view.getBigUint64(8 * (k + 1), true)));
      const part = (k) => JSON.parse(text.decode(new Uint8Array(data, offsets[k], offsets[k + 1] - offsets[k])));
      const header = part(1);
      if (header.msg_type !== "comm_msg") continue;
      const content = part(4).data?.content;
      if (content?.kind !== "append") continue;
      const { steps } = content.steps;
      // Of each round of the target, when it ended.
      const ends = ({ rounds }) => rounds.start_ns.map((at, k) => (rounds.parent[k] === null ? at + rounds.duration_ns[k] : 0));
      found.push({
        made: Date.parse(header.date), arrived: performance.timeOrigin + arrived, bytes, steps: steps.length,
        tokens: steps.reduce((sum, step) => sum + step.tokens.index.length, 0),
        ended: Math.max(...steps.flatMap(ends)),
      });
    }
    return found;
  };
})();
