(() => {
  for (const table of document.querySelectorAll("table.vd-rows")) {
    const body = table.tBodies[0], head = table.tHead.rows[0], rows = [...body.rows];
    const box = document.createElement("input"), said = document.createElement("span");
    const bar = document.createElement("p");
    box.type = "search";
    box.placeholder = "Filter rows";
    box.setAttribute("aria-label", "Filter rows");
    said.setAttribute("role", "status");
    bar.className = "vd-filter";
    bar.append(box, said);
    table.parentNode.before(bar);
    box.oninput = () => {
      const wanted = box.value.toLowerCase();
      let n = 0;
      for (const row of rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        n += !row.hidden;
      }
      said.textContent = n + " of " + rows.length + " rows";
    };
    [...head.cells].forEach((cell, i) => {
      const button = document.createElement("button");
      let up = false;
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.onclick = () => {
        up = !up;
        const key = (row) => row.cells[i].dataset.n ?? row.cells[i].textContent;
        rows.sort((a, b) => {
          const x = key(a), y = key(b);
          const order = isNaN(x) || isNaN(y) ? x.localeCompare(y, undefined, {numeric: true}) : x - y;
          return up ? order : -order;
        });
        body.append(...rows);
        for (const other of head.cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      };
    });
  }
})();
