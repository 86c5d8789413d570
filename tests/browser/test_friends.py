"""Two people: a link that seats a friend, whose turn it is in the tab's title, and a rematch in one click."""

from __future__ import annotations

import os
import re
import secrets

import pytest
from playwright.async_api import Page, expect

from chromium import PHONE, Visit, Visits, barriers, demand_fit
from house import House, come, play_out
from players import player

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def invite(visit: Visit, name: str, address: str) -> tuple[Page, str]:
    """The page of a person who invites a friend, and the link."""
    page = await come(visit, name, address)
    await page.get_by_role("button", name="Invite a friend").click()
    link = page.get_by_label("Send your friend this link")
    await expect(page.locator("#searching")).to_contain_text("Waiting for your friend")
    return page, (await link.input_value()).removeprefix(visit.home)


async def accept(page: Page, name: str, host: str) -> None:
    await page.get_by_role("textbox", name="Your name").fill(name)
    await page.get_by_role("button", name=f"Play {host}").click()


def new(name: str) -> str:
    return f"{name}-{secrets.token_hex(3)}"


async def test_who_opens_an_invitation_says_a_name_and_is_seated(visiting: Visits, house: House) -> None:
    host, guest = new("ann"), new("bob")
    async with (
        player(house.url, new("rival")) as rival,
        visiting(house.page) as hers,
        visiting(house.page, PHONE) as his,
    ):
        await rival.seek("risk-duel", open=True)
        ann, link = await invite(hers, host, "game=risk-duel&preset=africa")
        bob = await his.open(link)
        await expect(bob.get_by_role("heading", level=1)).to_have_text(
            f"{host} invites you to play Risk: the duel, Africa"
        )
        await expect(bob.get_by_text(f"{host} is waiting for you.")).to_be_visible()
        for page in (ann, bob):
            await demand_fit(page)
        assert await bob.locator("#offer, .games").first.is_hidden()
        await accept(bob, guest, host)
        for page in (ann, bob):
            await expect(page.locator(".table .players")).to_be_visible()
            await expect(page.locator(".status")).to_contain_text(re.compile("Your move|to move"))
        titles = [await page.title() for page in (ann, bob)]
        assert all("Risk: the duel, Africa against" in title for title in titles)
        assert [title.startswith("● Your turn – ") for title in titles].count(True) == 1


@pytest.mark.nightly
async def test_the_link_is_copied_and_the_friend_gets_the_config_of_whoever_invites(
    visiting: Visits, house: House
) -> None:
    host, guest = new("ann"), new("bob")
    async with visiting(house.page, haste=1) as hers, visiting(house.page) as his:
        await hers.context.grant_permissions(["clipboard-read", "clipboard-write"])
        ann, link = await invite(hers, host, 'game=nim&config={"heaps":[1,1]}')
        await ann.get_by_role("button", name="Copy the link").click()
        await expect(ann.get_by_text("Copied.")).to_be_visible()
        assert await ann.evaluate("navigator.clipboard.readText()") == hers.home + link
        bob = await his.open(link)
        await accept(bob, guest, host)
        await play_out(ann, bob)
        headlines = [await page.locator(".ending h2").inner_text() for page in (ann, bob)]
        assert sorted(headlines) == ["You lost", "You won"]


async def test_a_rematch_is_called_for_by_one_click_begun_by_another_and_taken_back(
    visiting: Visits, house: House
) -> None:
    host, guest = new("ann"), new("bob")
    async with visiting(house.page) as hers, visiting(house.page) as his:
        ann, link = await invite(hers, host, 'game=nim&config={"heaps":[1]}')
        bob = await his.open(link)
        await accept(bob, guest, host)
        await play_out(ann, bob)
        first = await ann.locator(".table").get_attribute("aria-label")
        await bob.evaluate("Object.defineProperty(document, 'hidden', { value: true })")  # he looks at another tab
        await ann.get_by_role("button", name="Rematch").click()
        await expect(bob).to_have_title(re.compile(f"^● {host} wants a rematch"))
        await expect(bob.get_by_text(f"{host} wants a rematch.")).to_be_visible()
        assert await barriers(bob) == ""
        await expect(ann.locator("#absent")).to_have_text(f"{guest} has been asked: the match starts when they accept.")
        await bob.get_by_role("button", name="Rematch").click()
        for page in (ann, bob):
            await expect(page.locator(".table .players")).to_be_visible()
            await expect(page.locator(".table")).not_to_have_attribute("aria-label", str(first))
        await play_out(ann, bob)
        await ann.get_by_role("button", name="Rematch").click()
        await expect(bob.get_by_text(f"{host} wants a rematch.")).to_be_visible()
        await ann.get_by_role("button", name="Stop waiting").click()
        await expect(bob.locator(".ending .calls")).to_have_text("")
        await expect(bob).to_have_title(re.compile("^You (won|lost): "))


async def test_an_invitation_says_when_its_host_is_not_there_or_a_name_will_not_do_and_waits(
    visiting: Visits, house: House
) -> None:
    host, guest = new("ann"), new("bob")
    async with (
        player(house.url, new("cid")) as cid,
        visiting(house.page) as hers,
        visiting(house.page) as his,
    ):
        bob = await his.open(f"/play?from={host}&game=tictactoe&preset=classic")
        await expect(bob.get_by_text(f"{host} is offline.")).to_be_visible()
        await expect(bob.get_by_role("link", name="Choose another opponent")).to_have_attribute(
            "href", "/play?game=tictactoe"
        )
        await accept(bob, host.upper(), host)
        await expect(bob.get_by_role("alert").filter(has_text=f"{host} sent this invitation")).to_be_visible()
        await accept(bob, cid.name, host)
        taken = f"The name {cid.name} is taken: choose another, or enter its token."
        await expect(bob.locator("#wrong-guest")).to_have_text(taken)
        assert await barriers(bob) == ""
        await accept(bob, guest, host)
        await expect(bob.locator("#absent")).to_contain_text(f"{host} is offline")
        await invite(hers, host, "game=tictactoe")
        await expect(bob.locator(".table .players")).to_be_visible()


async def test_a_link_that_is_no_whole_invitation_is_said_to_be_none(visit: Visit, house: House) -> None:
    page = await visit.open("/play")
    await expect(page.locator("#failed")).to_have_text("")
    links = ("from=ann&game=chess", "from=ann&game=nim&config=[1")
    for link in (
        *links,
        *(("from=<b>ann&game=nim", "from=ann&game=nim&config=null") if os.environ.get("CI") else ()),
    ):
        await page.goto(f"{house.page}/play?{link}")
        await expect(page.locator("#failed")).to_contain_text("This invitation link is incomplete")
        await expect(page.get_by_role("button", name="Invite a friend")).to_be_visible()


async def test_only_to_a_match_of_two_a_friend_is_invited(visit: Visit) -> None:
    page = await visit.open("/play?game=risk-campaign&preset=world-3")
    await expect(page.get_by_role("button", name="Invite a friend")).to_be_hidden()
    await page.get_by_label("Players", exact=True).select_option("2")
    await expect(page.get_by_role("button", name="Invite a friend")).to_be_visible()


async def test_a_host_who_waits_for_another_variant_is_not_said_to_wait(visit: Visit, house: House) -> None:
    async with player(house.url, "elsewhere") as host:
        await host.seek("nim", private=True, config={"preset": "sticks"})
        page = await visit.open("/play?from=elsewhere&game=nim&preset=classic")
        await expect(page.locator("#invited")).to_contain_text("elsewhere is online but not waiting.")
        page = await visit.open("/play?from=elsewhere&game=nim&preset=sticks")
        await expect(page.locator("#invited")).to_contain_text("elsewhere is waiting for you.")
