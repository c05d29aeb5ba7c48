
// Transcripts: a row of a scenario opens into any of its conditions side by side, aligned by call.
(() => {
  const store = document.getElementById("transcripts");
  const rows = document.getElementById("rows");
  if (!store || !rows) { return; }
  const conditions = JSON.parse(store.dataset.conditions);
  const agents = JSON.parse(store.dataset.agents);
  const compared = store.dataset.compared.split(",").map(Number);
  const served = store.dataset.served === "1";

  const make = (tag, attributes = {}, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) { element.setAttribute(name, value === true ? "" : value); }
    }
    element.append(...inside.filter((part) => part !== null && part !== undefined));
    return element;
  };
  const plural = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

  // Chunks are decoded when a row of them is opened for the first time.
  let encoded;
  const decoded = new Map();
  const decode = (index) => {
    encoded ??= store.content.textContent.trim().split("\n");
    if (!decoded.has(index)) {
      const bytes = Uint8Array.from(atob(encoded[index]), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
      decoded.set(index, new Response(stream).json());
    }
    return decoded.get(index);
  };

  /** The steps by call: what comes before a call belongs to it, and what comes after the last one to the end. */
  const byCall = (episode) => {
    const units = [{ before: [] }];
    for (const step of episode.steps) {
      const unit = units[units.length - 1];
      if (step.n === undefined) { unit.before.push(step); } else { unit.call = step; units.push({ before: [] }); }
    }
    units[units.length - 1].end = episode;
    return units;
  };

  const words = (text) => (text === "" ? make("span", { class: "cut" }, "(nothing)") : text);
  const message = (texts, step) => [
    make("span", { class: "who" }, step.m),
    make("pre", { class: step.bad ? "failed" : null }, words(texts[step.t])),
  ];
  const call = (texts, step) => [
    make("div", { class: step.diff === undefined ? null : "repair" },
      make("span", { class: "who" }, `call ${step.n}${step.opening ? ", scheduled opening: no request was sent to the model" : ""}`),
      make("pre", {}, `${texts[step.tool]} `, ...step.args.map(([text, changed]) => (changed ? make("mark", {}, texts[text]) : texts[text]))),
      step.diff === undefined ? null : make("div", { class: "note" }, texts[step.diff])),
    make("span", { class: step.bad ? "who bad" : "who good" }, `→ ${texts[step.verdict]}`),
    make("span", { class: "who" }, ` ${texts[step.about]}`),
    make("pre", { class: step.bad ? "failed" : "went" }, words(texts[step.t])),
  ];
  const ended = ({ end: [said, color] }) => make("span", { class: `badge ${color}` }, said);
  const end = (texts, episode) => [
    ...episode.unmet.flatMap((text) => [make("span", { class: "who bad" }, "unmet "), make("span", { class: "task" }, texts[text]), make("br")]),
    ended(episode),
    ` after ${plural(episode.calls, "call")}`,
  ];

  /** How many trials of the cell ended like this. */
  const typicality = (row, episode) => {
    const [successes, scored] = row.rates[episode.condition] ?? [0, 0];
    if (!scored) { return "no scored trial"; }
    const good = episode.outcome === "success";
    const alike = good ? successes : scored - successes;
    const verb = alike === 1 ? (good ? "succeeds" : "does not succeed") : (good ? "succeed" : "do not succeed");
    return `${alike} of ${plural(scored, "trial")} ${verb}`;
  };

  const table = (row, texts, episodes) => {
    const columns = episodes.map(byCall);
    const last = Math.max(...columns.map((units) => units.length));
    const head = (episode) => make("th", { scope: "col" },
      make("div", {}, `${conditions[episode.condition]} `,
        ended(episode)),
      make("div", { class: "sure" }, `${typicality(row, episode)}; `,
        served ? make("a", { href: `episodes/${episode.episode}` }, `episode ${episode.episode}`) : `episode ${episode.episode}`));
    const cell = (units, index, column) => {
      const unit = units[index];
      const episode = episodes[column];
      // Without a head, on narrow screens, the first cell says how the episode ended.
      const label = index > 0 ? "" : `: ${episode.end[0]}; ${typicality(row, episode)}; episode ${episode.episode}`;
      return make("td", { "data-label": conditions[episode.condition] + label }, ...(unit ? [
        ...unit.before.flatMap((step) => message(texts, step)),
        ...(unit.call ? call(texts, unit.call) : []),
        ...(unit.end ? end(texts, unit.end) : []),
      ] : []));
    };
    const bodyRows = Array.from({ length: last }, (_, index) =>
      make("tr", {}, ...columns.map((units, column) => cell(units, index, column))));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Transcripts, aligned by call" },
      make("table", { class: "aligned" }, make("thead", {}, make("tr", {}, ...episodes.map(head))), make("tbody", {}, ...bodyRows)));
  };

  // Copies for other places.
  const plain = (texts, step) => (step.n === undefined
    ? { [step.m]: texts[step.t] }
    : {
      call: step.n, tool: texts[step.tool], arguments: step.args.map(([text]) => texts[text]).join(""),
      result: texts[step.verdict], tokens: step.tokens, response: texts[step.t],
    });
  const fence = (text) => {
    const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
    const marks = "`".repeat(longest + 1);
    return `${marks}\n${text}\n${marks}`;
  };
  const asMarkdown = (title, task, episodes, texts) => [
    `### ${title}`, "", fence(task), "",
    ...episodes.flatMap((episode) => [
      `#### ${conditions[episode.condition]}: ${episode.end[0]} after ${plural(episode.calls, "call")} (episode ${episode.episode})`, "",
      ...episode.steps.flatMap((step) => (step.n === undefined
        ? [`${step.m}:`, fence(texts[step.t]), ""]
        : [`Call ${step.n}:`, fence(`${texts[step.tool]} ${step.args.map(([text]) => texts[text]).join("")}`),
          `${texts[step.verdict]}, ${plural(step.tokens, "token")}:`, fence(texts[step.t]), ""])),
    ]),
  ].join("\n");
  const asJson = (names, task, episodes, texts) => JSON.stringify({
    ...names, task,
    episodes: episodes.map((episode) => ({
      episode: episode.episode, condition: conditions[episode.condition], trial: episode.trial, outcome: episode.outcome,
      calls: episode.calls, steps: episode.steps.map((step) => plain(texts, step)), unmet: episode.unmet.map((text) => texts[text]),
    })),
  }, null, 2);
  /** Fills an open row. */
  const show = async (details) => {
    const inside = details.querySelector(".inside");
    if (details.dataset.chunk === undefined || inside.querySelector(".switch")) { return; }
    if (typeof DecompressionStream === "undefined") {
      inside.prepend(make("p", { class: "note" }, "This browser cannot decompress the transcripts; the commands below show them."));
      return;
    }
    const { texts, rows: found } = await decode(Number(details.dataset.chunk));
    const row = found[details.id];
    if (!row || inside.querySelector(".switch")) { return; }
    const trials = row.trials.filter(([trial]) => row.episodes.some((episode) => episode.trial === trial));
    const known = [...new Set(row.episodes.map((episode) => episode.condition))];
    const names = { scenario: details.querySelector("summary span").textContent, agent: agents[row.agent] };
    const mine = pageState.get("open") === details.id.slice(1);
    const wanted = mine ? pageState.get("show").split(",").filter(Boolean).map(Number) : [];
    let shown = new Set(wanted.filter((condition) => known.includes(condition)));
    if (shown.size === 0) { shown = new Set(compared.filter((condition) => known.includes(condition))); }
    if (shown.size === 0) { shown = new Set(known.slice(0, 2)); }
    const asked = Number(pageState.get("trial") || "NaN");
    let trial = mine && trials.some(([number]) => number === asked) ? asked : trials[0]?.[0];

    const place = make("div");
    const status = make("span", { role: "status" });
    const episodes = () => known.filter((condition) => shown.has(condition))
      .map((condition) => row.episodes.find((episode) => episode.condition === condition && episode.trial === trial))
      .filter(Boolean);
    // The links to complete transcripts follow what is shown.
    const full = inside.querySelector("[data-full]");
    const command = full?.querySelector("code")?.textContent;
    const complete = ({ episode }) => (served ? make("a", { href: `episodes/${episode}` }, `episode ${episode}`)
      : make("code", {}, command.replace(/\d+$/, String(episode))));
    const draw = () => {
      drawTable();
      if (!full || !(served || command)) { return; }
      const links = episodes().flatMap((episode, index) => (index > 0 ? [", ", complete(episode)] : [complete(episode)]));
      full.replaceChildren(...(links.length > 0 ? ["Full transcript: ", ...links] : []));
    };
    const drawTable = () => place.replaceChildren(episodes().length > 0 ? table(row, texts, episodes()) : make("p", { class: "note" }, "Choose a condition."));
    const keep = () => pageState.set({ open: details.id.slice(1), show: [...shown].sort((a, b) => a - b).join(","), trial: trials.length > 1 ? String(trial) : "" });
    const condition = (index) => {
      const box = make("input", { type: "checkbox", value: index });
      box.checked = shown.has(index);
      box.addEventListener("change", () => {
        if (box.checked) { shown.add(index); } else { shown.delete(index); }
        draw();
        keep();
      });
      return make("label", { class: "check" }, box, conditions[index]);
    };
    const trialLabel = ([number, alike], index) =>
      (row.of === 1 ? `trial ${number}, the only one`
        : `${index === 0 ? "typical" : "different"}: trial ${number}, ${alike} of ${plural(row.of, "trial")} alike`);
    const select = make("select", {}, ...trials.map((entry, index) => make("option", { value: entry[0] }, trialLabel(entry, index))));
    select.value = String(trial);
    select.addEventListener("change", () => { trial = Number(select.value); draw(); keep(); });
    const title = () => `${names.scenario} · ${names.agent} · trial ${trial}`;
    const copies = [
      ["link", () => { keep(); return location.href; }],
      ["Markdown", () => asMarkdown(title(), texts[row.task], episodes(), texts)],
      ["JSON", () => asJson(names, texts[row.task], episodes(), texts)],
    ].map(([name, text]) => {
      const button = make("button", { type: "button" }, `Copy ${name}`);
      button.addEventListener("click", async () => { status.textContent = (await copyText(text())) ? `${name} copied` : `${name} could not be copied`; });
      return button;
    });
    inside.prepend(
      make("div", { class: "switch" },
        texts[row.about] ? make("p", { class: "note" }, texts[row.about]) : null,
        make("p", {}, make("span", { class: "who" }, "task "), make("span", { class: "task" }, texts[row.task])),
        make("div", { class: "tools" },
          trials.length > 1 ? make("label", {}, "Trial", select)
            : make("span", { class: "note" }, trials.map((entry) => trialLabel(entry, 0)).join("")),
          ...copies, status),
        known.length > 1 ? make("fieldset", { class: "tools" }, make("legend", {}, "Conditions"), ...known.map(condition)) : null),
      place);
    draw();
    if (mine) { keep(); }
  };

  rows.addEventListener("toggle", (event) => {
    const details = event.target;
    if (details.parentElement !== rows) { return; }
    if (details.open) {
      if (pageState.get("open") !== details.id.slice(1)) { pageState.set({ open: details.id.slice(1), show: "", trial: "" }); }
      void show(details);
    } else if (pageState.get("open") === details.id.slice(1)) {
      pageState.set({ open: "", show: "", trial: "" });
    }
  }, true);

  /** Opens a row anew, with the conditions in the state. */
  const open = (details) => {
    details.hidden = false;
    details.querySelectorAll(".switch, .switch + div").forEach((part) => part.remove());
    if (details.open) { void show(details); } else { details.open = true; }
    const summary = details.querySelector("summary");
    summary.scrollIntoView({ block: "start" });
    summary.focus({ preventScroll: true });
  };

  let opened = "";
  // Cells of heat maps, ranked conditions and marks of charts lead to transcripts.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-c], a[data-agent], a[href^='#e']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) { return; }
    const agent = link.dataset.agent;
    // A link to all scenarios of an agent opens the first one.
    const details = agent === undefined ? document.getElementById(link.getAttribute("href").slice(1))
      : all(":scope > details", rows).find((row) => row.dataset.agent === agent);
    if (details?.parentElement !== rows) { return; }
    event.preventDefault();
    const condition = link.dataset.c;
    // The first condition of the headline comparison stands beside the one that was chosen.
    const pair = Number(condition) === compared[0] ? compared : [compared[0], Number(condition)];
    const shown = condition === undefined ? "" : condition === "all" ? conditions.map((_, index) => index).join(",") : [...new Set(pair)].sort((a, b) => a - b).join(",");
    const filter = agent === undefined ? {} : { q: "", flips: "", agent };
    opened = "";
    pageState.apply({ ...filter, open: details.id.slice(1), show: shown, trial: "" });
  });

  // j and k go through the rows.
  document.addEventListener("keydown", (event) => {
    const step = { j: 1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { return; }
    const summaries = all(":scope > details:not([hidden]) > summary", rows);
    const at = summaries.indexOf(document.activeElement?.closest?.("#rows > details")?.querySelector("summary"));
    const next = summaries[at < 0 ? 0 : at + step];
    if (next) { event.preventDefault(); next.focus(); next.scrollIntoView({ block: "nearest" }); }
  });

  pageState.restore(() => {
    const wanted = pageState.get("open");
    const details = wanted === "" ? null : document.getElementById(`e${wanted}`);
    const key = [wanted, pageState.get("show"), pageState.get("trial")].join(" ");
    if (details?.parentElement === rows && key !== opened) { open(details); }
    opened = key;
  });
  if (/^#e\d+\.\d+$/.test(location.hash)) {
    const details = document.getElementById(location.hash.slice(1));
    if (details?.parentElement === rows) { pageState.set({ open: details.id.slice(1) }); open(details); }
  }
})();
