"""The file ``transcripts.md``: the best and the latest game of a work folder, for people and for prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from io import StringIO
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from managers.transcripts.game_text import GameText, PlayedTurn, played_turns, story_start, without_screens
from session.game_state import GameState
from session.text import counted, one_line, without_blank_lines

TITLE = "# Transcripts\n\nThe best and the latest game. You may edit and delete them.\n\n"
TITLE_OF_ALL = "# Transcripts\n\nEvery game. You may edit and delete them.\n\n"
SHORTEST_SAME = 3  # turns that are the same in two games before one of them refers to the other

_HEADING = re.compile(r"## Episode (\d{1,9})(?:: (?:(-?\d{1,9}) points?, )?.*)?\s*")
_TURN = re.compile(
    r"(\d{1,9})\. `(.*)`(?: \((?:typed (\w+))?(?:, )?(died)?(?:, )?(key)?(?:, )?(?:to (\d{1,9}))?(?:, )?"
    r"([+-]\d{1,9})?\))?\s*"
)


@dataclass(frozen=True, slots=True)
class Game:
    """A game as it was played.

    score: the most points that it had; ``None`` if they are not known
    opening: the story's text before the first turn
    """

    episode: int
    score: int | None
    opening: str
    turns: tuple[PlayedTurn, ...]

    @property
    def final(self) -> int | None:
        """The points at its end."""
        scores = [*accumulate(turn.change for turn in self.turns)]
        return None if self.score is None else self.score - max(scores) + scores[-1]

    def render(self) -> str:
        """Return the game as a section of the file."""
        points = "" if self.score is None else f"{counted(self.score, 'point')}, "
        points += "" if self.final == self.score else f"{self.final} at the end, "
        lines = [f"## Episode {self.episode}: {points}{counted(len(self.turns), 'turn')}", "", *_quoted(self.opening)]
        for turn in self.turns:
            led = [
                f"typed {turn.typed}" if turn.typed else "",
                "died" if turn.died else "",
                "key" if turn.is_key else "",
            ]
            led += ["" if turn.to_id is None else f"to {turn.to_id}", f"{turn.change:+d}" if turn.change else ""]
            results = ", ".join(filter(None, led))
            lines += ["", f"{turn.number}. `{one_line(turn.action)}`{f' ({results})' if results else ''}"]
            lines += _quoted(turn.response)
        return "\n".join([*lines, "", ""]).encode(errors="replace").decode()  # half a character of a broken story


@dataclass(frozen=True, slots=True)
class Transcripts:
    """The file. Whatever people wrote stays as it is, except in a game that is removed for a better or later one.

    head: the text above the first game
    sections: the text of each game from its heading on, with the episode
    """

    head: str = ""
    sections: tuple[tuple[int, str], ...] = ()

    def render(self) -> str:
        """Return the text of the file."""
        return self.head + "".join(text for _, text in self.sections)

    @property
    def games(self) -> tuple[Game, ...]:
        """The games with turns, oldest first."""
        games = (_game_of(episode, text) for episode, text in self.sections)
        return tuple(sorted((game for game in games if game.turns), key=lambda game: game.episode))

    def shown_before(self, episode: int) -> tuple[Game, ...]:
        """Return the best of the earlier games by its end, then the latest; if these are one, the best before it."""
        earlier = [game for game in self.games if game.episode < episode]
        scored = (game for game in earlier if game.score is not None)
        ranked = sorted(scored, key=attrgetter("final", "episode"), reverse=True)
        return tuple(dict.fromkeys((*ranked[:1], *earlier[-1:], *ranked[1:], *reversed(earlier))))[:2]

    def with_game(self, game: Game, *, is_pruned: bool = True) -> Transcripts:
        """Return the file with the game and, if ``is_pruned``, without those that are neither best nor latest then."""
        text = game.render()
        if (game.episode, text) in self.sections:
            return self
        others = tuple(section for section in self.sections if section[0] != game.episode)
        head = self.head or ("" if others else TITLE if is_pruned else TITLE_OF_ALL)
        before = others[-1][1] if others else self.head
        if before.strip():
            text = "\n" * (2 - len(before) + len(before.rstrip("\n"))) + text
        file = replace(self, head=head, sections=(*others, (game.episode, text)))
        if not is_pruned:
            return file
        played = [each.episode for each in file.games]
        gone = set(played).difference(shown.episode for shown in file.shown_before(played[-1] + 1))
        return replace(file, sections=tuple(each for each in file.sections if each[0] not in gone))


def game_of(state: GameState) -> Game:
    """Return the game that was played in the episode."""
    scores = [turn.after.score for turn in state.turns if turn.after.score is not None]
    return Game(state.episode, max(scores, default=None), story_start(state), tuple(played_turns(state)))


def parse_transcripts(text: str) -> Transcripts:
    """Return what a file contains. Every text is one; games without a turn are carried along."""
    head, sections = "", list[tuple[int, str]]()
    for line in StringIO(text, newline=""):
        heading = _HEADING.fullmatch(line)
        if heading:
            sections.append((int(heading[1]), line))
        elif sections:
            sections[-1] = (sections[-1][0], sections[-1][1] + line)
        else:
            head += line
    return Transcripts(head, tuple(sections))


class GamesText(NamedTuple):
    """Games as text, and whether it has every command of them."""

    text: str
    has_all_commands: bool = True


def games_text(games: Sequence[Game], characters: int, opening: str = "") -> GamesText:
    """Return the games as text in at most ``characters`` characters: whole, or condensed (``GameText``).

    games: the best if a score is known, then another; its turns and lines that the first one has as well become
        references
    opening: of the game that is played now, if the same prompt shows it
    """
    texts: list[str] = []
    shown: dict[str, str] = {}
    has_all_commands = True
    for number, game in enumerate(games):
        room = (characters - sum(map(len, texts))) // (len(games) - number) - 100  # for the heading
        start, beginning = _quoted(game.opening), game.opening
        if start and start == _quoted(opening):
            beginning = "As in this game, below."
        elif texts and start == _quoted(games[0].opening):
            beginning = f"As in episode {games[0].episode}."
        text = GameText(beginning, room, shown)
        for turn in without_screens(game.turns if not texts else [*_referring(game, games[0])]):
            text.add(turn)
        has_all_commands &= text.has_all_commands
        shown = shown or text.lines_by_place(f"episode {game.episode}")
        kind = "" if len(games) == 1 else ", the latest" if texts or game.score is None else ", the best"
        if texts and game.episode < games[0].episode:
            kind = ", an earlier one"
        points = "" if game.final is None else f", {counted(game.final, 'point')}"
        points += "" if game.final == game.score else f" at its end ({game.score} at most)"
        texts.append(f"Episode {game.episode}{kind}{points}:\n\n{text.text()}")
    return GamesText("\n\n".join(texts), has_all_commands)


def _referring(game: Game, other: Game) -> Iterator[PlayedTurn]:
    """Yield the turns of the game; those that the other one has in the same order become one that names them."""
    ours, theirs = ([(turn.action.casefold(), turn.response) for turn in each.turns] for each in (game, other))
    done = 0
    for start, there, count in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if count < SHORTEST_SAME and start < len(game.turns):
            continue
        yield from game.turns[done:start]
        if count:
            reference = f"as in episode {other.episode}, turns {there + 1}-{there + count}"
            yield PlayedTurn(start + 1, reference, "", last=start + count)
        done = start + count


def _game_of(episode: int, text: str) -> Game:
    lines = text.splitlines()
    heading = _HEADING.fullmatch(lines[0])
    score = int(heading[2]) if heading and heading[2] else None
    texts: list[list[str]] = [[]]
    played: list[re.Match[str]] = []
    for line in lines[1:]:
        found = _TURN.fullmatch(line)
        if line.startswith(">"):
            texts[-1].append(line[2:] if line.startswith("> ") else line[1:])
        elif found:
            played.append(found)
            texts.append([])
    opening, *responses = ("\n".join(each) for each in texts)
    turns = [
        PlayedTurn(
            number,
            found[2],
            response,
            int(found[7] or 0),
            int(found[6]) if found[6] else None,
            typed=found[3] or "",
            died=bool(found[4]),
            is_key=bool(found[5]),
        )
        for number, (found, response) in enumerate(zip(played, responses, strict=True), start=1)
    ]
    return Game(episode, score, opening, tuple(turns))


def _quoted(text: str) -> list[str]:
    return [f"> {line}".rstrip() for line in without_blank_lines("\n".join(text.splitlines())).strip().splitlines()]
