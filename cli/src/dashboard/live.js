// Keeps the page of a run up to date: on news, it is fetched again, and what has changed is replaced.
"use strict";
{
  const state = document.createElement("div");
  state.setAttribute("role", "status");
  Object.assign(state.style, {
    position: "fixed", right: "1rem", bottom: "1rem", maxWidth: "60ch", padding: "0.3rem 0.8rem",
    borderRadius: "0.4rem", color: "#fff", background: "#444", font: "0.85rem system-ui, sans-serif",
    whiteSpace: "pre-wrap", zIndex: "9",
  });
  // Beside the body, which is replaced.
  document.documentElement.append(state);
  const say = (text, color) => {
    state.textContent = text;
    state.style.background = color;
  };

  // Gives `old` the attributes and the contents of `next`. What is equal is left alone, and so is the state of opened details.
  const patch = (old, next) => {
    for (const { name } of [...old.attributes]) {
      const isState = name === "open" && old.localName === "details";
      if (!isState && !next.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    const before = [...old.childNodes];
    const after = [...next.childNodes];
    after.forEach((child, index) => {
      const there = before[index];
      if (!there) {
        old.append(child);
      } else if (there.isEqualNode(child)) {
        // As it should be.
      } else if (there.nodeType === Node.ELEMENT_NODE && there.nodeName === child.nodeName && there.id === child.id) {
        patch(there, child);
      } else if (there.nodeType === Node.TEXT_NODE && child.nodeType === Node.TEXT_NODE) {
        there.data = child.data;
      } else {
        there.replaceWith(child);
      }
    });
    before.slice(after.length).forEach((child) => child.remove());
  };

  let fetching = null;
  let isStale = false;
  const refresh = async () => {
    // Several news during a fetch, or in a tab that is not visible, are one.
    isStale = true;
    if (fetching) return fetching;
    if (document.hidden && !isOver) return undefined;
    fetching = (async () => {
      while (isStale) {
        isStale = false;
        const answer = await fetch("/", { cache: "no-store" });
        if (!answer.ok) throw new Error(await answer.text());
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        document.title = next.title;
        patch(document.body, next.body);
      }
    })();
    try {
      await fetching;
    } finally {
      fetching = null;
    }
    return undefined;
  };

  let isOver = false;
  const source = new EventSource("/events");
  source.addEventListener("open", () => say("live", "#2a6b3c"));
  source.addEventListener("message", () => refresh().catch(() => {}));
  source.addEventListener("error", () => {
    if (!isOver) say("no connection to the run: it may have ended", "#8a2c2c");
  });
  source.addEventListener("end", async (event) => {
    isOver = true;
    const how = JSON.parse(event.data);
    try {
      await refresh();
      say(`${how}\nThis page is complete.`, "#444");
    } catch {
      say(`${how}\nThis page may lack the last supersteps.`, "#8a2c2c");
    }
    // The server waits for this.
    source.close();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && isStale && !isOver) refresh().catch(() => {});
  });
}
