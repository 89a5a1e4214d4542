"""The private messages that the demo members find in their inbox."""

import random
import sqlite3

from .content import BOARDS
from .ranking import NOW
from .writing import Words, fill

# Each thread: who begins (0: the other one, 1: the demo member) and what is written in turn.
_THREADS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (
        0,
        (
            "Hello! You asked about the seedlings. I have put them in a crate by the side door, {street} {many}. "
            "The crate has the label **{code}**, please take only that one, the others are for {person}.",
            "That is so kind, thank you! Is {day} all right?",
            "{day} is fine, any time before {hour}. Bring the crate back when you can.",
        ),
    ),
    (
        1,
        (
            "Hi, I saw your post about the meeting in {town}. Is there still a place free?",
            "Yes, there are {n} left. It costs ${money}, pay when you come. The room has moved to the first "
            "floor, ask for {person}.",
        ),
    ),
    (0, ("Sorry to bother you. Your comment last week helped me more than three books. I only wanted to say that.",)),
    (
        0,
        (
            "I found your umbrella after the walk! It is at the desk of the library in {town}, shelf {n}, and "
            "they keep it until {month}. Tell them the word *{street}* and they will hand it over.",
            "You are a hero. I had already given it up.",
        ),
    ),
)


def seed_messages(db: sqlite3.Connection, rng: random.Random, members: list[int]) -> None:
    """Write the inboxes of the demo members."""
    written: list[tuple[int, int, int, int, str, int]] = []
    thread_id = 0
    for user_id in (1, 2, 3):
        partners = rng.sample(members[3:], len(_THREADS))
        for partner, (first, texts) in zip(partners, _THREADS, strict=True):
            thread_id += 1
            words = Words(BOARDS[0], rng)
            time = NOW - rng.randint(2, 30) * 86_400
            for turn, text in enumerate(texts):
                sender, receiver = (user_id, partner) if (turn + first) % 2 else (partner, user_id)
                written.append((time, thread_id, sender, receiver, fill(text, words), turn < len(texts) - 1))
                time += rng.randint(600, 30_000)
    for time, thread, sender, receiver, body, seen in sorted(written):
        db.execute(
            "INSERT INTO message (thread_id, sender_id, receiver_id, body, created, seen) VALUES (?, ?, ?, ?, ?, ?)",
            (thread, sender, receiver, body, time, seen),
        )
