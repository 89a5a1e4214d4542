"""The board about games and toys."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="boardgames",
    title="Board games and toys",
    description="Dice, cards, wood. House rules are real rules.",
    rules=("Cover endings with a spoiler.", "No rows about rules after midnight.", "Beginners first."),
    hue=265,
    words={
        "game": (
            "the harbour game",
            "the beetle game",
            "backgammon",
            "the train game",
            "the one with the sheep",
            "chess",
        ),
        "houserule": (
            "the youngest starts",
            "nobody may trade on Fridays",
            "a lost piece is a coin",
            "you may undo once",
        ),
        "gameplace": ("the library", "the pub on the corner", "our attic", "the community hall"),
        "piece": ("die", "pawn", "wooden cow", "yellow token", "harbour master"),
    },
    talks=(
        Talk(
            "Our copy of {game} has lost its {piece}",
            "We have searched the sofa, the vacuum cleaner and the dog. The publisher closed {n} years "
            "ago. For now {houserule}, but it is not the same.\n\nDoes anybody in {town} have one to "
            "spare? I can offer {many} dice.",
        ),
        Talk(
            "Open table at {gameplace} every {day}",
            "Doors at {hour}. There are {n} tables and about {many} games in the cupboard; {person} "
            "explains everything, even twice. This week's table for new people is the one by the window "
            "with the sign **{code}**. Bring nothing but yourself, there are drinks for ${n}.",
        ),
        Talk(
            "Is {game} any good with two?",
            "The box says three to five. We are two, on most evenings, and the third is a baby. We tried "
            "the rule that {houserule}, and it lasted until {hour}.\n\nIs there a way, or should we buy "
            "something else?",
        ),
        Talk(
            "Present for a child who has everything",
            "My niece turns {n} on {day}. At Larkspur Market I found the **{ware}** for {price} and the "
            "**{ware_b}** for {price_b}. Her mother says no batteries and nothing with more than {many} "
            "parts.\n\nWhich one would you take?",
        ),
        Talk(
            "Poll: what do you do with a sore loser?",
            "Asking for a friend, who is my father, who is {many}, and who has just left the room over {game}.",
            poll=(
                "What do you do with a sore loser?",
                "Let them win",
                "Play something shared",
                "Laugh",
                "I am the sore loser",
            ),
        ),
        Talk(
            "The ending of {game}, after {n} evenings",
            "We started in {month} and played every {day}. Do not uncover this if you have not finished: "
            ">!the harbour master was the thief all along.!< I did not see it coming. {person} had "
            "written it on a piece of paper on the second evening.",
        ),
        Talk(
            "Teach me to lose at {game}",
            "I have lost {many} times in a row to the same person. I open in the middle, I keep my "
            "{piece} back, I count. It is always over by move {n}. She says that I should stop thinking. "
            "How does one do that?",
        ),
        Talk(
            "A shelf order that makes sense",
            "By colour: pretty and useless. By size: nothing ever goes back. Now we sort by how long a "
            "game takes, shortest on top. From there {houserule}. It took {n} hours and we found the "
            "{piece}!",
        ),
    ),
    views=(
        View("All set for tonight", ("die", "puzzle"), (2, 3, 4, 5), ("table",)),
        View("From the attic", ("teddy", "accordion", "drum"), (1, 2, 3, 4), ("shelf", "room")),
        View("A windy day", ("kite",), (1, 2, 3, 4), ("beach", "meadow")),
        View("Traffic jam on the living-room floor", ("car", "bus", "locomotive"), (3, 4, 5, 6), ("room",)),
        View(
            "The missing ones have turned up",
            ("puzzle",),
            (2, 3, 4, 5, 6),
            ("table",),
            ("blue", "red", "purple", "orange", "yellow"),
        ),
    ),
    reads=(
        Read(
            "{gameplace} now lends out games",
            "hartwell-gazette.example",
            "Two weeks, no fines, count the pieces",
            "There are {many} to choose from. The most wanted is {game}, with a waiting list of {n} "
            'weeks.\n\n{person} weighs every box when it comes back. "A {piece} is four grams. I notice."',
        ),
        Read(
            "The oldest dice in the county",
            "smallscience.example",
            "Somebody cheated in {town}",
            "The die from the well at {street}, find number {code}, falls on six far too often. It was "
            'thrown {many} hundred times to be sure.\n\n"We know what they did," says {person}, "we just '
            'do not know to whom."',
        ),
    ),
    remarks=(
        "With us {houserule}. Ends all fights.",
        "Use a button instead of the {piece}.",
        "{game} with two is a different game, but a good one.",
        "We sleeve nothing and lose everything.",
        "The first {n} rounds do not count anyway.",
        "I have a spare {piece}, send me a message.",
        "Children always know the rules better.",
        "Try it on a larger table, honestly.",
        "At {gameplace} they play it the other way.",
        "I would never lend that to anybody.",
        "Write the scores on the lid, it is lovely to read years later.",
        "Stop counting, start watching her eyes.",
        "The box says ninety minutes. The box lies.",
        "Let her win once, just to see what happens.",
        "{game} ended a friendship of mine.",
        "Sort by how much you like them. The rest goes to {gameplace}.",
    ),
    pictured=(
        "Whose turn is it?",
        "I had exactly these as a child!",
        "Is one missing?",
        "That looks like a long evening.",
        "Which one is yours?",
        "My cat would have them on the floor in a second.",
        "What a collection.",
        "Who won?",
    ),
    wares=("Teddy Bear", "Kite", "Toy Train", "Toy Car", "Dinosaur", "Nesting Doll", "Rocket", "Yo-Yo", "Dartboard"),
)
