"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts-data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue("--" + name).trim();
  const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

  // Greatest width of the labels of rows.
  const rowLabels = (width) => Math.min(280, Math.round(width * 0.45));

  // The colours of the page, light or dark, and the layout for a width in pixels.
  const theme = (width) => {
    const [ink, soft, line] = ["ink", "soft", "line"].map(colour);
    const category = Array.from({ length: 33 }, (_, n) => colour("series-" + (n + 1)));
    const ramp = [colour("ramp-low"), colour("ramp-high")];
    return {
      aria: false, // the figure is one picture with a name, and its numbers are below it
      background: "transparent",
      font,
      axis: {
        labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: 500,
        labelFontSize: 11, titleFontSize: 12, titlePadding: 8, titleLimit: Math.max(width - 40, 160),
      },
      axisY: { labelLimit: rowLabels(width), titleLimit: 300 },
      header: { labelColor: ink, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, labelLimit: width - 40 },
      legend: {
        labelColor: ink, titleColor: ink, orient: "top", labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500,
        gradientThickness: 10,
        titleOrient: "left", titleLimit: width / 2, symbolStrokeWidth: 2.5,
      },
      view: { stroke: line },
      style: { "cell-high": { color: colour("paper") } },
      mark: { color: category[0], aria: false },
      rule: { color: category[0] },
      text: { color: ink },
      range: { category, heatmap: ramp, ramp },
    };
  };

  // Colours that a chart names by number, and colours of numbers on a heat map, come from the page.
  const recolour = (spec, encoding) => {
    const numbers = spec.usermeta?.series;
    if (numbers) encoding.color.scale.range = numbers.map((n) => colour("series-" + n));
    if (!spec.config?.style) return;
    delete spec.config.style;
    // From here on the shade is closer to the ink than to the paper.
    for (const param of spec.params ?? []) if (param.name === "dark_from" && dark.matches) param.value = 0.4;
  };

  const labels = (spec, field) => [...new Set(spec.data.values.map((row) => String(row[field])))];

  // Width of a text of this many characters.
  const textWidth = (characters) => 7 * characters;

  const longest = (texts) => Math.max(0, ...texts.map((text) => String(text).length));

  // The axis beside the plot takes the width of its labels. Their lines are separated by a line break or a dot.
  const axisWidth = (spec, encoding, width) => {
    const rows = encoding?.y;
    if (spec.spec || !rows?.field || rows.type === "quantitative") return 60;
    const lines = labels(spec, rows.field).flatMap((label) => label.split(/\n| · /));
    return Math.min(textWidth(longest(lines)), rowLabels(width)) + 20;
  };

  // Legends have as many columns as fit over the plot. They share its width, or are below each other if they do not fit
  // side by side.
  const legends = (spec, encoding, width) => {
    const room = width - axisWidth(spec, encoding, width);
    const layers = ((spec.spec ?? spec).layer ?? []).map((layer) => layer.encoding);
    const channels = [encoding, ...layers].flatMap((own) => [own?.color, own?.strokeDash, own?.shape]);
    const shown = channels.filter((own) => own?.field && own.legend !== null);
    const titleWidth = (own) => textWidth((own.title === undefined ? own.field : own.title ?? "").length);
    for (const own of shown.filter(({ type }) => type === "quantitative")) {
      own.legend = { gradientLength: Math.max(60, Math.min(160, room - titleWidth(own) - 40)), ...own.legend };
    }
    const all = shown.filter(({ type }) => type !== "quantitative").map((own) => {
      const isAbove = titleWidth(own) > width / 3;
      const column = Math.min(textWidth(longest(own.scale?.domain ?? labels(spec, own.field))), 300) + 30;
      return { own, isAbove, column, beside: isAbove ? 0 : titleWidth(own) };
    });
    // Channels of one field have one legend.
    const needs = new Map(all.map(({ own, column, beside }) => [own.field, column + beside]));
    const need = [...needs.values()].reduce((sum, one) => sum + one, 0);
    const isStacked = width < 560 || need > room;
    for (const { own, isAbove, column, beside } of all) {
      const fit = (isStacked ? room : (room * needs.get(own.field)) / need) - beside;
      const columns = Math.max(1, Math.min(own.legend?.columns ?? 6, Math.floor(fit / column)));
      own.legend = { ...own.legend, columns, labelLimit: Math.max(80, Math.min(300, fit - 30)) };
      if (isAbove) own.legend.titleOrient = "top";
    }
    spec.config = { ...spec.config, legend: { layout: { direction: isStacked ? "vertical" : "horizontal", margin: 4 } } };
  };

  const embed = (place, spec, name, width) => {
    const options = {
      mode: "vega-lite", actions: false, config: theme(width),
      renderer: name.startsWith("wear-map") ? "canvas" : "svg", // which has many cells
      tooltip: { theme: dark.matches ? "dark" : "light" },
    };
    return vegaEmbed(place, spec, options);
  };

  // Panels have their own width, which is adjusted by the resulting width of the whole chart.
  const panels = async (place, spec, name, width) => {
    const count = labels(spec, spec.facet.field).length;
    spec.columns = Math.max(1, Math.min(count, Math.floor(width / 420)));
    spec.spec.width = Math.max(60, width / spec.columns - 70);
    let result;
    for (let n = 0; n < 4; n += 1) {
      result?.finalize();
      result = await embed(place, spec, name, width);
      const off = width - place.firstElementChild.getBoundingClientRect().width;
      if (off >= 0 && off < 4) break;
      spec.spec.width = Math.max(60, spec.spec.width + Math.floor((off - 1) / spec.columns));
    }
    return result;
  };

  const views = new Map();
  const draw = async ({ name, spec }) => {
    const figure = document.getElementById("chart-" + name);
    const width = figure.clientWidth;
    const { title, description, ...own } = structuredClone(spec); // the page has both as text
    recolour(own, own.encoding ?? own.spec?.encoding);
    legends(own, own.encoding ?? own.spec?.encoding, width);
    const place = document.createElement("div");
    place.className = "drawing";
    figure.replaceChildren(place);
    views.get(name)?.finalize();
    views.delete(name);
    try {
      if (!own.spec) {
        own.width = "container";
        if (typeof own.height === "object") own.autosize = { type: "fit-x", contains: "padding" };
      }
      const result = own.spec ? await panels(place, own, name, width) : await embed(place, own, name, width);
      if (place.parentElement !== figure) return void result.finalize(); // it was redrawn meanwhile
      views.set(name, result);
      for (const attribute of ["role", "aria-roledescription", "aria-label"]) place.removeAttribute(attribute);
      figure.parentElement.querySelector(".save").hidden = false;
    } catch (error) {
      figure.textContent = String(error);
    }
  };

  // The data of a chart: a column for each field. Cells of a map are numbers without one.
  const csv = (name) => {
    const rows = charts.find((chart) => chart.name === name).spec.data.values.map((row) => (typeof row === "object" ? row : { value: row }));
    const fields = [...new Set(rows.flatMap(Object.keys))];
    const field = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const lines = [fields, ...rows.map((row) => fields.map((name) => String(row[name] ?? "")))];
    return "data:text/csv;charset=utf-8," + encodeURIComponent(lines.map((line) => line.map(field).join(",") + "\n").join(""));
  };

  const save = async ({ currentTarget: { dataset } }) => {
    const link = document.createElement("a");
    link.download = `${dataset.chart}.${dataset.kind}`;
    link.href = dataset.kind === "csv" ? csv(dataset.chart) : await views.get(dataset.chart).view.toImageURL(dataset.kind, 2);
    link.click();
  };
  document.querySelectorAll(".save button").forEach((button) => button.addEventListener("click", save));

  let drawn = 0;
  const redraw = () => {
    drawn = document.documentElement.clientWidth;
    charts.forEach(draw);
  };
  redraw();
  dark.addEventListener("change", redraw);
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    if (document.documentElement.clientWidth !== drawn) timer = setTimeout(redraw, 150);
  });
})();
