"""Reads the pages as a browser would: their texts, and what their buttons ask."""

from html.parser import HTMLParser
from urllib.parse import urlencode

CONFIG = {"connector.class": "org.example.Known", "pin": "1234567", "topics": "lines", "name": "orders"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Text(HTMLParser):
    """What somebody reads on a page, and each element that is opened and closed."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self, page):
        super().__init__()
        self.words, self.open, self.elements = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data.split()

    def __str__(self):
        return " ".join(self.words)


def shown(client, path, status=200):
    answer = client.get(path)
    assert answer.status_code == status
    return Text(answer.text)


def pressed(client, path, **fields):
    """What a button of a page does."""
    return client.post(path, content=urlencode(fields), headers=FORM)


def fields(page):
    """Those of keys."""
    return {attrs["name"]: attrs for tag, attrs in page.elements if attrs.get("name", "").startswith("key:")}
