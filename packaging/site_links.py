"""site_links.py FOLDER: checks every link and picture of a built site: within it for its target and anchor, out of it for its form.
Prints each that leads nowhere; the exit status is 1 if there is one."""

import functools
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))
        for name in ("href", "src"):
            if values.get(name) and tag not in ("base",):
                self.links.append(values[name])


@functools.cache
def page(path):
    return Page(path.read_text())


def problem_of(path, link, root):
    parts = urllib.parse.urlsplit(link)
    if parts.scheme:
        sound = parts.scheme in ("https", "http") and parts.netloc or parts.scheme in ("mailto", "data", "javascript")
        return "" if sound else "its form is wrong"
    target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root) or not target.is_file():
        return "there is no such file"
    anchor = urllib.parse.unquote(parts.fragment)
    if target.suffix == ".html" and anchor not in page(target).anchors and not anchor.startswith("__"):
        return "there is no such place in it"
    return ""


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = 0
    checked = 0
    for path in sorted(root.rglob("*.html")):
        if path.name == "404.html":
            continue
        for link in page(path).links:
            checked += 1
            if problem := problem_of(path, link, root):
                print(f"{path.relative_to(root)}: {link}: {problem}", file=sys.stderr)
                found += 1
    print(f"{checked} links checked")
    return 1 if found or not checked else 0


sys.exit(main())
