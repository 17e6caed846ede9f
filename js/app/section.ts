// Types of the parts of tabs.
import type { Host } from "../host";
import type { Group } from "../lib/group";
import type { Snapshot } from "../lib/run_data";
import type { Store } from "./state";

/** A part of a tab: an element, and what happens to it when the run changes. */
export interface Section {
  root: HTMLElement;
  refresh?(): void;
  /** Mark the content as that of the previous run, while another run is in progress. */
  stale?(on: boolean): void;
  /** Close the views, and cancel requests in progress. */
  close?(): void;
}
export interface Context {
  host: Host;
  store: Store;
  group: Group;
  /** Traits that every view of the page has. */
  state: Record<string, unknown>;
  /** Return the run shown as columns; null: it is incomplete. */
  run(): Snapshot | null;
}
