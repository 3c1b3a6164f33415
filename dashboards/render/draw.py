#!/usr/bin/env python3
"""Draws boards from what Prometheus answers to their panels, with Chromium as the pencil.

    dashboards/render/draw.py --prometheus http://localhost:9090 --minutes 60

What a panel is (query, unit, colours, thresholds, stacking, place) is read from the boards' files: a panel that shows
nothing here shows nothing in Grafana.
"""

import argparse
import html
import json
import math
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ROOT / "dashboards" / "boards"
WIDTH, GAP, ROW, MARGIN = 1440, 12, 27, 24
POINTS = 240
INK, SOFT, FAINT, LINE = "#1f2733", "#5d6878", "#98a2b0", "#e9ecf0"
PALETTE = ["#5b8ff9", "#3fa66f", "#e0a030", "#8e6bd1", "#2fa4a4", "#d46a9f", "#a5794f", "#9aa3af"]


def boards():
    return {path.stem: json.loads(path.read_text()) for path in sorted(BOARDS.glob("*.json"))}


def filled(board, expression):
    """An expression with its variables filled in, everything chosen."""
    text = expression.replace("$__rate_interval", "30s")
    for variable in board["templating"]["list"]:
        value = variable.get("query") if variable["type"] == "textbox" else variable.get("allValue")
        if value:
            text = text.replace(f"${variable['name']}", value)
    return text


def ask(prometheus, end, seconds):
    """Every panel's answers: {board: {panel: [[labels, [[time, value], …]], …]}}."""
    answers, step = {}, max(2, round(seconds / POINTS))
    for name, board in boards().items():
        answers[name] = {}
        for panel in board["panels"]:
            found = []
            for target in panel["targets"]:
                query = urllib.parse.urlencode({"query": filled(board, target["expr"]), "start": end - seconds,
                                                "end": end, "step": step})
                with urllib.request.urlopen(f"{prometheus}/api/v1/query_range?{query}", timeout=60) as answer:
                    for series in json.load(answer)["data"]["result"]:
                        points = [(at, float(value)) for at, value in series["values"]]
                        found.append([legend(target, series["metric"]), [p for p in points if math.isfinite(p[1])]])
            answers[name][str(panel["id"])] = [series for series in found if series[1]]
    return {"from": end - seconds, "to": end, "boards": answers}


def legend(target, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), target["legendFormat"])


def number(value, digits=3):
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled(value, names, base):
    index = 0
    while abs(value) >= base and index < len(names) - 1:
        value, index = value / base, index + 1
    return number(value) + names[index]


def shown(value, unit, decimals=None):
    """A value in its unit, as short as it can be."""
    if unit == "percentunit":
        return f"{value * 100:.{1 if decimals is None else decimals}f}".removesuffix(".0") + " %"
    if unit == "s":
        if abs(value) >= 7200:
            return number(value / 3600) + " h"
        if abs(value) >= 120:
            return number(value / 60) + " min"
        if 0 < abs(value) < 1:
            return number(value * 1000) + " ms"
        return number(value) + " s"
    if unit == "currencyUSD":
        return f"${value:,.{decimals}f}" if decimals is not None else f"${number(value)}"
    if unit in ("bytes", "Bps"):
        return scaled(value, [" B", " KiB", " MiB", " GiB"], 1024) + ("/s" if unit == "Bps" else "")
    if unit == "short" and decimals is not None:
        return f"{value:,.{decimals}f}"
    return scaled(value, ["", " K", " M", " G"], 1000) + {"opm": " /min", "ops": " /s"}.get(unit, "")


def nice(top):
    """The least round number that is not below `top`, and the step of four lines to it."""
    if top <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(top / 4))
    return next(step * power * 4 for step in (1, 1.5, 2, 2.5, 3, 4, 5, 10) if step * power * 4 >= top * 0.999)


def nice_bytes(top):
    power = 1024 ** max(0, math.floor(math.log(max(top, 1), 1024)))
    return nice(top / power) * power if top / power > 4 else nice(top / (power / 1024)) * (power / 1024)


def nice_seconds(top):
    for step in (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400):
        if step * 4 >= top:
            return step * 4.0
    return nice(top)


def text(x, y, words, size=12, color=SOFT, weight=400, anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" font-weight="{weight}" '
            f'text-anchor="{anchor}">{html.escape(str(words))}</text>')


def clipped(words, width, size):
    room = int(width / (size * 0.52))
    return words if len(words) <= room else words[: room - 1].rstrip() + "…"


def colors(panel, names):
    fixed = {}
    for override in panel["fieldConfig"]["overrides"]:
        fixed[override["matcher"]["options"]] = override["properties"][0]["value"]["fixedColor"]
    spare = iter(PALETTE * 4)
    return {name: fixed.get(name) or next(spare) for name in names}


def threshold(panel, value):
    color = panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"]
    for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1:]:
        if value >= step["value"]:
            color = step["color"]
    return color


def path(points):
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def stat(panel, series, box, times):
    x, y, w, h = box
    unit = panel["fieldConfig"]["defaults"]["unit"]
    decimals = panel["fieldConfig"]["defaults"].get("decimals")
    if not series:
        return text(x + 16, y + 70, "–", 26, FAINT, 600)
    points = series[0][1]
    value = points[-1][1]
    color = threshold(panel, value)
    top = max(1e-9, max(v for _, v in points)) * 1.15
    place = lambda at, v: (x + (at - times[0]) / (times[1] - times[0]) * w, y + h - 1 - v / top * 22)
    line = [place(*point) for point in points]
    area = path(line + [(line[-1][0], y + h), (line[0][0], y + h)]) + "Z"
    return (f'<path d="{area}" fill="{color}" opacity=".10"/><path d="{path(line)}" fill="none" stroke="{color}" '
            f'stroke-width="1.25" opacity=".55"/>' + text(x + 16, y + 66, shown(value, unit, decimals), 26, color, 600))


def bars(panel, series, box):
    x, y, w, h = box
    unit = panel["fieldConfig"]["defaults"]["unit"]
    rows = sorted(((points[-1][1], name) for name, points in series), reverse=True)[:5]
    top = max([value for value, _ in rows] + [1])
    out = []
    if not any(value for value, _ in rows):
        return text(x + w / 2, y + h / 2 + 12, "none", 13, FAINT, anchor="middle")
    rows = [(value, name) for value, name in rows if value]
    for index, (value, name) in enumerate(rows):
        at, width, color = y + 48 + index * 31, w - 32, threshold(panel, value)
        out.append(text(x + 16, at + 4, name, 12, INK if value else FAINT))
        out.append(text(x + w - 16, at + 4, shown(value, unit), 12, INK if value else FAINT, 600, "end"))
        out.append(f'<rect x="{x + 16}" y="{at + 10}" width="{width}" height="6" rx="3" fill="{LINE}"/>')
        out.append(f'<rect x="{x + 16}" y="{at + 10}" width="{max(0, width * value / top):.1f}" height="6" rx="3" fill="{color}"/>')
    return "".join(out)


def chart(panel, series, box, times):
    x, y, w, h = box
    defaults = panel["fieldConfig"]["defaults"]
    unit, stacked = defaults["unit"], defaults["custom"]["stacking"]["mode"] == "normal"
    tint = colors(panel, [name for name, _ in series])
    drawn = [one for one in series if any(v for _, v in one[1])] or series
    left, right, above = x + 66, x + w - 18, y + 46
    rows = rows_of([name for name, _ in drawn], right - left - 80)
    below = y + h - 54 - 17 * (len(rows) - 1)
    stack, layers = {}, []
    for name, points in drawn:
        if stacked:
            lower = [(at, stack.get(at, 0)) for at, _ in points]
            for at, value in points:
                stack[at] = stack.get(at, 0) + value
            layers.append((name, [(at, stack[at]) for at, _ in points], lower))
        else:
            layers.append((name, points, None))
    top = max([v for _, points, _ in layers for _, v in points] + [0])
    for step in defaults["thresholds"]["steps"][1:]:
        if "thresholdsStyle" in defaults["custom"] and step["value"] < top * 4:
            top = max(top, step["value"] * 1.05)
    round_up = nice_bytes if unit in ("bytes", "Bps") and top else nice_seconds if unit == "s" and top > 20 else nice
    top = round_up(top)
    if defaults.get("max") is not None:
        top = min(top, defaults["max"])
    across = lambda at: left + (at - times[0]) / (times[1] - times[0]) * (right - left)
    up = lambda value: below - min(value / top, 1.02) * (below - above)
    out = []
    for index in range(5):
        value = top * index / 4
        out.append(f'<line x1="{left}" x2="{right}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke="{LINE}"/>')
        out.append(text(left - 8, up(value) + 4, shown(value, unit), 11, FAINT, anchor="end"))
    for step in defaults["thresholds"]["steps"][1:]:
        if "thresholdsStyle" in defaults["custom"] and step["value"] <= top:
            out.append(f'<line x1="{left}" x2="{right}" y1="{up(step["value"]):.1f}" y2="{up(step["value"]):.1f}" '
                       f'stroke="{step["color"]}" stroke-dasharray="4 4" opacity=".7"/>')
    length = times[1] - times[0]
    every = next(step for step in (60, 120, 300, 600, 900, 1800, 3600, 7200, 21600) if length / step <= 7)
    tick = math.ceil(times[0] / every) * every
    while tick <= times[1]:
        if left + 12 < across(tick) < right - 8:
            out.append(text(across(tick), below + 17, time.strftime("%H:%M", time.gmtime(tick)), 11, FAINT, anchor="middle"))
        tick += every
    for name, points, lower in layers:
        line = [(across(at), up(v)) for at, v in points]
        if lower is not None:
            floor = [(across(at), up(v)) for at, v in reversed(lower)]
            out.append(f'<path d="{path(line + floor)}Z" fill="{tint[name]}" opacity=".5"/>')
            out.append(f'<path d="{path(line)}" fill="none" stroke="{tint[name]}" stroke-width="1" stroke-linejoin="round"/>')
        else:
            out.append(f'<path d="{path(line)}" fill="none" stroke="{tint[name]}" stroke-width="1.75" stroke-linejoin="round"/>')
    out.append(legends(rows, tint, len(drawn) - sum(map(len, rows)), len(series) - len(drawn), left, below + 38))
    return "".join(out)


def rows_of(names, width):
    """Names in rows that fit, two at most; what does not fit is only counted."""
    rows, used = [[]], 0
    for name in names:
        wide = 27 + len(name) * 6.3
        if used + wide > width and rows[-1]:
            rows.append([])
            used = 0
        rows[-1].append((name, used))
        used += wide
    return rows[:2]


def legends(rows, tint, count, at_zero, left, y):
    """What the colours mean; series at zero are only counted."""
    out, end = [], left
    for index, row in enumerate(rows):
        for name, at in row:
            out.append(f'<rect x="{left + at:.1f}" y="{y + index * 17 - 6}" width="10" height="4" rx="2" fill="{tint[name]}"/>')
            out.append(text(left + at + 15, y + index * 17, name, 11.5))
            end = left + at + 27 + len(name) * 6.3
    more = [f"{count} more"] if count else []
    more += [f"{at_zero} at zero"] if at_zero else []
    if more:
        out.append(text(end, y + (len(rows) - 1) * 17, "+ " + ", ".join(more), 11.5, FAINT))
    return "".join(out)


def board_svg(board, answers, times):
    unit = (WIDTH - 2 * MARGIN + GAP) / 24
    head = 84
    out, bottom = [], 0
    for panel in board["panels"]:
        grid = panel["gridPos"]
        box = (MARGIN + grid["x"] * unit, head + grid["y"] * ROW, grid["w"] * unit - GAP, grid["h"] * ROW - GAP)
        x, y, w, h = box
        bottom = max(bottom, y + h)
        series = answers[str(panel["id"])]
        draw = {"stat": lambda: stat(panel, series, box, times), "bargauge": lambda: bars(panel, series, box),
                "timeseries": lambda: chart(panel, series, box, times)}[panel["type"]]
        out.append(f'<clipPath id="p{panel["id"]}"><rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}" rx="8"/></clipPath>'
                   f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}" rx="8" fill="#fff" stroke="#e4e7ec"/>'
                   f'<g clip-path="url(#p{panel["id"]})">{draw()}</g>' + text(x + 16, y + 27, clipped(panel["title"], w - 24, 13), 13, INK, 600))
    name = board["title"].split("·")[1].strip()
    top = (text(MARGIN, 40, "listen", 20, FAINT, 600) + text(MARGIN + 66, 40, name, 20, INK, 600)
           + text(MARGIN, 63, board["description"], 13.5, SOFT)
           + text(WIDTH - MARGIN, 40, time.strftime("%H:%M", time.gmtime(times[0])) + " – "
                  + time.strftime("%H:%M", time.gmtime(times[1])) + " UTC", 13, SOFT, anchor="end"))
    height = int(bottom + MARGIN)
    return height, (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                    f'font-family="Inter, Liberation Sans, sans-serif"><rect width="100%" height="100%" fill="#f6f7f9"/>{top}{"".join(out)}</svg>')


def pictures(answers, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, board in boards().items():
        height, drawing = board_svg(board, answers["boards"][name], (answers["from"], answers["to"]))
        with tempfile.TemporaryDirectory(prefix="listen-draw-") as place:
            page = Path(place) / "page.html"
            page.write_text(f"<!doctype html><meta charset=utf-8><style>body{{margin:0}}svg{{display:block}}</style>{drawing}")
            picture = Path(place) / "picture.png"
            subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            f"--user-data-dir={place}/profile", f"--window-size={WIDTH},{height}",
                            f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True)
            if shutil.which("pngquant"):  # a third of the size, and no eye can tell
                subprocess.run(["pngquant", "--force", "--speed=1", "--output", picture, "192", picture], check=True)
            shutil.copy(picture, folder / f"{name}.png")
        print(f"{name}.png  {(folder / f'{name}.png').stat().st_size // 1024} KB")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--prometheus", help="where to ask")
    words.add_argument("--answers", type=Path, help="draw what `play.py --keep` kept instead")
    words.add_argument("--minutes", type=float, default=60, help="how far back")
    words.add_argument("--out", type=Path, default=ROOT / "dashboards" / "pictures", help="where the pictures go")
    asked = words.parse_args()
    if asked.answers:
        answers = json.loads(asked.answers.read_text())
    elif asked.prometheus:
        answers = ask(asked.prometheus.rstrip("/"), time.time(), asked.minutes * 60)
    else:
        words.error("--prometheus or --answers")
    pictures(answers, asked.out)


if __name__ == "__main__":
    main()
