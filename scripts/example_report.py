"""Makes `docs/example` and its pictures: python scripts/example_report.py [--agent NAME] [--model NAME] ...

The tasks of `tasks/example.toml` are played as `confkv-agent eval` would, the pages written without the records and
with small screenshots, and looked at in Chromium for the pictures in README.
"""

from __future__ import annotations

import argparse
import csv
import io
import shlex
import shutil
from pathlib import Path

from PIL import Image

from confkv_agents.evaluation.batch.options import merged, read_suite
from confkv_agents.evaluation.batch.progress import BatchConsole
from confkv_agents.evaluation.batch.running import run_batch
from confkv_agents.evaluation.report import write_reports
from confkv_agents.web.browser import Browser

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLE = DOCS / "example"
WIDTH = 600
VIEWS = {
    "report": ("report.html", (1280, 720), None),
    "report-narrow": ("report.html", (390, 844), None),
    "report-episode": ("{episode}", (1280, 720), "#step-1"),
}
"""Picture -> page, viewport in CSS pixels, and what is scrolled to."""


def main() -> None:
    """Play, write, look."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("agent", "model", "policies"):
        parser.add_argument(f"--{name}", default=None)
    parser.add_argument("--budget", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--run", type=Path, default=None, help="a batch that was played before, in place of a new one")
    asked = parser.parse_args()
    if asked.run is None:
        given = {name: getattr(asked, name) for name in ("agent", "model", "policies", "budget", "out")}
        folder = run_batch(merged(read_suite(ROOT / "tasks/example.toml"), given), console=BatchConsole()).directory
    else:
        folder = asked.run
    shutil.rmtree(EXAMPLE, ignore_errors=True)
    pages = write_reports(folder, EXAMPLE, WIDTH)
    take_pictures(pages[1:])
    command = shlex.join(["python", "scripts/example_report.py", *_shown(asked)])
    (EXAMPLE / "README.md").write_text(
        "# An example report\n\n"
        "Open [report.html](report.html) from disk: it needs no network. It was made on the tasks of\n"
        f"[tasks/example.toml](../../tasks/example.toml) by\n\n    {command}\n\n"
        "with screenshots scaled down and the records left out.\n",
        "utf-8",
    )
    size = sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file())
    print(f"{EXAMPLE}: {len(pages)} pages and more, {size / 2**20:.1f} MiB")


def take_pictures(episodes: list[Path]) -> None:
    """Look at the pages and keep what is seen as `docs/images/report*.webp`.

    Args:
        episodes: Pages of episodes; the longest that succeeded is shown, or the longest where none did.
    """
    with (EXAMPLE / "episodes.csv").open(encoding="utf-8") as file:
        won = {EXAMPLE / row["link"] for row in csv.DictReader(file) if row["success"] == "True"}
    shown = max(episodes, key=lambda path: (path in won, path.read_text("utf-8").count('class="step"')))
    with Browser() as browser:
        for name, (page, (width, height), anchor) in VIEWS.items():
            address = (EXAMPLE / page.format(episode=shown.relative_to(EXAMPLE))).as_uri()
            context = browser.new_context(viewport={"width": width, "height": height}, offline=True)

            def look(context: object = context, address: str = address, anchor: str | None = anchor) -> bytes:
                opened = context.new_page()  # type: ignore[attr-defined]
                opened.goto(address)
                if anchor:
                    opened.evaluate("anchor => document.querySelector(anchor).scrollIntoView()", anchor)
                png: bytes = opened.screenshot()
                context.close()  # type: ignore[attr-defined]
                return png

            picture = Image.open(io.BytesIO(browser.call(look)))
            picture.convert("RGB").save(DOCS / "images" / f"{name}.webp", "WEBP", quality=82, method=6)


def _shown(asked: argparse.Namespace) -> list[str]:
    found = []
    for name in ("agent", "model", "policies", "budget"):
        if getattr(asked, name) is not None:
            found += [f"--{name}", str(getattr(asked, name))]
    return found


if __name__ == "__main__":
    main()
