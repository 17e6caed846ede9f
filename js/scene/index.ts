// The view of the cursor's round as a scene: chips on floors (scene.ts), details of one chip, and
// its dart board.
import { nothing, render } from "lit-html";
import { createDarts } from "../darts/stage";
import { createCard } from "../lib/card";
import type { Cursor } from "../lib/cursor";
import { make, press } from "../lib/dom";
import { lessonOf } from "../lib/lesson";
import { linkedWidget, type View } from "../lib/linked";
import type { Change } from "../lib/run";
import type { Round } from "../lib/tables";
import { unique } from "../lib/widget";
import { duration } from "../lib/words";
import { boardOfChip, fallsOnBothSides } from "./board";
import { type Details, detailsTemplate, type SceneActions } from "./details";
import {
  boxHeight,
  chipBox,
  isChained,
  isNarrow,
  isWide,
  type Layout,
  layoutOf,
  scrollTo,
} from "./layout";
import { ScenePlayer } from "./player";
import { beside, type Chip, type Scene, sceneOf, timeOf } from "./scene";
import {
  atChip,
  atEvent,
  atInner,
  atRound,
  chosenIn,
  decidingIn,
  nodeIn,
  nodeOf,
  roundOf,
} from "./selection";
import { drawStage, type Sources } from "./stage";
import { createReading, isTarget } from "./words";

const NO_ROUND = "The draft of each round appears here when it is verified.";

/** The view: its selection, its scene and its elements. */
class SceneView {
  private readonly sources: Sources;
  private readonly stage = make("div", "hsd-sc-stage", "", { tabindex: 0, role: "listbox" });
  private readonly box = make("div", "hsd-sc-scroll");
  private readonly board = make("div", "hsd-sc-board");
  private readonly darts = createDarts(this.board);
  private readonly card: ReturnType<typeof createCard>;
  private readonly player = new ScenePlayer(() => this.paint());
  private selection = atRound(null);
  private scene: Scene | null = null;
  private isChain = false;
  /** Layout of the drawn scene. */
  private layout: Layout | null = null;
  /** Keys of the data from which the scene, the details and the scroll position were computed. */
  private readonly made = { scene: "", details: "", scroll: "" };

  constructor(private readonly view: View<object>) {
    const { root, store, palette, group } = view;
    this.sources = { uid: unique(), store, palette, reading: createReading(store, palette) };
    this.card = createCard(store, palette, (position) => group.light(position, true));
    root.classList.add("hsd-scene");
    this.box.append(this.stage);
    this.listen();
    const later = view.soon(() => this.refresh());
    view.follow(
      (what) => this.onStore(what, later),
      (cursor, before) => this.onCursor(cursor, before),
    );
    this.refresh();
    view.resized(root, later);
  }

  close() {
    this.player.stop();
    this.view.group.light(null);
  }

  // --- events
  private listen() {
    const { stage } = this;
    stage.addEventListener("pointerover", (event) => this.peek(this.under(event)?.key ?? null));
    stage.addEventListener("pointerleave", () => this.peek(null));
    stage.addEventListener("click", (event) => this.choose(this.under(event), true));
    stage.addEventListener("keydown", (event) => this.onKey(event));
  }

  private onKey(event: KeyboardEvent) {
    const { scene } = this;
    if (!scene) return;
    const { key } = this.selection;
    const text = scene.chips
      .filter((chip) => chip.rest === scene.round.level)
      .sort((a, b) => a.column - b.column);
    press(event, {
      ArrowRight: () => this.choose(beside(scene, key, "right")),
      ArrowLeft: () => this.choose(beside(scene, key, "left")),
      ArrowDown: () => this.choose(beside(scene, key, "down")),
      ArrowUp: () => this.choose(beside(scene, key, "up")),
      Home: () => this.choose(text[0] ?? null),
      End: () => this.choose(text.at(-1) ?? null),
      Enter: () => this.choose(scene.chips.find((chip) => chip.key === key) ?? null, true),
    });
  }

  private onStore(what: Change, later: () => void) {
    if (what !== "reset") return later();
    this.player.stop();
    this.selection = { ...this.selection, top: null };
    this.made.scene = "";
    this.made.details = "";
    this.refresh();
  }

  /**
   * Follow the cursor. A round of a lower level that is pinned in another view selects its chip;
   * when it is unpinned, the chip of the cursor's event is selected.
   */
  private onCursor({ inner, pinned }: Cursor, before: Cursor) {
    const isChanged = inner !== before.inner && (inner === null || pinned);
    if (isChanged) this.selection = { ...this.selection, inner };
    if (isChanged && inner === null) this.selection = { ...this.selection, step: -1 };
    this.refresh();
    if (!isChanged || inner === null || !this.scene) return;
    this.selection = atInner(this.selection, this.scene, inner);
    this.paint();
  }

  /** Return the chip under the pointer. */
  private under(event: Event): Chip | null {
    const key = (event.target as Element).closest<HTMLElement>(".hsd-sc-chip")?.dataset.key;
    return this.scene?.chips.find((chip) => chip.key === key) ?? null;
  }

  // --- actions
  private readonly actions: SceneActions = {
    play: () => this.play(),
    walk: (by) => this.walk(by),
  };

  private play() {
    const isPlaying = this.player.time !== null;
    this.player.stop();
    if (isPlaying || !this.scene) return this.paint();
    this.view.group.pause();
    this.player.play(this.scene);
  }

  private walk(by: number) {
    const { store, group } = this.view;
    const ids = [...store.order.keys()];
    const next = ids[ids.indexOf(this.roundShown() ?? NaN) + by];
    if (next !== undefined) group.go({ round: next });
  }

  private peek(key: string | null) {
    if (key === this.selection.peek) return;
    this.selection = { ...this.selection, peek: key };
    this.paint();
  }

  /** Select a chip and move the cursor to its event; `pin`: pin the cursor. */
  private choose(chip: Chip | null, pin = false) {
    const { scene } = this;
    const { group } = this.view;
    if (!chip || !scene) return;
    const { id } = scene.round;
    const node = nodeIn(scene, chip);
    const step = node === null ? -1 : this.sources.reading.stepOf(id, node);
    if (step >= 0) {
      this.selection = atChip(this.selection, chip, step);
      if (pin) group.pin({ step });
      else group.go({ step });
    } else {
      this.selection = atChip(this.selection, chip, this.selection.step);
      if (group.cursor.round !== id) {
        group.go({ round: id });
        this.selection = atChip(this.selection, chip, group.cursor.step);
      }
    }
    this.paint();
    this.keepInView(chip);
  }

  // --- the shared cursor
  /** Return the round of the cursor, else the one that explains drafting best. */
  private roundShown(): number | null {
    const { store, palette, group } = this.view;
    const { reading } = this.sources;
    const hasBoard = (id: number) => {
      const round = store.rounds.get(id);
      return round !== undefined && fallsOnBothSides(store, palette, round, reading.ownOf(round));
    };
    const score = (id: number) => lessonOf(store, id, hasBoard);
    return group.cursor.round ?? reading.usual(this.selection.top, score);
  }

  private refresh() {
    const top = this.roundShown();
    if (top !== this.selection.top) {
      this.player.stop();
      this.selection = atRound(top);
    }
    const key = this.makeScene(top);
    const hasMoved = this.followStep();
    this.paint();
    const { scene } = this;
    if (hasMoved) this.keepInView(this.selected());
    else if (scene && key !== this.made.scroll && this.isNarrow())
      this.keepInView(this.deciding(scene) ?? this.selected());
    this.made.scroll = key;
  }

  /** Build the scene of a round unless it is current; return the key of its data. */
  private makeScene(top: number | null): string {
    const { store } = this.view;
    const drafts = top === null ? "" : store.drafts.get(top)?.length;
    const key = [store.run, top, drafts, store.calls.length].join(":");
    if (key === this.made.scene) return key;
    this.made.scene = key;
    this.scene = top === null ? null : sceneOf(store, top);
    this.isChain = isChained(store);
    this.box.scrollLeft = 0;
    return key;
  }

  /**
   * Select the chip of the cursor's event if the event has changed; return whether it has. A
   * selected chip of a lower level stays selected while the cursor stays in its round.
   */
  private followStep(): boolean {
    const { scene, selection } = this;
    const { step, round } = this.view.group.cursor;
    if (!scene || round !== selection.top || step === selection.step) return false;
    this.selection = atEvent(selection, scene, step, nodeOf(this.view.store.index(), step));
    return true;
  }

  /** Return the selected chip; the pointer does not change it. */
  private selected(): Chip | null {
    return chosenIn(this.scene, { ...this.selection, peek: null });
  }

  /** Return the chip that ended the draft; null while the scene is playing. */
  private deciding(scene: Scene): Chip | null {
    return this.player.time === null ? decidingIn(scene) : null;
  }

  /** Scroll the box, but not the page, so that a chip's final place is visible. */
  private keepInView(chip: Chip | null) {
    const { box, scene, layout } = this;
    if (!chip || !scene || !layout) return;
    const { left, top } = scrollTo(chipBox(layout, chip, this.timeShown(scene)), {
      left: box.scrollLeft,
      top: box.scrollTop,
      width: box.clientWidth,
      height: box.clientHeight,
    });
    box.scrollLeft = left;
    box.scrollTop = top;
  }

  // --- drawing
  private isNarrow() {
    return isNarrow(this.view.root.clientWidth);
  }

  /**
   * Return the time of the scene (0 to 1): that of its own playback, that of the cursor's event
   * while the run plays, else 1.
   */
  private timeShown(scene: Scene): number {
    if (this.player.time !== null) return this.player.time;
    const { store, group } = this.view;
    const { shown, step, round } = group.cursor;
    if (shown === null || round !== scene.round.id || step < 0) return 1;
    return timeOf(scene, nodeOf(store.index(), step));
  }

  private paint() {
    const { scene } = this;
    const { root, store, group } = this.view;
    const chip = chosenIn(scene, this.selection);
    if (scene) this.drawStage(scene, chip);
    // While the scene is playing, only the stage changes.
    const isPlaying = this.player.time !== null;
    const parts = [chip?.key, root.clientWidth, store.tokens.length, isPlaying, store.seq];
    const key = [this.made.scene, ...parts].join(":");
    if (key === this.made.details && scene) return;
    this.made.details = key;
    const round = roundOf(store.rounds, scene, this.selection, chip);
    render(
      detailsTemplate(this.details(scene, chip, round), this.actions, this.box, this.board),
      root,
    );
    this.drawBoard(scene, chip, round);
    group.light(chip?.judged.at(-1)?.draft.position ?? null);
  }

  private drawStage(scene: Scene, chosen: Chip | null) {
    const { box, stage, sources, selection } = this;
    const before = sources.reading.before(scene.round);
    const layout = layoutOf(scene, before, this.view.root.clientWidth, box.clientWidth);
    const path = new Set<Chip>();
    for (let chip = chosen ?? this.deciding(scene); chip; chip = chip.above) path.add(chip);
    this.layout = layout;
    box.style.height = `${boxHeight(layout, this.isChain)}px`;
    drawStage(stage, sources, {
      scene,
      layout,
      time: this.timeShown(scene),
      isPlayed: this.player.time !== null,
      isNarrow: this.isNarrow(),
      key: selection.key,
      isPinned: this.view.group.cursor.pinned,
      chosen,
      path,
    });
  }

  private drawBoard(scene: Scene | null, chip: Chip | null, round: Round | null) {
    const { store, palette, reading } = this.sources;
    const shown =
      scene && round ? boardOfChip(store, palette, chip, round, reading.ownOf(round)) : null;
    this.board.dataset.columns = String(shown?.board.columns.length ?? 0);
    this.darts.show(shown);
  }

  private details(scene: Scene | null, chip: Chip | null, round: Round | null): Details {
    const { store, palette, reading } = this.sources;
    const { root } = this.view;
    const top = scene?.round ?? null;
    const number = store.order.get(top?.id ?? NaN);
    const titled = round && !isTarget(round) ? round : top;
    const drafter = scene?.chips.find((chip) => !chip.own);
    const depths = [...store.drafts.values()].flat().map((draft) => draft.depth);
    const slowed = scene?.timed ? duration(scene.round.duration_ns) : "";
    return {
      title: top && titled ? reading.titleOf(titled, top.id).replace(", ", " · ") : "No round",
      summary: top ? reading.summaryOf(top) : NO_ROUND,
      hasRound: top !== null,
      isPlaying: this.player.time !== null,
      isFirst: number === 1,
      isLast: number === store.order.size,
      slowed: slowed && `Slowed down: recorded in ${slowed}`,
      isWide: isWide(Math.max(0, ...depths), root.clientWidth),
      isDrawn: store.meta.sampling?.temperature !== 0,
      drafter: drafter ? palette.family(drafter.source) : "",
      fates: new Set(scene?.chips.flatMap(({ moves }) => moves.map(({ fate }) => fate))),
      card: this.cardOf(chip ?? (scene && this.deciding(scene))),
    };
  }

  /** The card of a chip; nothing without a chip. */
  private cardOf(chip: Chip | null) {
    if (!chip) return nothing;
    const ownToken = chip.own && this.sources.reading.ownOf(chip.own);
    return this.card({ ...chip, token: ownToken?.row ?? null });
  }
}

export default linkedWidget<object>((view) => {
  const scene = new SceneView(view);
  return () => scene.close();
});
