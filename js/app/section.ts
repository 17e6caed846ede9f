// A part of a tab, and what it is made from.
import type { Host } from "../host";
import type { Group } from "../lib/group";
import type { Snapshot } from "../lib/run_data";
import type { Store } from "./state";

/** A part of a tab: an element that may have to be asked for again when the run changes. */
export interface Section {
  root: HTMLElement;
  refresh?(): void;
  /** Mark what is of the run before, while another is in progress. */
  stale?(on: boolean): void;
}
export interface Context {
  host: Host;
  store: Store;
  group: Group;
  /** Traits of every view of the page. */
  state: Record<string, unknown>;
  /** The run shown as columns, once it is complete. */
  run(): Snapshot | null;
}
