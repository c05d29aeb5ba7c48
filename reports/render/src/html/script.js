"use strict";
/** What the parts of the script share: the state of the page, which its address holds after the `#`. */
const pageState = (() => {
  const read = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  let values = read();
  const listeners = [];
  return {
    get: (key) => values.get(key) ?? "",
    /** Sets values; an empty one is removed. The page itself has changed already. */
    set(changes, write = "replaceState") {
      for (const [key, value] of Object.entries(changes)) {
        if (value === "" || value === null) { values.delete(key); } else { values.set(key, value); }
      }
      const text = values.toString();
      // Commas and dots need no escape after a `#`.
      history[write](null, "", text ? `#${text.replaceAll("%2C", ",")}` : location.pathname + location.search);
    },
    /** Sets values, and changes the page accordingly, so that the way back leads to what was before. */
    apply(changes) {
      this.set(changes, "pushState");
      listeners.forEach((show) => show());
    },
    /** Calls `show` now and whenever another address of this page is entered. */
    restore(show) { listeners.push(show); show(); },
    entered() {
      if (location.hash && !location.hash.includes("=")) { return; }
      values = read();
      listeners.forEach((show) => show());
    },
  };
})();
addEventListener("hashchange", () => pageState.entered());

/** Copies a text; false if the browser does not allow it. */
const copyText = async (text) => {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* a file from a disk may not be allowed to */ }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
};

const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

for (const parts of all("details.parts")) {
  parts.addEventListener("click", (event) => { if (event.target.closest("a")) { parts.open = false; } });
}

(() => {
  const root = document.documentElement;

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
    const sort = (column, next) => {
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      let rows = original.slice();
      if (next) {
        heads[column].setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const value = (row) => row.cells[column]?.dataset.v ?? row.cells[column]?.textContent ?? "";
        rows.sort((a, b) => compare(value(a), value(b), sign));
      }
      table.tBodies[0].append(...rows);
    };
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) { return; }
      button.disabled = false;
      button.addEventListener("click", () => {
        // Numbers begin with the largest, words with the first.
        const ways = head.classList.contains("text") ? ["ascending", "descending"] : ["descending", "ascending"];
        const next = [...ways, null][ways.indexOf(head.getAttribute("aria-sort")) + 1];
        sort(column, next);
        if (table.id) { pageState.set({ [`sort.${table.id}`]: next ? `${column},${next}` : "" }); }
      });
    });
    if (table.id) {
      let sorted = "";
      pageState.restore(() => {
        const wanted = pageState.get(`sort.${table.id}`);
        if (wanted === sorted) { return; }
        sorted = wanted;
        const [column, next] = wanted.split(",");
        const isKnown = heads[Number(column)]?.querySelector("button") && ["ascending", "descending"].includes(next);
        sort(Number(column), isKnown ? next : null);
      });
    }
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
    // Of many rows the first are listed until somebody asks for all.
    let limit = Number(tools.dataset.limit) || Infinity;
    const more = document.querySelector(`[data-more="${target.id}"]`);
    let arranged = items;
    // What a row opens into is not searched.
    const texts = new Map(items.map((item) => [item, (item.querySelector(":scope > summary") ?? item).textContent.toLowerCase()]));
    const filter = () => {
      const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      let [found, shown] = [0, 0];
      arranged.forEach((item) => {
        const fits = words.every((word) => texts.get(item).includes(word))
          && checks.every((check) => !check.checked || item.dataset[check.dataset.key] === "1")
          && selects.every((select) => select.value === "" || item.dataset[select.dataset.key] === select.value);
        item.hidden = !fits || (shown >= limit && !item.open);
        found += fits ? 1 : 0;
        shown += item.hidden ? 0 : 1;
      });
      if (more) {
        more.hidden = shown === found;
        more.textContent = `Show all ${found} rows`;
      }
      if (status) { status.textContent = `${shown} of ${shown === found ? items.length : found} shown`; }
    };
    const arrange = () => {
      const rows = items.slice();
      if (order?.value) {
        const [key, sign] = order.value.split(" ");
        rows.sort((a, b) => compare(a.dataset[key] ?? "", b.dataset[key] ?? "", Number(sign)));
      }
      arranged = rows;
      if (order) { target.append(...rows); }
    };
    // The controls with their keys in the address.
    const prefix = target.id === "rows" ? "" : `${target.id}.`;
    const controls = [[search, "q"], [order, "order"], ...[...checks, ...selects].map((control) => [control, control.dataset.key])];
    const known = controls.filter(([control]) => control);
    const keep = () => pageState.set(Object.fromEntries(known.map(([control, key]) =>
      [prefix + key, control.type === "checkbox" ? (control.checked ? "1" : "") : control.value])));
    search?.addEventListener("input", () => { filter(); keep(); });
    [...checks, ...selects].forEach((control) => control.addEventListener("change", () => { filter(); keep(); }));
    order?.addEventListener("change", () => { arrange(); filter(); keep(); });
    more?.addEventListener("click", () => {
      limit = Infinity;
      const next = arranged.find((item) => item.hidden);
      filter();
      (next?.querySelector("summary") ?? next)?.focus();
    });
    pageState.restore(() => {
      for (const [control, key] of known) {
        const value = pageState.get(prefix + key);
        if (control.type === "checkbox") { control.checked = value === "1"; } else { control.value = value; }
        // A value that the page does not offer.
        if (control.tagName === "SELECT" && control.selectedIndex < 0) { control.selectedIndex = 0; }
      }
      arrange();
      filter();
    });
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
