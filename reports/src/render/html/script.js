"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

  // A file from a disk may not be allowed to remember anything.
  const remembered = {
    get() { try { return localStorage.getItem("healbench-theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("healbench-theme", theme); } catch { /* it is forgotten */ } },
  };
  const themes = ["auto", "light", "dark"];
  const toggle = document.getElementById("theme");
  const show = (theme) => {
    if (theme === "auto") { delete root.dataset.theme; } else { root.dataset.theme = theme; }
    if (toggle) { toggle.textContent = `Theme: ${theme}`; }
  };
  let theme = themes.includes(remembered.get()) ? remembered.get() : "auto";
  show(theme);
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      remembered.set(theme);
      show(theme);
    });
  }

  // Unknown comes last, whichever way is sorted.
  const compare = (a, b, sign) => {
    if (a === b) { return 0; }
    if (a === "") { return 1; }
    if (b === "") { return -1; }
    const [x, y] = [Number(a), Number(b)];
    const both = !Number.isNaN(x) && !Number.isNaN(y);
    if (both) { return sign * (x - y); }
    // Numbers before words.
    if (Number.isNaN(x) !== Number.isNaN(y)) { return sign * (Number.isNaN(x) ? 1 : -1); }
    return sign * a.localeCompare(b, "en", { numeric: true });
  };

  for (const table of all("table[data-sort]")) {
    const heads = all("thead th", table);
    const original = all("tbody tr", table);
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) { return; }
      button.disabled = false;
      button.addEventListener("click", () => {
        // Numbers begin with the largest, words with the first.
        const ways = head.classList.contains("text") ? ["ascending", "descending"] : ["descending", "ascending"];
        const next = [...ways, null][ways.indexOf(head.getAttribute("aria-sort")) + 1];
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        let rows = original.slice();
        if (next) {
          head.setAttribute("aria-sort", next);
          const sign = next === "ascending" ? 1 : -1;
          const value = (row) => row.cells[column]?.dataset.v ?? row.cells[column]?.textContent ?? "";
          rows.sort((a, b) => compare(value(a), value(b), sign));
        }
        table.tBodies[0].append(...rows);
      });
    });
  }

  for (const tools of all("[data-tools]")) {
    const target = document.getElementById(tools.dataset.tools);
    if (!target) { continue; }
    tools.hidden = false;
    const items = target.tagName === "TABLE" ? all("tbody tr", target) : all(":scope > details", target);
    const search = tools.querySelector("input[type=search]");
    const checks = all("input[type=checkbox]", tools);
    const selects = all("select[data-key]", tools);
    const order = tools.querySelector("select[data-order]");
    const status = tools.querySelector("[role=status]");
    const texts = items.map((item) => item.textContent.toLowerCase());
    const filter = () => {
      const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      items.forEach((item, index) => {
        const fits = words.every((word) => texts[index].includes(word))
          && checks.every((check) => !check.checked || item.dataset[check.dataset.key] === "1")
          && selects.every((select) => select.value === "" || item.dataset[select.dataset.key] === select.value);
        item.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      if (status) { status.textContent = `${shown} of ${items.length} shown`; }
    };
    search?.addEventListener("input", filter);
    [...checks, ...selects].forEach((control) => control.addEventListener("change", filter));
    order?.addEventListener("change", () => {
      const rows = items.slice();
      if (order.value) {
        const [key, sign] = order.value.split(" ");
        rows.sort((a, b) => compare(a.dataset[key] ?? "", b.dataset[key] ?? "", Number(sign)));
      }
      target.append(...rows);
    });
    filter();
  }

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const search = document.querySelector('input[aria-keyshortcuts="/"]') ?? document.querySelector("input[type=search]");
      if (search) { event.preventDefault(); search.focus(); }
    } else if (event.key === "Escape" && event.target.type === "search") {
      event.target.value = "";
      event.target.dispatchEvent(new Event("input"));
    }
  });

  // On paper nothing can be opened. Transcripts are printed where they were open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])").filter((details) => !details.closest(".rows"));
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

  // A run under way: the page asks how far it is, and becomes the report.
  const live = document.querySelector("[data-progress]");
  if (live) {
    const ask = async () => {
      try {
        const answer = await fetch(live.dataset.progress, { cache: "no-store" });
        if (!answer.ok) { location.reload(); return; }
        const progress = await answer.json();
        if (progress.ended) { location.reload(); return; }
        all("[data-field]", live).forEach((field) => {
          const text = progress.fields?.[field.dataset.field];
          if (text !== undefined) { field.textContent = text; }
        });
        const bar = live.querySelector("progress");
        if (bar && progress.total) { bar.max = progress.total; bar.value = progress.done; }
      } catch { /* the server may be gone for a moment */ }
      setTimeout(ask, 1000);
    };
    setTimeout(ask, 1000);
  }
})();
