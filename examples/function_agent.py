"""A function plays: it goes to the nearest exit that was not tried, and prints what it found.

python examples/function_agent.py
"""

from zorkgpt import api

TURNS = 30


def agent(situation: api.Situation) -> str:
    """Return the first command of the way to the nearest untried exit."""
    here, known = situation.observation.location, situation.map
    if here is None:
        return "look"
    ways = {place: known.way(here.num, place) for place, exits in known.untried.items() if exits}
    nearest = min(
        (place for place in ways if ways[place] is not None), key=lambda place: len(ways[place] or ()), default=0
    )
    if not nearest:
        return "look"
    return next(iter(ways[nearest] or known.untried[nearest]))


if __name__ == "__main__":
    run = api.play(agent=agent, max_turns=TURNS, seed=1, workdir="game_files")
    figures = api.figures_of(run)
    print(f"{figures.episodes[0].rooms} rooms in {run.summary.turns} turns")
    for row in api.turns(run):
        print(row["turn"], row["location"], ">", row["command"])
