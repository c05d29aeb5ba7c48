
// Marks of charts say their values while the pointer or the focus is on them.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  // The name of the mark says the same.
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  const show = (event) => {
    const mark = event.target.closest?.(".mark");
    if (!mark) { hide(); return; }
    // Marks may lie upon each other: the pointer is on all of them.
    const marks = event.type === "pointerover"
      ? document.elementsFromPoint(event.clientX, event.clientY).map((element) => element.closest(".mark")).filter(Boolean) : [];
    const names = new Set([mark, ...marks].map((one) => one.getAttribute("aria-label")));
    tip.textContent = [...names].join("\n");
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const left = Math.min(Math.max(4, box.left + box.width / 2 - tip.offsetWidth / 2), root().clientWidth - tip.offsetWidth - 4);
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 0 ? above : box.bottom + 6) + scrollY}px`;
  };
  const root = () => document.documentElement;
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { hide(); } });
})();
