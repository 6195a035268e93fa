"""The frame of the pages: escaped, self-contained, with unique ids."""

import re
from html.parser import HTMLParser

import pytest

from estimator_bridge.output.html_page import POLICY
from trainer.reporting import html

pytestmark = pytest.mark.quick

HOSTILE = "</pre><script>alert(1)</script><img src=//evil.example onerror=x()>\"'\u202e"


class Page(HTMLParser):
    """Collects the tags, the attributes and the ids of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    @property
    def ids(self):
        return [value for name, value in self.attributes if name == "id"]


def draw(label):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=html.SERIES[0], label=label)
    axes.set_title(label, color=html.INK)
    axes.legend()
    return figure


def hostile_page():
    table = html.table([HOSTILE, "n"], [[HOSTILE, 1], ["x", float("nan")]], HOSTILE)
    figures = html.figures([html.figure(draw(HOSTILE), f"{HOSTILE}{i}", HOSTILE) for i in (1, 2)])
    parts = html.paragraph(HOSTILE), html.preformatted(HOSTILE, HOSTILE), table, figures
    return html.page(HOSTILE, [html.section(HOSTILE, *parts, html.details(HOSTILE, table))])


def test_hostile_names_and_values_are_text():
    page = Page(hostile_page())
    assert not {"script", "img", "iframe", "object", "link"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "\u202e" not in hostile_page()


def test_a_page_makes_no_request():
    page = Page(hostile_page())
    links = [v for n, v in page.attributes if n in ("src", "href", "xlink:href", "data", "action")]
    assert links and all(link.startswith("#") for link in links)
    assert not re.search(r"@import|url\((?!#)", hostile_page())
    assert ("content", POLICY) in page.attributes


def test_ids_are_unique_and_references_have_a_target():
    page = Page(hostile_page())
    assert len(page.ids) == len(set(page.ids))
    targets = [v[1:] for n, v in page.attributes if n in ("href", "xlink:href")]
    assert set(targets) <= set(page.ids)


def test_figures_take_their_colors_from_the_page():
    drawn = html.figure(draw("a"), "a")
    assert "currentColor" in drawn and "var(--series-1)" in drawn
    assert not [color for color in html.COLORS if color in drawn]


def test_numbers_are_readable():
    shown = [html.text(value) for value in (0.0, 0.5, 1e-6, 1234567, None, float("nan"), "a&b")]
    assert shown == ["0.0000", "0.5000", "1e-06", "1,234,567", "–", "–", "a&amp;b"]
