"""A story as a Gymnasium environment, with the extra gym: a player that draws from the commands that have an effect.

python examples/gymnasium_environment.py
"""

import random

from zorkgpt.gym import TextAdventureEnv

if __name__ == "__main__":
    draw = random.Random(1)  # noqa: S311 - a game
    env = TextAdventureEnv(max_turns=20, valid_actions=True)
    observation, info = env.reset(seed=1)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(draw.choice(info["valid_actions"]))
        total += float(reward)
        done = terminated or truncated
    print("points:", total, "at:", observation["location"])
    env.close()
