// Keeps the filters in the address, counts what they leave, and makes every cell of the grid a way to its clause.
// Hiding is done by the style sheet, so that the page filters without this script as well.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const form = document.getElementById("filters");
  const grids = [...document.querySelectorAll("table.grid")];
  if (!form || !grids.length) return;

  const status = document.getElementById("count");
  const inGrids = (selector) => grids.flatMap((grid) => [...grid.querySelectorAll(selector)]);
  const firstOf = (grid) => (grid.querySelector("td.range") ? 2 : 1);
  const rows = inGrids(".clauses tr:not(.source)");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const since = document.getElementById("since");
  const PLAIN = { conforms: "td:not([class])", not_applicable: "td.na" };
  const many = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  const read = () => {
    const wanted = new URLSearchParams(location.search || location.hash.replace(/^#\?/, ""));
    for (const box of boxes) box.checked = (wanted.get(box.name) ?? "").split(",").includes(box.value);
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
    const query = [...chosen].map(([name, values]) => `${name}=${values.join(",")}`).join("&");
    const place = query ? `?${query}` : location.pathname;
    try {
      history.replaceState(null, "", place);
    } catch {
      location.hash = query ? `?${query}` : ""; // where a file may not change its own query
    }
  };

  const visible = (element) => element.getClientRects().length > 0;

  // A row stays for a state only if a cell with that state stays too: the style sheet cannot ask for both.
  const settle = () => {
    for (const body of inGrids(".clauses")) body.hidden = false;
    for (const row of rows) row.hidden = false;
    const states = boxes.filter((box) => box.name === "state" && box.checked).map((box) => box.value);
    if (states.length && boxes.some((box) => box.name === "release" && box.checked)) {
      const cells = states.map((state) => PLAIN[state] ?? `td.${state}`).join(",");
      // All rows are checked before the first one is hidden; otherwise the page would be laid out again for each.
      const shown = new Map(grids.map((grid) => {
        const heads = [...grid.querySelectorAll("thead tr:last-child th")];
        const first = firstOf(grid);
        return [grid, new Set(heads.flatMap((head, place) => (visible(head) ? [place + first] : [])))];
      }));
      for (const row of rows) {
        const columns = shown.get(row.closest("table"));
        row.hidden = ![...row.querySelectorAll(cells)].some((cell) => columns.has(cell.cellIndex));
      }
    }
    const left = rows.filter(visible);
    const bodies = new Set(left.map((row) => row.parentElement));
    for (const body of inGrids(".clauses")) body.hidden = !bodies.has(body);
    const columns = inGrids(".targets td:not(.range)").filter(visible).length;
    const all = left.length === rows.length ? "" : ` of ${rows.length}`;
    status.textContent = `${left.length}${all} ${rows.length === 1 ? "clause" : "clauses"}, ${many(columns, "target")} shown.`;
  };

  form.addEventListener("change", () => { write(); settle(); });
  form.addEventListener("reset", () => setTimeout(() => {
    for (const box of boxes) box.checked = false;
    if (since) since.value = "";
    write();
    settle();
  }));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("popstate", () => { read(); settle(); });

  for (const grid of grids) grid.addEventListener("click", (event) => {
    const cell = event.target.closest(".clauses td");
    if (!cell || event.target.closest("a") || String(getSelection())) return;
    const clause = cell.parentElement.querySelector("th a");
    const target = grid.querySelectorAll("thead tr:last-child th a")[cell.cellIndex - firstOf(grid)];
    const anchor = target ? `#${target.getAttribute("href").replace(/^targets\//, "").replace(/\.html$/, "")}` : "";
    location.href = clause.getAttribute("href") + anchor;
  });

  read();
  settle();
})();
