# Draws charts and prints the texts of each by their roles, and faults in their layout. Reads [{"name", "width", "spec"}] and writes text.
import json
import re
import sys
import xml.etree.ElementTree as tree

import vl_convert

SVG = "{http://www.w3.org/2000/svg}"


def fitted(spec, width):
    """The drawing, with panels fitted to the width as on the command line."""
    drawn = vl_convert.vegalite_to_svg(spec)
    for _ in range(4 if "spec" in spec else 0):
        off = width - float(re.search(r'<svg[^>]*?\swidth="([0-9.]+)', drawn)[1])
        if abs(off) < 0.5:
            break
        spec["spec"]["width"] = max(20, spec["spec"]["width"] + off)
        drawn = vl_convert.vegalite_to_svg(spec)
    return drawn


def moved(element, at):
    """The position of an element, and whether it is rotated."""
    text = element.get("transform", "")
    turned = "rotate" in text
    for x, y in re.findall(r"translate\(([-0-9.e]+)[, ]([-0-9.e]+)\)", text):
        at = (at[0] + float(x), at[1] + float(y))
    return at, turned


def texts(element, at=(0.0, 0.0), role=""):
    """All texts: the role of their mark, their content, and their box unless they are rotated."""
    at, turned = moved(element, at)
    role = next((name[5:] for name in element.get("class", "").split() if name.startswith("role-")), role)
    if element.tag == SVG + "text" and element.get("opacity", "1") != "0":
        size = float(element.get("font-size", "10px").removesuffix("px"))
        lines = [line.text or "" for line in element.iter(SVG + "tspan")] or [element.text or ""]
        # A low estimate of the mean width of sans-serif characters, so that reported overlaps are real.
        wide = 0.42 * size * max(map(len, lines))
        left = at[0] - {"start": 0, "middle": wide / 2, "end": wide}[element.get("text-anchor", "start")]
        box = None if turned else (left, at[1] - 0.6 * size, left + wide, at[1] + size * (len(lines) - 1))
        yield role, " / ".join(lines), box
    for inner in element:
        yield from texts(inner, at, role)


def overlap(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


for chart in json.load(sys.stdin):
    root = tree.fromstring(fitted(chart["spec"], chart["width"]))
    width, height = (float(root.get(side)) for side in ("width", "height"))
    found = [one for one in texts(root) if one[1]]
    print(f"{chart['name']} at {chart['width']:.0f}")
    if abs(width - chart["width"]) > 1:
        print(f"  TAKES {width:.0f}")
    roles = []
    for role, *_ in found:
        if role not in roles:
            roles.append(role)
    for role in roles:
        print(f"  {role}: {' | '.join(text for own, text, _ in found if own == role)}")
    boxed = [(text, box) for _, text, box in found if box]
    for n, (text, box) in enumerate(boxed):
        if box[0] < -1 or box[2] > width + 1 or box[1] < -1 or box[3] > height + 1:
            print(f"  OUTSIDE: {text}")
        for other, its in boxed[:n]:
            if overlap(box, its):
                print(f"  OVER EACH OTHER: {other} and {text}")
    # Names that are shortened in the data are not cut off.
    data = json.dumps(chart["spec"], ensure_ascii=False)
    for line in {line for _, text, _ in found for line in text.split(" / ")}:
        if "\N{HORIZONTAL ELLIPSIS}" in line and line not in data:
            print(f"  CUT OFF: {line}")
