#!/usr/bin/env python3
"""Draws the rates of one, two and more GPUs from a result of two-gpus, as SVG.

plot.py RESULT.json OUT.svg
"""
import json
import sys

SORTS = {
    "u32": "u32:none:2^30:uniform",
    "u32 + u32": "u32:u32:2^30:uniform",
    "u64": "u64:none:2^30:uniform",
}
COLOURS = ["#1f6feb", "#d1242f", "#2da44e"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 320, 60, 40, 20, 110


def rates(result, sort):
    """Returns [(GPUs, 10^9 records per second)], ascending."""
    found = {}
    for part in ("copies-on-two", "copies"):
        for row in result.get(part, {}).get("rows", []):
            if row["sort"] == sort and "seconds" in row:
                found[row["ranks"]] = row["records_per_second"] * 1e-9
                if "one_device_seconds" in row:
                    found[1] = row["records_of_a_rank"] / row["one_device_seconds"] * 1e-9
    return sorted(found.items())


def main():
    with open(sys.argv[1]) as file:
        result = json.load(file)
    curves = {name: rates(result, sort) for name, sort in SORTS.items()}
    most_gpus = max(gpus for curve in curves.values() for gpus, _ in curve)
    most_rate = 1.1 * max(rate for curve in curves.values() for _, rate in curve)

    def x(gpus):
        return LEFT + (WIDTH - LEFT - RIGHT) * (gpus - 1) / max(most_gpus - 1, 1)

    def y(rate):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rate / most_rate

    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for rate in range(0, int(most_rate) + 1, 25):
        svg.append(f'<path d="M{LEFT} {y(rate):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        svg.append(f'<text x="{LEFT - 8}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate}</text>')
    for gpus in sorted({g for curve in curves.values() for g, _ in curve}):
        label = f"{gpus} GPUs" if gpus > 1 else "1 GPU"
        at = f'x="{x(gpus):.1f}" y="{HEIGHT - BOTTOM + 18}"'
        svg.append(f'<text {at} text-anchor="middle">{label}</text>')
    title = "10⁹ records/s, 2^30 uniform records on each GPU"
    svg.append(f'<text x="{LEFT - 45}" y="{TOP - 6}">{title}</text>')
    for colour, (name, curve) in zip(COLOURS, curves.items()):
        path = "L".join(f"{x(g):.1f} {y(r):.1f}" for g, r in curve)
        svg.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for g, r in curve:
            svg.append(f'<circle cx="{x(g):.1f}" cy="{y(r):.1f}" r="3.5" fill="{colour}"/>')
        g, r = curve[-1]
        at = f'x="{x(g) + 8:.1f}" y="{y(r) + 4:.1f}"'
        svg.append(f'<text {at} fill="{colour}">{name}: {r:.0f}</text>')
    svg.append("</svg>\n")
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(svg))


main()
