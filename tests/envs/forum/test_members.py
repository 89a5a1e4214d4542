"""Members: who may come in, their pages, messages, blocks and forums."""

from __future__ import annotations

from .conftest import Member, titles


def test_log_in_and_out(guest):
    assert "do not fit together" in guest.post("/login", _username="wren_hollis", _password="wrong")
    assert "do not fit together" in guest.post("/login", _username="bramble_fox", _password=""), "seeded without one"
    assert "Log in" in guest.get("/")
    guest.log_in()
    cookie = guest.client.cookies["forum_session"]
    assert "wren_hollis" in guest.get("/")
    guest.post("/log_out")
    guest.client.cookies.set("forum_session", cookie)
    assert "Sign up" in guest.get("/"), "the old cookie is worth nothing"


def test_cookie_is_closed_to_scripts(guest):
    answer = guest.client.post(
        "/login", data={"_username": "wren_hollis", "_password": "Password.123"}, follow_redirects=False
    )
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    guest.client.cookies.clear()
    guest.client.cookies.set("forum_session", "abc." + "0" * 32)
    assert "Sign up" in guest.get("/"), "a forged cookie is nobody"


def test_registration(guest):
    form = {"username": "new_one", "password": "long enough", "password2": "long enough"}
    assert "3 to 25 letters" in guest.post("/registration", **form | {"username": "<b>"})
    assert "This name is taken." in guest.post("/registration", **form | {"username": "WREN_hollis"})
    assert "8 or more characters" in guest.post("/registration", **form | {"password": "short"})
    assert "not the same" in guest.post("/registration", **form | {"password2": "long enough!"})
    assert "Welcome, new_one!" in guest.post("/registration", **form)
    assert guest.state()["users"][-1]["name"] == "new_one"


def test_member_page_lists_both_newest_first(wren):
    wren.submit(title="My post")
    post = wren.newest()
    wren.post(f"/f/{post['forum']}/{post['id']}/-/comment", comment="My comment")
    page = wren.get("/user/wren_hollis")
    assert page.index("My comment") < page.index('id="submission_' + str(post["id"]))
    assert titles(wren.get("/user/wren_hollis/submissions"))[0] == "My post"
    assert "My comment" not in wren.get("/user/wren_hollis/submissions")
    assert titles(wren.get("/user/wren_hollis/comments")) == []


def test_biography(wren):
    page = wren.post("/user/wren_hollis/edit_biography", biography="I like *maps*.")
    assert '<div class="user-bio__biography"><p>I like <em>maps</em>.</p></div>' in page
    assert wren.client.post("/user/otto_bright/edit_biography", data={"biography": "x"}).status_code == 403
    assert "at most" in wren.post("/user/wren_hollis/edit_biography", biography="x" * 1001)


def test_account(wren):
    path = "/user/wren_hollis/account"
    assert "This name is taken." in wren.post(path, name="otto_bright")
    assert "current password" in wren.post(path, name="wren_hollis", password="new password", password2="new password")
    new = {"password": "new password", "password2": "new password", "current": "Password.123"}
    assert "wren_new" in wren.post(path, name="wren_new", **new)
    other = Member(wren.client.app).log_in("wren_new", "new password")
    assert 'href="/user/wren_new"' in other.get("/")


def test_messages(wren):
    other = Member(wren.client.app).log_in("otto_bright")
    text = "I really like this picture! Can I print it?"
    wren.post("/user/otto_bright/compose_message", message=text)
    sent = wren.state()["messages"][-1]
    assert (sent["sender"], sent["receiver"], sent["body"]) == ("wren_hollis", "otto_bright", text)
    page = other.get("/messages")
    assert page.index(text) > page.index("wren_hollis")
    thread = f"/messages/thread/{sent['thread_id']}"
    before = other.get("/").count("Messages (")
    assert before == 1
    other.post(thread, message="Please do.")
    assert "Please do." in wren.get(thread)
    third = Member(wren.client.app).log_in("mira_sand")
    assert third.client.get(thread).status_code == 404
    assert "must not be empty" in wren.post("/user/otto_bright/compose_message", message=" ")
    assert wren.client.get("/user/wren_hollis/compose_message").status_code == 400, "not to oneself"


def test_blocking_hides_and_refuses(wren):
    other = Member(wren.client.app).log_in("otto_bright")
    other.submit(title="From Otto")
    assert "From Otto" in titles(wren.get("/all/new"))
    wren.post("/user/otto_bright/block_user")
    assert wren.state()["blocked"] == {"wren_hollis": ["otto_bright"]}
    assert "From Otto" not in titles(wren.get("/all/new"))
    assert "otto_bright" in wren.get("/user/wren_hollis/block_list")
    assert "does not take messages" in other.post("/user/wren_hollis/compose_message", message="Hello?")
    wren.post("/user/otto_bright/block_user", action="undo")
    assert wren.state()["blocked"] == {}


def test_forums_are_made_and_changed_by_their_owner(wren):
    form = {"name": "stamps", "title": "Stamps", "description": "Small pictures", "sidebar": "- New\n- Old"}
    assert "letters, digits" in wren.post("/create_forum", **form | {"name": "no blanks"})
    assert "already a forum" in wren.post("/create_forum", **form | {"name": "PETS"})
    assert "must not be empty" in wren.post("/create_forum", **form | {"description": ""})
    assert "<li>New</li>" in wren.post("/create_forum", **form)
    assert "stamps" in wren.state()["subscriptions"]["wren_hollis"]
    page = wren.get("/f/stamps/edit")
    assert 'id="forum_description" name="description" value="Small pictures"' in page
    wren.post("/f/stamps/edit", title="Stamps", description="Tiny pictures", sidebar="")
    assert wren.state()["forums"][-1]["description"] == "Tiny pictures"
    assert wren.client.get("/f/pets/edit").status_code == 403
