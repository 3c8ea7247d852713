"use strict";
document.documentElement.classList.add("js");

// Filters the rows and columns of a grid or of the list of rules, keeps the filters in the address, counts what they
// leave, and makes every cell a way to its rule. Without this script the form is hidden, and everything is shown.
(() => {
  const form = document.getElementById("filters");
  const grid = document.querySelector("table.grid, table.rules");
  if (!form || !grid) return;

  const status = document.getElementById("count");
  const bodies = [...grid.querySelectorAll(".clauses")];
  const rows = [...grid.querySelectorAll(".clauses tr:not(.source)")];
  const rules = rows.filter((row) => !row.matches(".absent"));
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const since = document.getElementById("since");
  const find = form.elements.q;
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const many = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  const chosen = (name) => boxes.filter((box) => box.name === name && box.checked);
  const values = (name) => chosen(name).map((box) => box.value);

  // The columns of a grid, each with its block: the targets of one product or major, and a cell for all of them if
  // they are folded. What conforms or does not apply has no class, to keep the page small.
  const isGrid = grid.matches(".grid");
  const first = grid.querySelector("thead .range") ? 2 : 1;
  const heads = isGrid ? [...grid.querySelectorAll("thead tr:last-child th")] : [];
  const blockOf = (head) => Number(/\bc(\d+)\b/.exec(head.className)[1]);
  const columns = heads.map((head) => ({ head, block: blockOf(head), isFold: head.matches(".fold") }));
  const cellsOf = (row) => [...row.cells].slice(first);
  const verdictOf = (cell) => cell.className || (cell.firstChild ? "conforms" : "not_applicable");
  const verdicts = new Map(isGrid ? rules.map((row) => [row, cellsOf(row).map(verdictOf)]) : []);
  const blocks = new Map();
  columns.forEach(({ head, block, isFold }, index) => {
    if (!blocks.has(block)) blocks.set(block, { name: "", verdicts: new Set() });
    if (isFold) blocks.get(block).name = head.dataset.block;
    else for (const row of rules) blocks.get(block).verdicts.add(verdicts.get(row)[index].replace("blank", "not_applicable"));
  });
  if (rules.length < rows.length) for (const block of blocks.values()) block.verdicts.add("not_applicable");
  const releases = boxes.filter((box) => box.name === "release");
  const isChosen = (block) => !chosen("release").length || Boolean(releases[block]?.checked);

  // A block of columns stays if it is chosen, and has one of the chosen verdicts in any row.
  const settleColumns = () => {
    const states = values("state");
    const open = new Set(values("open"));
    const stays = ([block, { verdicts: own }]) => isChosen(block) && (!states.length || states.some((state) => own.has(state)));
    const shown = new Set([...blocks].filter(stays).map(([block]) => block));
    const isHidden = (block, isFold) => {
      const { name } = blocks.get(block);
      return !shown.has(block) || (name !== "" && isFold === open.has(name));
    };
    for (const head of grid.querySelectorAll("thead :is(.fold, .single)")) {
      head.hidden = isHidden(blockOf(head), head.matches(".fold"));
    }
    const hidden = columns.map(({ block, isFold }) => isHidden(block, isFold));
    for (const row of [...grid.querySelectorAll(".targets tr"), ...rules]) {
      const own = verdicts.get(row);
      cellsOf(row).forEach((cell, index) => {
        cell.hidden = hidden[index];
        // On a narrow screen, where a row is a card, only the chosen cells are left in it.
        cell.toggleAttribute("data-other", Boolean(states.length && own && !states.includes(own[index])));
      });
    }
  };

  // A row stays if it has one of the chosen values of each kind; a verdict counts in the chosen columns alone.
  const keeping = () => {
    const [states, levels, roles] = ["state", "level", "role"].map(values);
    const sources = chosen("source").map((box) => `.rows-${box.id}`);
    const words = find.value.toLowerCase().split(/\s+/);
    const counts = columns.map(({ block }) => isChosen(block));
    const hasState = (row) => {
      if (!isGrid) return states.some((state) => row.classList.contains(`has-${state}`));
      const own = verdicts.get(row) ?? [];
      return own.some((verdict, index) => states.includes(verdict) && counts[index]);
    };
    return (row) => (!states.length || hasState(row))
      && (!levels.length || levels.some((level) => row.classList.contains(level)))
      && (!roles.length || roles.some((role) => row.classList.contains(`binds-${role}`)))
      && (!sources.length || sources.some((source) => row.parentElement.matches(source)))
      && (!since?.value || row.dataset.changed >= since.value)
      && words.every((word) => texts.get(row).includes(word));
  };

  const read = () => {
    const wanted = new URLSearchParams(location.search || location.hash.replace(/^#\?/, ""));
    for (const box of boxes) box.checked = (wanted.get(box.name) ?? "").split(",").includes(box.value);
    find.value = wanted.get("q") ?? "";
    if (since) {
      since.value = wanted.get("since") ?? "";
      if (since.selectedIndex < 0) since.value = "";
    }
  };

  const write = () => {
    const chosen = new Map();
    for (const box of boxes.filter((each) => each.checked)) {
      chosen.set(box.name, [...(chosen.get(box.name) ?? []), encodeURIComponent(box.value)]);
    }
    if (since && since.value) chosen.set("since", [since.value]);
    if (find.value) chosen.set("q", [encodeURIComponent(find.value)]);
    const query = [...chosen].map(([name, values]) => `${name}=${values.join(",")}`).join("&");
    const place = query ? `?${query}` : location.pathname;
    try {
      history.replaceState(null, "", place);
    } catch {
      location.hash = query ? `?${query}` : ""; // where a file may not change its own query
    }
  };

  const visible = (element) => element.getClientRects().length > 0;

  // The heading of a source goes with its last row.
  const settleRows = () => {
    const isKept = keeping();
    for (const row of rows) row.hidden = !isKept(row);
    for (const body of bodies) body.hidden = false;
    const left = rows.filter(visible);
    const kept = new Set(left.map((row) => row.parentElement));
    for (const body of bodies) body.hidden = !kept.has(body);
    const shown = left.filter((row) => !row.matches(".absent")).length;
    const all = shown === rules.length ? "" : ` of ${rules.length}`;
    const columns = [...grid.querySelectorAll(".targets td:not(.range)")].filter(visible).length;
    status.textContent = `${shown}${all} ${status.dataset.noun}${rules.length === 1 ? "" : "s"}${columns ? `, ${many(columns, "column")}` : ""} shown.`;
  };

  const settle = () => {
    if (isGrid) settleColumns();
    settleRows();
  };

  find.addEventListener("input", () => { write(); settleRows(); });
  form.addEventListener("change", () => { write(); settle(); });
  form.addEventListener("reset", () => setTimeout(() => {
    for (const box of boxes) box.checked = false;
    if (since) since.value = "";
    find.value = "";
    write();
    settle();
  }));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("popstate", () => { read(); settle(); });

  read();
  settle();
  if (!isGrid) return;

  grid.addEventListener("click", (event) => {
    if (event.target.closest("a") || String(getSelection())) return;
    const fold = event.target.closest("th.fold");
    if (fold) boxes.find((box) => box.name === "open" && box.value === fold.dataset.block)?.click();
    const cell = event.target.closest(".clauses tr:not(.absent) td");
    if (!cell) return;
    const target = heads[cell.cellIndex - first]?.querySelector("a");
    const anchor = target ? `#${target.getAttribute("href").replace(/^targets\//, "").replace(/\.html$/, "")}` : "";
    location.href = cell.parentElement.querySelector("th a").getAttribute("href") + anchor;
  });
})();

// Leads from two chosen releases to their page, the older one first.
(() => {
  for (const form of document.querySelectorAll("form.upgrade")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { from, to } = form.elements;
      const [newer, older] = [from, to].sort((one, other) => one.selectedIndex - other.selectedIndex);
      if (newer.value !== older.value) {
        location.href = `${form.dataset.root}upgrade/${older.value}-${newer.value}.html`;
      }
    });
  }
})();

// Finds rules, products and failures by their words; what can be found is loaded when the box is used first.
(() => {
  const place = document.querySelector(".search");
  if (!place) return;
  const MOST = 12;
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const box = make("input", { type: "search", placeholder: "Search", autocomplete: "off" });
  box.setAttribute("aria-label", "Search rules, products and failures");
  const list = make("ul", { hidden: true });
  const said = make("p", { className: "hidden" });
  said.setAttribute("role", "status");
  place.append(box, list, said);

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = window.searchEntries ?? [];
    const left = words.length ? all.filter((entry) => {
      const text = `${entry[0]} ${entry[1]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    }) : [];
    list.replaceChildren(...left.slice(0, MOST).map(([title, more, href]) => {
      const item = make("li", {});
      const link = make("a", { href: place.dataset.root + href, textContent: title });
      item.append(link, make("small", { textContent: ` ${more}` }));
      return item;
    }));
    if (words.length && !left.length) list.append(make("li", { textContent: "Nothing found" }));
    list.hidden = !list.children.length;
    said.textContent = words.length ? `${left.length} found` : "";
  };

  const load = () => {
    const script = make("script", { src: `${place.dataset.root}search.js`, onload: show });
    document.head.append(script);
  };
  box.addEventListener("focus", load, { once: true });
  box.addEventListener("input", show);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { box.value = ""; show(); box.focus(); }
    if (event.key === "Enter" && event.target === box) list.querySelector("a")?.click();
  });
  place.addEventListener("focusout", (event) => {
    if (!place.contains(event.relatedTarget)) list.hidden = true;
  });
  place.addEventListener("focusin", () => { list.hidden = !list.children.length; });
})();
