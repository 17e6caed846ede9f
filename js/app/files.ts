// Choosing, dropping, reading and saving files of the visitor.
import { html } from "lit-html";
import type { FileContent, Host, Question } from "../host";
import { make } from "../lib/dom";
import { save } from "../lib/save";
import { megabytes } from "../lib/words";

/** Maximum size of a file sent to a kernel, in bytes: the web server refuses messages of 10 MiB. */
export const MAX_BYTES = 8_000_000;

export async function read(file: File): Promise<FileContent> {
  if (file.size > MAX_BYTES)
    throw new Error(
      `${file.name} has ${megabytes(file.size, 1)} MB; ` +
        `the maximum here is ${megabytes(MAX_BYTES)} MB: use the command`,
    );
  return { name: file.name, type: file.type, bytes: await file.arrayBuffer() };
}

/** Open the browser's file dialog. */
export function choose(accept: string, take: (file: File) => void) {
  const field = make("input");
  field.type = "file";
  field.accept = accept;
  field.addEventListener("change", () => field.files?.[0] && take(field.files[0]));
  field.click();
}

/** Ask the host for a file and start its download. */
export async function download(host: Host, question: Question) {
  if (!host.file)
    throw new Error("saving needs Python, which this page does not have: use hsd-viz export");
  save(await host.file(question));
}
/** Call `drop` with a file dropped on `page` outside of a field. Returns a function that stops. */
export function dropZone(page: HTMLElement, drop: (file: File) => void) {
  const listener = (e: DragEvent) => {
    const fits =
      [...(e.dataTransfer?.types ?? [])].includes("Files") &&
      !(e.target as Element).closest("input[type=file]");
    page.classList.toggle("hsd-drop-page", fits && e.type === "dragover");
    if (!fits || e.type === "dragleave") return;
    e.preventDefault();
    const file = e.dataTransfer?.files[0];
    if (file && e.type === "drop") drop(file);
  };
  const kinds = ["dragover", "dragleave", "drop"] as const;
  for (const kind of kinds) page.addEventListener(kind, listener);
  return () => {
    for (const kind of kinds) page.removeEventListener(kind, listener);
  };
}

/** A field that takes a dropped or chosen file. */
export const dropField = (label: string, accept: string, take: (file: File) => void) =>
  html`<label class="hsd-field hsd-drop-field"
    >${label}<input
      type="file"
      accept=${accept}
      @change=${(e: { target: HTMLInputElement }) => e.target.files?.[0] && take(e.target.files[0])}
  /></label>`;
