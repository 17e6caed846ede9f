// Files of the visitor: read, dropped and saved.

import type { File, Host, Question } from "../host";
import { make } from "../lib/dom";

/** Most bytes of a file sent to a kernel: the web server refuses messages of 10 MiB. */
export const MOST_BYTES = 8_000_000;

export async function read(file: globalThis.File, most = MOST_BYTES): Promise<File> {
  if (file.size > most)
    throw new Error(
      `${file.name} has ${(file.size / 1e6).toFixed(1)} MB; the maximum here is ${(most / 1e6).toFixed(0)} MB: use the command`,
    );
  return { name: file.name, type: file.type, bytes: await file.arrayBuffer() };
}

/** Let the visitor choose a file. */
export function choose(accept: string, take: (file: globalThis.File) => void) {
  const field = make("input");
  field.type = "file";
  field.accept = accept;
  field.addEventListener("change", () => field.files?.[0] && take(field.files[0]));
  field.click();
}

/** Make a file and start its download. */
export async function download(host: Host, question: Question) {
  if (!host.file) throw new Error("saving needs Python, which this page does not have: use hsd-viz export");
  save(await host.file(question));
}
/** Start the download of a file. */
export function save({ name, type, bytes }: Omit<File, "bytes"> & { bytes: BlobPart }) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const link = make("a");
  Object.assign(link, { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  // The download has started; release the memory.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Open a file that is dropped on `page`, unless a field of it takes it. Returns a function that stops. */
export function dropZone(page: HTMLElement, drop: (file: globalThis.File) => void) {
  const mark = (on: boolean) => page.classList.toggle("hsd-drop-page", on);
  const over = (e: DragEvent) => {
    const holds = [...(e.dataTransfer?.types ?? [])].includes("Files");
    mark(holds && !e.defaultPrevented);
    if (holds) e.preventDefault();
  };
  const leave = (e: DragEvent) => {
    if (!page.contains(e.relatedTarget as Node | null)) mark(false);
  };
  const dropped = (e: DragEvent) => {
    mark(false);
    const file = e.dataTransfer?.files[0];
    if (e.defaultPrevented || !file) return;
    e.preventDefault();
    drop(file);
  };
  page.addEventListener("dragover", over);
  page.addEventListener("dragleave", leave);
  page.addEventListener("drop", dropped);
  return () => {
    page.removeEventListener("dragover", over);
    page.removeEventListener("dragleave", leave);
    page.removeEventListener("drop", dropped);
  };
}

/** A field that takes a dropped or chosen file. */
export function dropField(label: string, hint: string, accept: string, take: (file: globalThis.File) => void) {
  const root = make("div", "hsd-drop-field");
  const open = make("button", "hsd-quiet", label);
  open.type = "button";
  const name = make("span", "hsd-drop-name", "or drop a file here");
  name.setAttribute("role", "status");
  root.append(open, name, make("p", "hsd-blurb", hint));
  const got = (file: globalThis.File) => {
    name.textContent = `${file.name}, ${(file.size / 1e3).toFixed(0)} kB`;
    take(file);
  };
  open.addEventListener("click", () => choose(accept, got));
  root.addEventListener("dragover", (e) => {
    if (![...(e.dataTransfer?.types ?? [])].includes("Files")) return;
    e.preventDefault();
    root.classList.add("hsd-over");
  });
  root.addEventListener("dragleave", () => root.classList.remove("hsd-over"));
  root.addEventListener("drop", (e) => {
    root.classList.remove("hsd-over");
    const file = e.dataTransfer?.files[0];
    if (!file) return;
    e.preventDefault();
    got(file);
  });
  return root;
}
