"use strict";
// Sorts, filters and copies the tables of the elements of class `sheet`; without this script they are plain tables.
(() => {
  const make = (name, attributes, ...inside) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  };
  const shown = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".ratio, [aria-hidden], details, .unseen").forEach((part) => part.remove());
    return copy.textContent.trim().replace(/\s+/g, " ");
  };
  const text = (cell) => cell.dataset.csv ?? cell.dataset.value ?? shown(cell);
  const number = (cell) => (cell.dataset.value === undefined ? NaN : Number(cell.dataset.value));
  const isGroup = (row) => row.cells.length === 1 && row.cells[0].classList.contains("group");
  const isSeen = (row) => row.getClientRects().length > 0;

  // The rows of each body sorted by a column; rows of a group stay with its head. Rows without a number come last.
  const sort = (table, column, direction) => {
    for (const body of table.tBodies) {
      const all = [...body.rows];
      all.forEach((row, n) => { row.dataset.place ??= n; });
      const place = (row) => Number(row.dataset.place);
      const compare = (a, b) => {
        if (direction === 0 || isGroup(a) || isGroup(b)) return place(a) - place(b);
        const [x, y] = [number(a.cells[column]), number(b.cells[column])];
        if (!Number.isNaN(x) && !Number.isNaN(y)) return direction * (x - y) || place(a) - place(b);
        if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
        const words = text(a.cells[column]).localeCompare(text(b.cells[column]), undefined, { numeric: true });
        return direction * words || place(a) - place(b);
      };
      body.append(...all.sort(compare));
    }
  };

  const sortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button", class: "sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        const direction = before === "ascending" ? -1 : before === "descending" ? 0 : 1;
        if (direction !== 0) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        sort(table, column, direction);
      });
    });
  };

  const filter = (tables, words) => {
    const wanted = words.trim().toLowerCase();
    for (const table of tables) {
      const title = (table.dataset.group ?? "").toLowerCase();
      for (const body of table.tBodies) {
        const rows = [...body.rows];
        const head = rows.find(isGroup);
        const group = title + " " + (head?.textContent ?? "").toLowerCase();
        let any = false;
        for (const row of rows.filter((row) => row !== head)) {
          row.hidden = !(group.includes(wanted) || row.textContent.toLowerCase().includes(wanted));
          any ||= !row.hidden;
        }
        if (head) head.hidden = !any;
        if (table.dataset.group !== undefined) table.hidden = !any;
      }
    }
  };

  const quoted = (field) => (/[",\n\r]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

  // The visible rows. Groups, units and intervals are separate columns, where there are any.
  const csv = (tables) => {
    const rows = tables.flatMap((table) => {
      let group = table.dataset.group ?? "";
      return [...table.tBodies].flatMap((body) => [...body.rows].flatMap((row) => {
        if (isGroup(row)) {
          group = shown(row.cells[0]);
          return [];
        }
        return isSeen(row) ? [{ group, cells: [...row.cells] }] : [];
      }));
    });
    const heads = [...tables[0].tHead.rows[0].cells];
    const has = (column, key) => rows.some(({ cells }) => cells[column]?.dataset[key] !== undefined);
    const columns = heads.flatMap((head, column) => [
      { head: text(head), of: (cell) => text(cell) },
      ...(has(column, "half") ? [{ head: text(head) + " ±", of: (cell) => cell.dataset.half ?? "" }] : []),
      ...(has(column, "unit") ? [{ head: "unit", of: (cell) => cell.dataset.unit ?? "" }] : []),
    ].map((one) => ({ ...one, column })));
    const grouped = rows.some(({ group }) => group !== "");
    const lines = rows.map(({ group, cells }) => [...(grouped ? [group] : []), ...columns.map(({ column, of }) => of(cells[column]))]);
    const all = [[...(grouped ? ["group"] : []), ...columns.map(({ head }) => head)], ...lines];
    return { rows: lines.length, text: all.map((line) => line.map(quoted).join(",") + "\n").join("") };
  };

  // Pages from the network have no clipboard unless they are encrypted; the old command works there.
  const copy = async (words) => {
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      const area = make("textarea", { "aria-hidden": "true" });
      area.value = words;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      if (!done) throw new Error("the browser does not allow it");
    }
  };

  for (const sheet of document.querySelectorAll(".sheet")) {
    const tables = [...sheet.querySelectorAll("table")];
    const { name } = sheet.dataset;
    const field = make("input", { type: "search", "aria-label": "Rows with these words: " + name, placeholder: "words" });
    const button = make("button", { type: "button", "aria-label": `Copy ${name} as CSV` }, "Copy as CSV");
    const told = make("span", { role: "status" });
    field.addEventListener("input", () => filter(tables, field.value));
    button.addEventListener("click", async () => {
      const { rows, text: words } = csv(tables);
      try {
        await copy(words);
        told.textContent = `${rows} rows copied`;
      } catch (error) {
        told.textContent = String(error);
      }
    });
    sheet.wordline = { csv: () => csv(tables).text }; // for tests
    sheet.prepend(make("div", { class: "tools" }, make("label", {}, "Rows with ", field), button, told));
    tables.forEach(sortable);
  }
})();
