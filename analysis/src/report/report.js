"use strict";
// Reads what the page has: pictures say where their data are (`data-x`, `data-supersteps`, `data-scale`, `data-panels`), and
// their tables are CSV. Moves the axes of a run together, shows values under the pointer, and links moves to explanations.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  // Data are drawn in twentieths of a pixel.
  const FINE = 20;
  const MOST_ROWS = 500;
  const tip = document.getElementById("tip");

  const make = (name, attributes, text) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const numbers = (text) => text.split(" ").map(Number);

  /** The rows of CSV without its comments; the first one is the header. */
  const parsed = (text) => {
    const rows = [];
    let row = [], cell = "", isQuoted = false;
    const body = text.replace(/^(# .*\n)*/, "");
    for (let at = 0; at < body.length; at++) {
      const character = body[at];
      if (isQuoted) {
        if (character !== '"') cell += character;
        else if (body[at + 1] === '"') { cell += '"'; at++; }
        else isQuoted = false;
      } else if (character === '"') isQuoted = true;
      else if (character === ",") { row.push(cell); cell = ""; }
      else if (character === "\n") { row.push(cell); rows.push(row); row = []; cell = ""; }
      else cell += character;
    }
    return rows;
  };

  /** A number with at most five digits; anything else as it is. */
  const shown = (text) => {
    if (text === "" || isNaN(text)) return text;
    const number = Number(text);
    return Number.isInteger(number) ? text : String(Number(number.toPrecision(5)));
  };

  /** An axis of supersteps: what part of it is shown, and how. */
  class Axis {
    constructor(first, end, scale) {
      Object.assign(this, { first, end, scale, from: first, to: end });
    }
    stretch(value) {
      return this.scale === "log" ? Math.log1p(Math.max(value - this.first, 0)) : value - this.first;
    }
    share(value) {
      const low = this.stretch(this.from), high = this.stretch(this.to);
      return (this.stretch(value) - low) / (high - low);
    }
    value(share) {
      const low = this.stretch(this.from), high = this.stretch(this.to);
      const stretched = low + share * (high - low);
      return this.first + (this.scale === "log" ? Math.expm1(stretched) : stretched);
    }
    ticks() {
      const length = this.to - this.from;
      if (this.scale === "log" && this.share(this.from + length / 10) > 0.3) {
        const ticks = [this.first];
        for (let decade = 1; decade <= length * 10; decade *= 10) {
          for (const step of [1, 2, 5]) ticks.push(this.first + decade * step);
        }
        return ticks.filter((tick) => this.from <= tick && tick <= this.to);
      }
      let step = 1;
      for (const factor of (function* () { for (;;) { yield 2; yield 2.5; yield 2; } })()) {
        if (length / step <= 10) break;
        step *= factor;
      }
      const ticks = [];
      for (let tick = Math.ceil(this.from / step) * step; tick <= this.to; tick += step) ticks.push(tick);
      return ticks;
    }
  }

  /** A picture over an axis of supersteps. */
  class Chart {
    constructor(figure, run) {
      this.figure = figure;
      this.run = run;
      this.svg = figure.querySelector("svg.plot");
      [this.left, this.right] = numbers(this.svg.dataset.x);
      this.panels = this.svg.dataset.panels.split(",").map((panel) => {
        const [top, bottom, rows] = numbers(panel);
        return { top, bottom, rows };
      });
      const [first, end] = numbers(this.svg.dataset.supersteps);
      this.drawn = new Axis(first, Math.max(end, first + 1), this.svg.dataset.scale);
      this.elements = null;
      this.cursor = make("line", { class: "cursor", y1: this.panels[0].top, y2: this.panels.at(-1).bottom, visibility: "hidden" });
      this.svg.append(this.cursor);
      this.links = [];
    }
    x(value) {
      return this.left + this.run.axis.share(value) * (this.right - this.left);
    }
    /** The positions at which elements are drawn, as supersteps. */
    read() {
      const clip = `clip-${Chart.count = (Chart.count ?? 0) + 1}`;
      const path = make("clipPath", { id: clip });
      const margin = 6;
      path.append(make("rect", {
        x: (this.left - margin) * FINE, y: 0,
        width: (this.right - this.left + 2 * margin) * FINE, height: this.svg.viewBox.baseVal.height * FINE,
      }));
      this.svg.prepend(path);
      const superstep = (x) => this.drawn.value((x / FINE - this.left) / (this.right - this.left));
      this.elements = [];
      for (const group of this.svg.querySelectorAll("g.data")) {
        group.setAttribute("clip-path", `url(#${clip})`);
        for (const element of group.querySelectorAll("rect, circle, polyline, polygon")) {
          const attribute = (name) => Number(element.getAttribute(name));
          if (element.tagName === "rect") {
            const from = superstep(attribute("x")), to = superstep(attribute("x") + attribute("width"));
            this.elements.push({ element, from, to });
          } else if (element.tagName === "circle") {
            this.elements.push({ element, at: superstep(attribute("cx")) });
          } else {
            const points = element.getAttribute("points").trim().split(" ").map((point) => {
              const [x, y] = point.split(",").map(Number);
              return [superstep(x), y];
            });
            this.elements.push({ element, points });
          }
        }
      }
    }
    update() {
      if (this.elements === null) this.read();
      // Far away is far enough, and keeps numbers short.
      const limit = (x) => Math.round(Math.min(Math.max(x, -1e4), 1e4) * FINE);
      const x = (value) => limit(this.x(value));
      for (const { element, from, to, at, points } of this.elements) {
        if (points) element.setAttribute("points", points.map(([value, y]) => `${x(value)},${y}`).join(" "));
        else if (at !== undefined) element.setAttribute("cx", x(at));
        else {
          element.setAttribute("x", x(from));
          element.setAttribute("width", Math.max(x(to) - x(from), 0));
        }
      }
      this.updateAxis();
      for (const { circle, superstep } of this.links) circle.setAttribute("cx", this.x(superstep));
    }
    updateAxis() {
      const group = this.svg.querySelector("g.x-axis");
      const label = this.svg.querySelector("text");
      const font = { "font-family": label.getAttribute("font-family"), "font-size": "13" };
      const text = { ...font, fill: "#767676", "text-anchor": "middle" };
      const parts = [];
      let last = -Infinity;
      const bottom = this.panels.at(-1).bottom;
      for (const tick of this.run.axis.ticks()) {
        const x = this.x(tick);
        if (x < this.left - 0.5 || this.right + 0.5 < x) continue;
        for (const panel of this.panels) {
          parts.push(make("line", { x1: x, x2: x, y1: panel.top, y2: panel.bottom, stroke: "#767676", opacity: 0.25 }));
        }
        if (x - last < 44) continue;
        last = x;
        parts.push(make("text", { ...text, x, y: bottom + 16 }, String(tick)));
      }
      for (const panel of this.panels) {
        parts.push(make("line", { x1: this.left, x2: this.right, y1: panel.bottom, y2: panel.bottom, stroke: "#767676" }));
      }
      const middle = (this.left + this.right) / 2;
      const scale = this.run.axis.scale === "log" ? "superstep, logarithmic" : "superstep";
      parts.push(make("text", { ...text, x: middle, y: bottom + 33 }, scale));
      group.replaceChildren(...parts);
    }
    /** The position of a pointer in pixels of the chart. */
    place(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.svg.viewBox.baseVal.width / box.width;
      return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
    }
    superstep(x) {
      const share = Math.min(Math.max((x - this.left) / (this.right - this.left), 0), 1);
      return this.run.axis.value(share);
    }
    table() {
      this.data ??= new Data(this.figure.querySelector(".csv")?.textContent ?? "");
      return this.data;
    }
    /** What there is at a place, in lines. */
    about({ x, y }) {
      const panel = this.panels.find((panel) => panel.top <= y && y <= panel.bottom);
      if (!panel || x < this.left || this.right < x) return null;
      const superstep = Math.min(Math.floor(this.superstep(x)), this.drawn.end - 1);
      // A row of the panel, or the panel itself, is a name in the first column of the table.
      const row = panel.rows ? Math.floor((y - panel.top) / (panel.bottom - panel.top) * panel.rows) : this.panels.indexOf(panel);
      const lines = this.table().find(superstep, row);
      return [`superstep ${superstep}`, ...(lines ?? [])].join("\n");
    }
  }

  /** The table of a picture. */
  class Data {
    constructor(csv) {
      const [header, ...rows] = parsed(csv);
      this.header = header ?? [];
      this.rows = rows;
      this.from = this.header.indexOf("from");
      this.to = this.header.indexOf("to");
      this.byName = new Map();
      for (const row of rows) {
        const name = this.from === 0 ? "" : row[0];
        if (!this.byName.has(name)) this.byName.set(name, []);
        this.byName.get(name).push(row);
      }
    }
    find(superstep, row) {
      if (this.from < 0) return null;
      const rows = this.from === 0 ? this.byName.get("") : [...this.byName.values()][row];
      const found = rows?.find((row) => Number(row[this.from]) <= superstep && superstep < Number(row[this.to]));
      return found?.map((cell, column) => [this.header[column].replaceAll("_", " "), cell])
        .filter(([name, cell]) => cell !== "" && name !== "from" && name !== "to")
        .map(([name, cell]) => `${name}: ${shown(cell)}`);
    }
    element() {
      const table = document.createElement("table");
      const head = table.createTHead().insertRow();
      for (const name of this.header) {
        const cell = document.createElement("th");
        cell.scope = "col";
        cell.textContent = name.replaceAll("_", " ");
        head.append(cell);
      }
      const body = table.createTBody();
      for (const row of this.rows.slice(0, MOST_ROWS)) {
        const line = body.insertRow();
        for (const cell of row) {
          const element = line.insertCell();
          element.textContent = shown(cell);
          if (cell !== "" && !isNaN(cell)) element.className = "number";
        }
      }
      if (MOST_ROWS < this.rows.length) {
        table.createCaption().textContent = `The first ${MOST_ROWS} of ${this.rows.length} rows; the file has all.`;
      }
      return table;
    }
  }

  /** A run: its pictures have one axis. */
  class Run {
    constructor() {
      this.charts = [];
      this.axis = null;
    }
    add(chart) {
      this.charts.push(chart);
      const { first, end, scale } = chart.drawn;
      if (this.axis === null) this.axis = new Axis(first, end, scale);
      else if (this.axis.end < end) this.grow(end);
    }
    /** The run goes on: what was all of it becomes all of it again, and a part stays that part. */
    grow(end) {
      if (this.isWhole()) this.axis.to = end;
      this.axis.end = end;
    }
    isWhole() {
      return this.axis.from === this.axis.first && this.axis.to === this.axis.end;
    }
    /** Forgets pictures that the page has no more, and draws new ones as those before. */
    renew() {
      this.charts = this.charts.filter((chart) => chart.figure.isConnected);
      const isDrawn = this.charts.every(({ drawn }) => drawn.scale === this.axis.scale && drawn.end === this.axis.end);
      if (!this.isWhole() || !isDrawn) this.update();
    }
    show(from, to) {
      const { first, end } = this.axis;
      const least = Math.min(5, end - first);
      const length = Math.min(Math.max(to - from, least), end - first);
      this.axis.from = Math.min(Math.max(from, first), end - length);
      this.axis.to = this.axis.from + length;
      this.update();
    }
    /** Shows a part around the middle, `factor` times as long. */
    zoom(factor, around = 0.5) {
      const { from, to } = this.axis;
      const middle = this.axis.value(around);
      this.show(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }
    move(share) {
      const { from, to } = this.axis;
      const length = to - from;
      this.show(from + share * length, to + share * length);
    }
    all() {
      this.show(this.axis.first, this.axis.end);
    }
    rescale() {
      this.axis.scale = this.axis.scale === "log" ? "linear" : "log";
      this.update();
    }
    update() {
      for (const chart of this.charts) chart.update();
    }
    point(superstep) {
      for (const { cursor, drawn, ...chart } of this.charts) {
        const isHidden = superstep === null || superstep < this.axis.from || this.axis.to < superstep;
        cursor.setAttribute("visibility", isHidden ? "hidden" : "visible");
        if (isHidden) continue;
        const x = chart.left + this.axis.share(superstep) * (chart.right - chart.left);
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
      }
    }
  }

  /** Opens what a fragment names, with all around it, and moves the focus there. */
  const reveal = (id) => {
    const target = document.getElementById(id);
    if (!target) return;
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
    }
    target.scrollIntoView({ block: "start" });
    (target.querySelector("summary") ?? target).focus({ preventScroll: true });
  };

  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const button = (label, text, act) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.title = label;
    element.setAttribute("aria-label", label);
    element.addEventListener("click", act);
    return element;
  };

  const showTip = (text, event) => {
    tip.hidden = text === null;
    if (text === null) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(Math.min(event.clientX + 16, innerWidth - box.width - 8), 8)}px`;
    tip.style.top = `${Math.max(Math.min(event.clientY + 16, innerHeight - box.height - 8), 8)}px`;
  };

  const tools = (chart) => {
    const { run, figure } = chart;
    const bar = document.createElement("div");
    bar.className = "axis";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Axis of all pictures of the run");
    bar.append(
      button("Show half as many supersteps", "+", () => run.zoom(0.5)),
      button("Show twice as many supersteps", "−", () => run.zoom(2)),
      button("Show earlier supersteps", "←", () => run.move(-0.5)),
      button("Show later supersteps", "→", () => run.move(0.5)),
      button("Show all supersteps", "all", () => run.all()),
      button("Linear or logarithmic axis", "linear / log", () => run.rescale()),
    );
    // Beside the buttons that save.
    const saving = figure.querySelector(".tools");
    if (saving) saving.prepend(bar);
    else figure.append(bar);
  };

  const keys = (chart) => {
    const { run } = chart;
    const acts = {
      "+": () => run.zoom(0.5), "=": () => run.zoom(0.5), "-": () => run.zoom(2), "0": () => run.all(),
      ArrowLeft: () => run.move(-0.25), ArrowRight: () => run.move(0.25), l: () => run.rescale(),
    };
    chart.svg.tabIndex = 0;
    chart.svg.addEventListener("keydown", (event) => {
      const act = event.target === chart.svg && !event.ctrlKey && !event.metaKey && acts[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  };

  const pointer = (chart) => {
    const { svg, run } = chart;
    let begun = null, range = null;
    svg.addEventListener("pointermove", (event) => {
      const place = chart.place(event);
      if (begun !== null) {
        const [low, high] = [begun, place.x].sort((one, other) => one - other);
        range.setAttribute("x", Math.max(low, chart.left));
        range.setAttribute("width", Math.max(Math.min(high, chart.right) - Math.max(low, chart.left), 0));
      }
      const text = chart.about(place);
      run.point(text === null ? null : chart.superstep(place.x));
      showTip(text, event);
    });
    svg.addEventListener("pointerleave", () => {
      run.point(null);
      showTip(null);
    });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch" || event.target.closest("a")) return;
      const place = chart.place(event);
      if (place.x < chart.left || chart.right < place.x) return;
      begun = place.x;
      const { top } = chart.panels[0], { bottom } = chart.panels.at(-1);
      range = make("rect", { class: "range", x: begun, y: top, width: 0, height: bottom - top });
      svg.append(range);
      svg.setPointerCapture(event.pointerId);
    });
    const end = (event) => {
      if (begun === null) return;
      const [low, high] = [begun, chart.place(event).x].sort((one, other) => one - other);
      begun = null;
      range.remove();
      if (event.type === "pointerup" && 4 < high - low) run.show(chart.superstep(low), chart.superstep(high));
    };
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("dblclick", () => run.all());
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const share = (chart.place(event).x - chart.left) / (chart.right - chart.left);
      run.zoom(event.deltaY < 0 ? 0.8 : 1.25, Math.min(Math.max(share, 0), 1));
    }, { passive: false });
  };

  /** Links every move of a timeline to its explanation; arrow keys lead from one to the next. */
  const link = (chart) => {
    const source = chart.figure.querySelector("script.moves");
    if (!source) return;
    const rows = new Map([...chart.table().byName.keys()].map((name, row) => [name, row]));
    const panel = chart.panels[0];
    const links = [];
    for (const move of JSON.parse(source.textContent)) {
      const row = rows.get(move.process);
      if (row === undefined || move.anchor === null) continue;
      const label = `${move.process} moved from ${move.from} to ${move.to} after superstep ${move.superstep}`;
      const link = make("a", { href: `#${move.anchor}`, "aria-label": label, tabindex: links.length === 0 ? 0 : -1 });
      const y = panel.top + (row + 0.5) * (panel.bottom - panel.top) / panel.rows;
      const circle = make("circle", { class: "hit", cx: chart.x(move.superstep), cy: y, r: 8 });
      circle.append(make("title", {}, `${label}: why?`));
      link.append(circle);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        history.pushState(null, "", `#${move.anchor}`);
        reveal(move.anchor);
      });
      chart.links.push({ circle, superstep: move.superstep });
      links.push(link);
    }
    if (links.length === 0) return;
    const group = make("g", { class: "moves", role: "group", "aria-label": "Moves" });
    group.append(...links);
    chart.svg.append(group);
    // The children of an image are not read.
    chart.svg.setAttribute("role", "group");
    chart.svg.setAttribute("aria-label", chart.svg.querySelector("title").textContent);
    group.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const at = links.indexOf(event.target);
      const next = links[at + step];
      if (step === undefined || at < 0) return;
      event.preventDefault();
      event.stopPropagation();
      if (!next) return;
      event.target.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  };

  /** Buttons for the data of a table and, beside it, of a picture. */
  const downloads = (details) => {
    const { file } = details.dataset;
    const csv = details.querySelector(".csv");
    const svg = details.parentElement.querySelector(":scope > svg");
    const bar = document.createElement("div");
    bar.className = "tools";
    bar.append(button("Save the data as CSV", "save CSV", () => save(`${file}.csv`, "text/csv", csv.textContent)));
    if (svg) {
      const original = svg.outerHTML;
      bar.append(button("Save the picture as SVG", "save SVG", () => save(`${file}.svg`, "image/svg+xml", original)));
    }
    details.before(bar);
    const fill = () => {
      if (!details.open || csv.hidden) return;
      const scroll = document.createElement("div");
      scroll.className = "scroll";
      scroll.tabIndex = 0;
      scroll.append(new Data(csv.textContent).element());
      csv.hidden = true;
      details.append(scroll);
    };
    details.addEventListener("toggle", fill);
    // It may be open from the beginning.
    fill();
  };

  const runs = new Map();
  /** Gives the pictures and tables in `part` what can be done with them. */
  const begin = (part) => {
    for (const details of part.querySelectorAll("details.data")) downloads(details);
    for (const figure of part.querySelectorAll("figure.picture")) {
      if (!figure.querySelector("svg.plot")) continue;
      const name = figure.dataset.run;
      if (!runs.has(name)) runs.set(name, new Run());
      const run = runs.get(name);
      const chart = new Chart(figure, run);
      run.add(chart);
      tools(chart);
      keys(chart);
      pointer(chart);
      link(chart);
    }
  };
  begin(document);
  // While a run goes on, the parts of its page are replaced.
  document.addEventListener("replaced", (event) => begin(event.target));
  document.addEventListener("renewed", () => {
    for (const run of runs.values()) run.renew();
  });
  addEventListener("hashchange", () => reveal(location.hash.slice(1)));
  if (location.hash) reveal(location.hash.slice(1));
})();
