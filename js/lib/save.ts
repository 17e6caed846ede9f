// Starts downloads of files.

/** Milliseconds after which a download has surely started, so that its memory can be freed. */
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

/** Start the download of an SVG drawing. */
export const saveDrawing = (name: string, svg: string) =>
  save({ name, type: "image/svg+xml", bytes: svg });
