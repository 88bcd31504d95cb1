"""A program keeps control and asks for the next turn. A second episode follows the route that the first one found.

python examples/play_turn_by_turn.py
"""

from zorkgpt import api

COMMANDS = ("north", "north", "take lamp")

if __name__ == "__main__":
    with api.session(episodes=2, max_turns=len(COMMANDS), seed=1, workdir="game_files") as session:
        for situation in session:
            if situation.routes:
                session.follow(situation.routes[0].number, reasoning="It led somewhere in the last episode.")
            else:
                session.act(COMMANDS[situation.turn - 1])
    for number, episode in enumerate(session.run.episodes, start=1):
        print("episode", number, [turn.played.record.action for turn in episode.turns])
    print("best score:", session.run.summary.best_score)
