
// Lists and pages of episodes: keys, copies and marked search hits.
(() => {
  const list = document.getElementById("episodes");
  const step = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) { return 0; }
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.target.closest(".scroll[tabindex]:focus")) { return 0; }
    return { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key] ?? 0;
  };
  document.addEventListener("keydown", (event) => {
    const by = step(event);
    if (by === 0) { return; }
    if (list) {
      const links = all("tbody th a", list);
      const at = links.indexOf(document.activeElement);
      const next = links[at < 0 ? 0 : at + by];
      if (next) { event.preventDefault(); next.focus(); return; }
    }
    const link = document.querySelector(`nav.pages a[rel="${by > 0 ? "next" : "prev"}"]`);
    if (link) { event.preventDefault(); link.click(); }
  });

  for (const copies of all("[data-copies]")) {
    const status = copies.querySelector("[role=status]");
    for (const link of all("a[data-copy]", copies)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `Copy ${link.dataset.copy}`;
      button.addEventListener("click", async () => {
        const text = link.dataset.copy === "link" ? location.href : await (await fetch(link.href)).text();
        status.textContent = (await copyText(text)) ? `${link.dataset.copy} copied` : `${link.dataset.copy} could not be copied`;
      });
      link.replaceWith(button);
    }
  }

  // Both transcripts of a flip are shown below it. The pages of the episodes have them.
  for (const cell of all("[data-pair]")) {
    // The candidate is linked first.
    const sides = all("a", cell).reverse();
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "show both";
    button.setAttribute("aria-expanded", "false");
    let shown = null;
    button.addEventListener("click", async () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      if (isOpen) { shown?.remove(); return; }
      const texts = await Promise.all(sides.map(async (link) => (await fetch(link.href)).text()));
      const place = document.createElement("td");
      place.colSpan = cell.parentElement.cells.length;
      place.className = "both";
      const pair = document.createElement("div");
      pair.className = "pair";
      texts.forEach((text, index) => {
        const found = new DOMParser().parseFromString(text, "text/html").querySelector(".transcript");
        if (!found) { return; }
        const side = document.createElement("p");
        side.className = "who";
        side.textContent = sides[index].textContent;
        const transcript = document.adoptNode(found);
        transcript.prepend(side);
        pair.append(transcript);
      });
      place.append(pair);
      shown = document.createElement("tr");
      shown.append(place);
      cell.parentElement.after(shown);
    });
    cell.append(" ", button);
  }

  // The text that was searched for is marked in the texts of a transcript.
  for (const place of all("[data-hits]")) {
    const wanted = place.dataset.hits.toLowerCase();
    if (!wanted) { continue; }
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) { nodes.push(walker.currentNode); }
    let first = null;
    for (const node of nodes) {
      let rest = node;
      for (let at = rest.data.toLowerCase().indexOf(wanted); at >= 0; at = rest.data.toLowerCase().indexOf(wanted)) {
        const hit = rest.splitText(at);
        rest = hit.splitText(wanted.length);
        const mark = document.createElement("mark");
        mark.className = "hit";
        hit.replaceWith(mark);
        mark.append(hit);
        first ??= mark;
      }
    }
    first?.scrollIntoView({ block: "center" });
  }
})();
