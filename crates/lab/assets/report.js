"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Okabe and Ito's colours for all kinds of sight; their black and yellow replaced by what both papers carry.
  // On the dark one the blue is lighter, to be seen.
  const colours = () => [dark.matches ? "#3d9be0" : "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7fd6", "#8c8c8c", "#a0622d"];
  const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const [ink, soft, line] = ["--ink", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
    const category = colours();
    const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
    return {
      background: "transparent",
      font,
      axis: {
        labelColor: soft, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: 500,
        labelFontSize: 11, titleFontSize: 12, titlePadding: 8,
      },
      legend: {
        labelColor: ink, titleColor: ink, orient: "top", labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500,
        labelLimit: 300, gradientLength: 160, gradientThickness: 10, titleOrient: "left", symbolStrokeWidth: 2.5,
      },
      view: { stroke: line },
      mark: { color: category[0] },
      range: {
        category,
        heatmap: { scheme: dark.matches ? "darkblue" : "blues" },
        ramp: { scheme: dark.matches ? "darkblue" : "blues" },
      },
      axisY: { labelLimit: 280 },
    };
  };
  const draw = () => {
    for (const { name, spec } of charts) {
      const { title, ...untitled } = spec; // the page has it as a heading
      untitled.width = "container";
      if (typeof untitled.height === "object") untitled.autosize = { type: "fit-x", contains: "padding" };
      const manyCells = name.startsWith("wear-map");
      const options = {
        mode: "vega-lite",
        renderer: manyCells ? "canvas" : "svg",
        config: theme(),
        actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: name,
        tooltip: { theme: dark.matches ? "dark" : "light" },
      };
      const place = document.getElementById("chart-" + name);
      vegaEmbed(place, untitled, options).catch((error) => { place.textContent = String(error); });
    }
  };
  draw();
  dark.addEventListener("change", draw);
})();
