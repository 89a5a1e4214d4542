"""What the forum's members write: a file for each board, with its posts and remarks as templates. Pure data."""

from . import bikes, birds, cooking, countryside, crafts, desks, finds, games, gardening, music, pets, repair, travel

BOARDS = tuple(
    module.BOARD
    for module in (
        gardening,
        birds,
        pets,
        cooking,
        crafts,
        repair,
        bikes,
        travel,
        countryside,
        games,
        music,
        desks,
        finds,
    )
)
