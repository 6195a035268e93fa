// Makes the tables of the page sortable by their headings, and filters their rows.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, n) => row.cells[n].dataset.key ?? row.cells[n].textContent;
  const headers = table.tHead.rows[0].cells;
  [...headers].forEach((header, n) => {
    const button = document.createElement("button");
    button.append(...header.childNodes);
    header.append(button);
    const sort = () => {
      const up = header.getAttribute("aria-sort") !== "ascending";
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = new Intl.Collator(undefined, {numeric: true}).compare;
      const rows = [...body.rows].map(row => [key(row, n), row]);
      rows.sort((a, b) => (up ? 1 : -1) * order(a[0], b[0]));
      body.append(...rows.map(pair => pair[1]));
    };
    button.addEventListener("click", sort);
  });
}
for (const input of document.querySelectorAll("input[data-filters]")) {
  const rows = document.getElementById(input.dataset.filters).tBodies[0].rows;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
  });
}
