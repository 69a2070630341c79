# SPDX-License-Identifier: BSD-2-Clause
"""What the report says, without drawing: every number of ours is a row's, what lacks is told."""
import re
import unittest

import papers
import report


def _filled():
    """Rows for all figures, each with a value of its own, by the file's own selectors."""
    rows = []

    def add(selector, key=None, xs=(None,)):
        for x in xs:
            row = {"value": 1000.5 + len(rows), "clock": "simulated", **selector}
            if key is not None:
                row[key] = x
            rows.append(row)

    for entry in papers.yaml.safe_load(papers.PAPERS.read_text())["figures"]:
        for item in entry.get("items", []):
            for selector in [*item.get("ours", {}).values(), item.get("limit")]:
                if selector and "value" not in selector:
                    add(selector)
        for series in entry.get("series", []):
            xs = [64] + [point["x"] for point in series.get("paper", []) if "x" in point]
            for which in ("ours", "limit"):
                if which in series:
                    add(series[which], entry["x"]["key"], xs)
    return rows


class Papers(unittest.TestCase):
    def test_without_rows_every_figure_with_something_to_measure_is_missing(self):
        figures = papers.load([])
        self.assertGreater(len(figures), 8)
        self.assertTrue(all(figure.missing() for figure in figures))
        self.assertTrue(all(row.ours is None for figure in figures for row in figure.rows()))

    def test_with_every_row_nothing_is_missing_and_every_value_is_one_of_a_row(self):
        rows = _filled()
        values = {row["value"] for row in rows}
        for figure in papers.load(rows):
            self.assertFalse(figure.missing(), figure.id)
            for bar in figure.bars:
                self.assertLessEqual(set(bar.ours.values()), values, figure.id)
            for line in figure.lines:
                self.assertLessEqual({y for _, y in line.ours + line.limit}, values, figure.id)
                self.assertTrue(line.ours, figure.id)

    def test_a_row_of_another_profile_is_not_taken(self):
        rows = [{"name": "push.goodput_mbps", "profile": "dc-25g", "size": 64, "value": 1}]
        self.assertTrue(all(figure.missing() for figure in papers.load(rows)))

    def test_a_best_value_stands_beside_our_best_with_the_limit_of_its_size(self):
        rows = [{"name": f"push.{what}_mbps", "profile": "rhinet2", "size": size, "value": value}
                for what, size, value in (("goodput", 64, 90), ("goodput", 4096, 470),
                                          ("limit", 64, 384), ("limit", 4096, 482))]
        figure = next(f for f in papers.load(rows) if f.id == "rhinet2-push")
        row = figure.rows()[0]
        self.assertEqual((row.paper, row.ours, row.limit), (469, 470, 482))

    def test_every_figure_says_why_the_values_differ_in_one_line(self):
        for figure in papers.load([]):
            self.assertTrue(10 < len(figure.why) < 240 and "\n" not in figure.why.strip(), figure.id)


class Report(unittest.TestCase):
    def page(self, rows):
        figures = papers.load(rows)
        return figures, report.page(figures, ["<svg></svg>"] * len(figures), ["a < b"])

    def test_the_page_holds_everything_itself(self):
        figures, page = self.page(_filled())
        self.assertEqual(page.count("<svg>"), len(figures))
        self.assertIsNone(re.search(r'(src|href)="(?!#)', page))
        self.assertIn("a &lt; b", page)

    def test_what_was_not_measured_is_shown_as_missing_and_has_no_number(self):
        figures, page = self.page([])
        self.assertEqual(page.count("Missing:"), len(figures))
        self.assertNotIn('n ours">', page)

    def test_what_was_measured_stands_in_the_page(self):
        rows = _filled()
        page = self.page(rows)[1]
        figure = next(f for f in papers.load(rows) if f.id == "expether-pbl-share")
        self.assertIn(f'ours">{report.number(figure.rows()[0].ours)}<', page)


if __name__ == "__main__":
    unittest.main()
