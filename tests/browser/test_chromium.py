"""What the tests in a browser rest upon: they run in CI or fail, and a page that complains is heard."""

from __future__ import annotations

import pytest

from chromium import Visits, program

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
async def test_without_a_browser_the_tests_fail_in_ci_and_are_skipped_elsewhere(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="chromium is not installed"):
        program()


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("console.error('so bad')", "error: so bad"),
        ("setTimeout(() => console.error('late'), 100)", "error: late"),
        ("setTimeout(() => { throw new Error('unforeseen') })", "exception: .*unforeseen"),
        ("fetch('/static/none').catch(() => 0)", "status of 404"),
        ("fetch('http://127.0.0.2:9/').catch(() => 0)", "policy: connect-src forbids http://127.0.0.2:9/"),
        ("document.body.innerHTML = '<p>'", "policy: require-trusted-types-for"),
        ("document.body.setAttribute('style', 'color: red')", "policy: style-src-attr"),
    ],
)
async def test_a_page_that_complains_is_heard(visiting: Visits, library: str, script: str, complaint: str) -> None:
    async with visiting(library) as visit:
        page = await visit.open()
        await page.evaluate(f"() => {{ try {{ {script} }} catch {{}} }}")
        await visit.expects(complaint)
        visit.forgives("")


@pytest.mark.parametrize(
    "script",
    ["fetch('http://elsewhere.example/').catch(() => 0)", "new WebSocket('ws://192.0.2.1/')"],
)
async def test_another_host_is_not_found_and_complained_of(visiting: Visits, library: str, script: str) -> None:
    async with visiting(library, fresh=True) as visit:
        page = await visit.new_tab()  # no page of the arena, whose policy would forbid it
        await page.evaluate(f"() => {{ {script} }}")
        await visit.expects("ERR_NAME_NOT_RESOLVED")
        visit.forgives("")


async def test_a_failure_tells_what_the_page_complained_of(visiting: Visits, library: str) -> None:
    async def fail() -> None:
        async with visiting(library) as visit:
            page = await visit.open()
            async with visit.context.expect_event("console"):
                await page.evaluate("console.error('so bad')")
            raise AssertionError

    with pytest.raises(AssertionError) as failure:
        await fail()
    assert any("error: so bad" in note for note in failure.value.__notes__)


async def test_who_comes_next_sees_pages_on_a_screen_whatever_a_visit_had_emulated(
    visiting: Visits, library: str
) -> None:
    async with visiting(library) as visit:
        page = await visit.open()
        await page.emulate_media(media="print", reduced_motion="reduce", forced_colors="active")
    async with visiting(library) as visit:
        page = await visit.open()
        for query in ("screen", "not (prefers-reduced-motion: reduce)", "not (forced-colors: active)"):
            assert await page.evaluate("(query) => matchMedia(query).matches", query), query
