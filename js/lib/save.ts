// Files that the visitor saves: the start of a download.

/** Milliseconds after which a download has started, and its memory can be released. */
const STARTED_MS = 10_000;

interface SavedFile {
  name: string;
  type: string;
  bytes: BlobPart;
}

/** Start the download of a file. */
export function save({ name, type, bytes }: SavedFile) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), STARTED_MS);
}

/** Start the download of a drawing. */
export const saveDrawing = (name: string, svg: string) =>
  save({ name, type: "image/svg+xml", bytes: svg });
