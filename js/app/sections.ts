// A long page in proportion: its first section is open, each other one a line that opens.

/** Fold the sections of a page, each from a heading to the next one, from the second on. */
export function foldSections(main: Element) {
  const { ownerDocument: page } = main;
  for (const heading of [...main.querySelectorAll(":scope > h2")].slice(1)) {
    const folder = page.createElement("details");
    const title = page.createElement("summary");
    heading.before(folder);
    title.append(heading);
    folder.append(title);
    while (folder.nextElementSibling && folder.nextElementSibling.tagName !== "H2")
      folder.append(folder.nextElementSibling);
  }
}
