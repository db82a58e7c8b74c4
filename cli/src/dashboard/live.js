// Keeps the page of a run up to date: on news, it is fetched again, and the sections of it that have changed are replaced.
"use strict";
(() => {
  const state = document.createElement("div");
  state.setAttribute("role", "status");
  Object.assign(state.style, {
    position: "fixed", right: "1rem", bottom: "1rem", maxWidth: "60ch", padding: "0.3rem 0.8rem",
    borderRadius: "0.4rem", color: "#fff", background: "#444", font: "0.85rem system-ui, sans-serif",
    whiteSpace: "pre-wrap", zIndex: "9",
  });
  document.body.append(state);
  const say = (text, color) => {
    state.textContent = text;
    state.style.background = color;
  };

  const sections = (page) => [...page.querySelectorAll("main > section")];
  const name = (section) => section.id || section.getAttribute("aria-labelledby");
  // What the server has sent: the page's own script, which comes next, changes what is there.
  const sent = new Map(sections(document).map((section) => [name(section), section.outerHTML]));
  const summary = (details) => details.querySelector(":scope > summary")?.textContent ?? "";
  /** How `details` are found again. */
  const key = (details) => details.id || `${details.dataset.file ?? ""} ${summary(details)}`;

  /** Replaces a section; what was opened in it is opened, and what had the focus has it. */
  const replace = (old, next) => {
    const opened = new Map([...old.querySelectorAll("details")].map((details) => [key(details), details.open]));
    const focus = old.contains(document.activeElement) ? document.activeElement.closest("details, figure") : null;
    for (const details of next.querySelectorAll("details")) details.open = opened.get(key(details)) ?? details.open;
    old.replaceWith(next);
    next.dispatchEvent(new CustomEvent("replaced", { bubbles: true }));
    if (focus === null) return;
    const again = focus.localName === "details"
      ? [...next.querySelectorAll("details")].find((details) => key(details) === key(focus))?.querySelector("summary")
      : next.querySelector(`figure[data-kind="${focus.dataset.kind}"] svg`);
    again?.focus({ preventScroll: true });
  };

  /** Does `change`; what is at the top of the window stays there. */
  const steadily = (change) => {
    const top = sections(document).find((section) => 0 < section.getBoundingClientRect().bottom);
    const id = top && name(top);
    const before = top?.getBoundingClientRect().top;
    change();
    const after = sections(document).find((section) => name(section) === id);
    // What is above it may have become longer.
    if (after) scrollBy(0, after.getBoundingClientRect().top - before);
  };
  // The same, by the browser, would count twice.
  document.documentElement.style.overflowAnchor = "none";

  const update = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    document.title = page.title;
    steadily(() => {
      let isRenewed = false;
      for (const next of sections(page)) {
        const html = next.outerHTML;
        const old = sections(document).find((section) => name(section) === name(next));
        if (sent.get(name(next)) === html || !old) continue;
        sent.set(name(next), html);
        replace(old, document.adoptNode(next));
        isRenewed = true;
      }
      if (isRenewed) document.dispatchEvent(new CustomEvent("renewed"));
    });
  };

  let isOver = false;
  let isStale = false;
  let fetching = null;
  const fetchAll = async () => {
    while (isStale) {
      isStale = false;
      const answer = await fetch("/", { cache: "no-store" });
      if (!answer.ok) throw new Error(await answer.text());
      update(await answer.text());
    }
  };
  /** Several news during a fetch, or while the page is not visible, are one. */
  const refresh = async () => {
    isStale = true;
    if (document.hidden && !isOver) return;
    fetching ??= fetchAll().finally(() => { fetching = null; });
    await fetching;
  };
  const tryToRefresh = () => refresh().catch(() => { /* The next news try again. */ });

  const source = new EventSource("/events");
  source.addEventListener("open", () => say("live", "#2a6b3c"));
  source.addEventListener("message", tryToRefresh);
  source.addEventListener("error", () => {
    if (!isOver) say("no connection to the run: it may have ended", "#8a2c2c");
  });
  source.addEventListener("end", async (event) => {
    isOver = true;
    const how = JSON.parse(event.data);
    try {
      await refresh();
      say(how, "#444");
    } catch {
      say(`${how}\nThis page may lack the last supersteps.`, "#8a2c2c");
    }
    // The server waits for this.
    source.close();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isStale && !isOver) tryToRefresh();
  });
})();
